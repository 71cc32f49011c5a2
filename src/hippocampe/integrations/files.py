"""Show a space as text files, with the commands that models know: view, create, replace, insert, delete, rename.

Each file is one memory whose key is derived from its path, so that rules never merge two files, and each version of
a file stays in its history.
"""

import hashlib
from collections.abc import Iterator

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import HippocampeError
from hippocampe.hippocampe import Hippocampe, every_memory
from hippocampe.language.sanitize import quote
from hippocampe.types import MAX_LABEL_CHARACTERS, Memory, Scope, printable

ROOT = "/memories"
KNOWN = f"{ROOT}/known"
"""The folder of the memories of another space, by subject; it is only read."""
MAX_SUBJECTS = 200
MAX_STATEMENTS = 200


class FileProblem(HippocampeError):
    """A command that cannot be executed; the message is for the model."""


class Files:
    """The files of a space. The texts of results are those of Anthropic's own files, which models are used to.

    Args:
        hippo: The open memory; the caller closes it.
        scope: The space of the files, which nothing else writes to, and the user.
        known: A scope whose memories are shown too, one read-only file for each subject.
    """

    def __init__(
        self, hippo: Hippocampe | AsyncHippocampe, *, scope: Scope, known: Scope | None = None
    ) -> None:
        self._hippo = hippo.sync if isinstance(hippo, AsyncHippocampe) else hippo
        self._scope = scope
        self._known = known

    def view(self, path: str, view_range: list[int] | None = None) -> str:
        """List a folder up to two levels deep, or show a file with line numbers."""
        path = _checked(path)
        text = self._text(path)
        if text is not None:
            lines = text.split("\n")
            first, last = _shown(view_range, len(lines))
            return f"Here's the content of {path} with line numbers:\n" + _numbered(
                lines, first, last
            )
        folder = f"{path}/"
        inside = {name: size for name, size in self._listing() if name.startswith(folder)}
        if not inside and path != ROOT:
            raise FileProblem(f"The path {path} does not exist. Please provide a valid path.")
        entries: dict[str, int] = {}
        for name, size in inside.items():
            parts = name.removeprefix(folder).split("/")
            for depth in range(1, min(len(parts), 2) + 1):
                entry = folder + "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
                entries[entry] = entries.get(entry, 0) + size
        lines = [f"{size}B\t{name}" for name, size in sorted(entries.items())]
        total = f"{sum(inside.values())}B\t{path}"
        head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        return "\n".join([head, total, *lines])

    def create(self, path: str, text: str) -> str:
        """Write a new file."""
        path = self._writable(path)
        if self._text(path) is not None:
            raise FileProblem(f"File {path} already exists")
        self._write(path, text)
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old: str, new: str) -> str:
        """Replace a text that a file has once."""
        path = self._writable(path)
        text = self._existing(path)
        count = text.count(old) if old else 0
        if count == 0:
            raise FileProblem(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
            )
        if count > 1:
            lines = [str(number) for number, line in enumerate(text.split("\n"), 1) if old in line]
            raise FileProblem(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{', '.join(lines)}. Please ensure it is unique"
            )
        changed = text[: text.find(old)].count("\n")
        text = text.replace(old, new)
        self._write(path, text)
        lines = text.split("\n")
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            f"numbers):\n{_numbered(lines, max(0, changed - 2), min(len(lines), changed + 3))}"
        )

    def insert(self, path: str, line: int, text: str) -> str:
        """Insert a text after a line; 0 is the beginning."""
        path = self._writable(path)
        lines = self._existing(path).split("\n")
        if not 0 <= line <= len(lines):
            raise FileProblem(
                f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
            )
        lines.insert(line, text.rstrip("\n"))
        self._write(path, "\n".join(lines))
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Delete a file, or a folder with its files; `restore` brings each back."""
        path = self._writable(path)
        if path == ROOT:
            raise FileProblem(f"Cannot delete the {ROOT} directory itself")
        if not self.remove(path):
            raise FileProblem(f"The path {path} does not exist")
        return f"Successfully deleted {path}"

    def rename(self, old: str, new: str) -> str:
        """Rename or move a file or a folder."""
        old, new = self._writable(old), self._writable(new)
        if old == ROOT:
            raise FileProblem(f"Cannot rename the {ROOT} directory itself")
        if any(_within(name, new) for name, _ in self._listing()):
            raise FileProblem(f"The destination {new} already exists")
        moved = [memory for memory in self._all() if _within(_path(memory), old)]
        if not moved:
            raise FileProblem(f"The path {old} does not exist")
        for memory in moved:
            self._write(new + _path(memory).removeprefix(old), _text_of(memory))
            self._hippo.delete(memory.id, scope=self._scope, reason="renamed")
        return f"Successfully renamed {old} to {new}"

    def remove(self, path: str = ROOT) -> int:
        """Delete everything at a path; return the number of files."""
        gone = [memory for memory in self._all() if _within(_path(memory), path)]
        for memory in gone:
            self._hippo.delete(memory.id, scope=self._scope, reason="deleted by the model")
        return len(gone)

    def _existing(self, path: str) -> str:
        text = self._text(path)
        if text is None:
            raise FileProblem(f"The path {path} does not exist. Please provide a valid path.")
        return text

    def _text(self, path: str) -> str | None:
        if self._known is not None and path.startswith(f"{KNOWN}/"):
            return self._statements(self._known, path)
        found = self._hippo.memories(scope=self._scope, metadata={"path": path}, limit=1).items
        return _text_of(found[0]) if found else None

    def _statements(self, known: Scope, path: str) -> str | None:
        """The memories of a subject, one a line."""
        subject = next((name for name in self._subjects(known) if _file_of(name) == path), None)
        if subject is None:
            return None
        page = self._hippo.memories(scope=known, subjects=[subject], limit=MAX_STATEMENTS)
        return "\n".join(f"- {quote(each.content)}" for each in page.items)

    def _subjects(self, known: Scope) -> list[str]:
        counts = self._hippo.subjects(scope=known)
        return sorted(counts, key=lambda name: (-counts[name], name))[:MAX_SUBJECTS]

    def _listing(self) -> Iterator[tuple[str, int]]:
        """Each file with its size in bytes; that of the files of subjects is not known."""
        for memory in self._all():
            yield _path(memory), len(_text_of(memory).encode())
        if self._known is not None:
            yield from ((_file_of(name), 0) for name in self._subjects(self._known))

    def _all(self) -> Iterator[Memory]:
        found = every_memory(self._hippo, scope=self._scope)
        return (memory for memory in found if "path" in memory.metadata)

    def _writable(self, path: str) -> str:
        path = _checked(path)
        if self._known is not None and _within(path, KNOWN):
            raise FileProblem(f"The files in {KNOWN} are read-only: write to another folder.")
        return path

    def _write(self, path: str, text: str) -> None:
        empty = not text.strip()
        self._hippo.remember(
            path if empty else text,
            scope=self._scope,
            key=hashlib.sha256(path.encode()).hexdigest(),
            source="file",
            ttl=None,
            metadata={"path": path, "empty": empty},
        )


def _checked(path: str) -> str:
    parts = path.rstrip("/").split("/")
    if parts[:2] != ["", "memories"]:
        raise FileProblem(f"Path must start with {ROOT}, got: {path}")
    if any(part in ("", ".", "..") for part in parts[2:]):
        raise FileProblem(f"Path {path} would escape {ROOT} directory")
    clean = "/".join(parts)
    if len(clean) > MAX_LABEL_CHARACTERS or clean != printable(clean):
        raise FileProblem(
            f"The path has more than {MAX_LABEL_CHARACTERS} characters, or control characters."
        )
    return clean


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _path(memory: Memory) -> str:
    return str(memory.metadata["path"])


def _text_of(memory: Memory) -> str:
    return "" if memory.metadata.get("empty") else memory.content


def _file_of(subject: str) -> str:
    return f"{KNOWN}/{subject.replace('/', '-')}.md"


def _shown(view_range: list[int] | None, count: int) -> tuple[int, int]:
    if not view_range or len(view_range) != 2:
        return 0, count
    first, last = view_range
    return max(1, first) - 1, count if last == -1 else min(last, count)


def _numbered(lines: list[str], first: int, last: int) -> str:
    return "\n".join(f"{number + 1:>6}\t{lines[number]}" for number in range(first, last))
