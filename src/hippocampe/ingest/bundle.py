"""A space as Markdown: a zip in Open Knowledge Format 0.2, readable in Obsidian, which an import reads back whole.

Each memory is a file: its content, after a frontmatter that has its other columns. The rows of the other tables are
in a file of JSON Lines; the pages of talk repeat its messages for people, and are not read back.
The format: https://github.com/GoogleCloudPlatform/knowledge-catalog/blob/main/okf/SPEC.md
"""

import hashlib
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, RowMapping, or_, select

from hippocampe.errors import UnreadableFile
from hippocampe.ingest.archive_rows import (
    BATCH,
    DERIVED_COLUMNS,
    MAX_LINE_BYTES,
    TABLES,
    Row,
    Wanted,
    lines_of,
    rows_of,
    stored_rows,
)
from hippocampe.ingest.formats.source import DAMAGED, checked_archive, read_lines, source_of
from hippocampe.language.text import heading
from hippocampe.notes.filters import EXPORT_INDEX, EXPORT_ROWS
from hippocampe.notes.markdown import parse_fields
from hippocampe.store import message_rows
from hippocampe.store.driver import parts
from hippocampe.store.schema import association, memory, message, turn
from hippocampe.store.store import Store
from hippocampe.store.translation import translated
from hippocampe.system import free_space
from hippocampe.system.atomic_file import whole_file
from hippocampe.types import Scope, printable

FORMAT = "okf"
VERSION = "0.2"
MAX_DIRECTORY_BYTES = 64 * 2**20
"""Largest directory of a bundle: that of 400,000 memories."""
_MAX_HEAD_CHARACTERS = 2_000_000
"""Longest frontmatter: a memory may rest on 10,000 messages."""
_HEAD = re.compile(r"---\r?\n(.*?\n)---\r?\n?", re.S)
MAX_NAME_CHARACTERS = 58
"""With four bytes each, and the id and the ending, a name is shorter than the 255 bytes that file systems take."""
_TITLE_CHARACTERS = 80
_CURRENT, _PAST = "memories", "history"
_COLUMNS = [
    column for column in memory.c if column.name not in DERIVED_COLUMNS | {"space", "content"}
]
_UNSAFE = re.compile(r'[\\/:*?"<>|#^\[\]\s]+')
"""Characters that a file system, or a link of Obsidian, does not take."""
_RESERVED = re.compile(r"\A(con|prn|aux|nul|com\d|lpt\d)(?= *(?:\.|\Z))", re.I)
"""Names of devices, which name no file in Windows, whatever follows a dot."""
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NOT_IN_TAG = re.compile(r"[^\w/-]+")


def is_bundle(path: Path) -> bool:
    """Return whether a zip or a folder is a bundle that `save` wrote, also one that was packed again."""
    if path.is_dir():
        return (path / EXPORT_ROWS).is_file()
    with suppress(*DAMAGED, UnreadableFile), _opened(path) as archive:
        return _root(archive) is not None
    return False


def _opened(path: Path) -> AbstractContextManager[zipfile.ZipFile]:
    return checked_archive(path, directory=MAX_DIRECTORY_BYTES)


def _root(archive: zipfile.ZipFile) -> str | None:
    """The folder of a bundle in a zip, with its slash: none, or one that the program that packed it added."""
    for member in archive.infolist():
        folder, slash, name = member.filename.rpartition("/")
        if name == EXPORT_ROWS and "/" not in folder and folder != "__MACOSX":
            return folder + slash
    return None


def save(store: Store, path: Path, scope: Scope, user: str | None, *, overwrite: bool) -> int:
    """Write a space, or what one user of it said, as a bundle; return the number of its files.

    Raises:
        InvalidInput: The file exists, or belongs to the data folder.
        StoreFull: The disk is full.
        StoreError: The file cannot be written.
    """
    with (
        translated(),
        whole_file(path, folder=store.folder, overwrite=overwrite) as partial,
        zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive,
        store.read() as connection,
    ):
        generated = f"hippocampe/{version('hippocampe')}"
        space, now = scope.space, store.now()
        wanted = rows_of(space, user)
        return _Writing(archive, path.parent, connection, space, wanted, now, generated).all()


@dataclass(slots=True)
class _Writing:
    """Writes the files of a bundle."""

    _archive: zipfile.ZipFile
    _folder: Path
    _connection: Connection
    _space: str
    _wanted: Wanted
    _now: datetime
    _generated: str
    _files: int = 0

    def all(self) -> int:
        self._rows()
        listed: dict[str, list[str]] = {_CURRENT: [], _PAST: []}
        rows = stored_rows(self._connection, memory, self._wanted)
        while batch := list(islice(rows, BATCH)):
            links, sources = self._links(batch), self._sources(batch)
            for row in batch:
                name = _name(row["id"], row["content"], _is_current(row))
                self._write(
                    f"{name}.md", _page(row, links, sources, self._generated), row["updated_at"]
                )
                place = name.partition("/")[0]
                title = heading(row["content"], _TITLE_CHARACTERS)
                listed[place].append(f"* [{_escaped(title)}](<{name.partition('/')[2]}.md>)")
        for place, entries in listed.items():
            if entries:
                self._write(
                    f"{place}/{EXPORT_INDEX}", "\n".join([f"# {place.title()}", "", *entries, ""])
                )
        days = self._talk()
        self._write(
            EXPORT_INDEX,
            f'---\nokf_version: "{VERSION}"\n---\n# {self._space}\n\n'
            + "".join(
                f"* [{place.title()}]({place}/{EXPORT_INDEX}) - {len(entries):,}\n"
                for place, entries in listed.items()
                if entries
            )
            + (f"* [Talk](talk/) - {days:,} pages\n" if days else ""),
        )
        return self._files

    def _write(self, name: str, text: str, at: str | None = None) -> None:
        if self._files % BATCH == 0:
            free_space.check(self._folder)
        moment = (datetime.fromisoformat(at) if at else self._now).astimezone(UTC)
        # A zip knows no time before 1980, and none after 2107.
        written = max(moment.timetuple()[:6], (1980, 1, 1, 0, 0, 0))
        info = zipfile.ZipInfo(name, min(written, (2107, 12, 31, 23, 59, 58)))
        info.compress_type = zipfile.ZIP_DEFLATED
        self._archive.writestr(info, text)
        self._files += 1

    def _links(self, batch: Sequence[Row]) -> Mapping[str, Mapping[str, list[str]]]:
        """The links of memories to others by kind, for the graph of Obsidian."""
        ids = [row["id"] for row in batch]
        query = (
            select(association.c.source_id, association.c.kind, memory)
            .join(memory, memory.c.id == association.c.target_id)
            .where(self._wanted["memory"], association.c.source_id.in_(ids))
            .order_by(association.c.source_id, association.c.kind, association.c.target_id)
        )
        found: dict[str, dict[str, list[str]]] = {}
        for row in self._connection.execute(query).mappings():
            name = _name(row["id"], row["content"], _is_current(row))
            kinds = found.setdefault(row["source_id"], {})
            kinds.setdefault(row["kind"], []).append(f"[[{name}]]")
        return found

    def _sources(self, batch: Sequence[Row]) -> Mapping[str, str]:
        """The pages of the messages that memories rest on, by id of the message."""
        ids = list({id for row in batch for id in row["evidence"]})
        return {
            each.id: "/" + _talk_page(each.channel or "", each.at)
            for some in parts(ids, BATCH)
            for each in message_rows.find(
                self._connection, self._wanted["message"], message.c.id.in_(some)
            )
        }

    def _talk(self) -> int:
        """Write the messages by channel and day, without those that are forgotten; return the number of pages."""
        query = (
            select(message)
            .outerjoin(turn, turn.c.id == message.c.turn_id)
            .where(
                self._wanted["message"],
                or_(message.c.turn_id.is_(None), turn.c.forgotten_at.is_(None)),
            )
            .order_by(message.c.channel, message.c.at, message.c.number)
        )
        rows = self._connection.execute(query, execution_options={"yield_per": BATCH})
        pages = 0
        for name, said in groupby(
            rows.mappings(), lambda row: _talk_page(row["channel"], row["at"])
        ):
            messages = list(said)
            first = messages[0]
            title = f"{first['channel'] or 'Talk'}, {first['at']:%Y-%m-%d}"
            head = [
                ("type", "Conversation"),
                ("title", title),
                ("generated", {"by": self._generated, "at": self._now.isoformat()}),
            ]
            body = "\n\n".join(
                f"**{row['author'] or row['role'] or '?'}** {row['at']:%H:%M}: {_said(row['content'])}"
                for row in messages
            )
            self._write(name, _document(head, body), messages[-1]["at"].isoformat())
            pages += 1
        return pages

    def _rows(self) -> None:
        """Write the rows of the other tables."""
        with self._archive.open(EXPORT_ROWS, "w", force_zip64=True) as lines:
            others = [name for name in TABLES if name != "memory"]
            for line in lines_of(self._connection, self._space, self._now, self._wanted, others):
                lines.write(line.encode() + b"\n")
        self._files += 1


def _page(
    row: Row,
    links: Mapping[str, Mapping[str, list[str]]],
    sources: Mapping[str, str],
    generated: str,
) -> str:
    """The file of a memory."""
    tags = (_NOT_IN_TAG.sub("-", each).strip("-") for each in row["subjects"])
    pages = dict.fromkeys(sources[id] for id in row["evidence"] if id in sources)
    head: list[tuple[str, object]] = [
        ("type", row["type"]),
        ("title", heading(row["content"], _TITLE_CHARACTERS)),
        ("tags", [each for each in tags if each and not each.isdigit()]),
        ("status", "stable" if _is_current(row) else "deprecated"),
        ("stale_after", row["expires_at"][:10] if row["expires_at"] else None),
        ("generated", {"by": generated, "at": row["updated_at"]}),
        ("sources", [{"resource": each} for each in pages]),
        *links.get(row["id"], {}).items(),
    ]
    columns = {column.name: row[column.name] for column in _COLUMNS if column.name != "type"}
    # Nested properties are unreadable in Obsidian, and lose the types of their values.
    columns["metadata"] = (
        json.dumps(row["metadata"], ensure_ascii=False) if row["metadata"] else None
    )
    return _document([*head, *columns.items()], row["content"])


def _document(head: Iterable[tuple[str, object]], body: str) -> str:
    lines = [f"{name}: {_yaml(value)}" for name, value in head if value is not None and value != []]
    return "\n".join(["---", *lines, "---", body, ""])


def _yaml(value: object) -> str:
    """A value on one line: YAML reads JSON, but for a few characters."""
    text = json.dumps(value, ensure_ascii=False)
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _name(id: str, content: str, current: bool) -> str:
    """The path of a memory without its ending: the first words, and the end of the id."""
    words = _UNSAFE.sub(" ", content[: 2 * MAX_NAME_CHARACTERS]).strip(" .")
    short = (
        words[:MAX_NAME_CHARACTERS].rpartition(" ")[0]
        if len(words) > MAX_NAME_CHARACTERS
        else words
    )
    plain = _RESERVED.sub(r"\1_", printable(short).strip(" ."))
    return f"{_CURRENT if current else _PAST}/{f'{plain} {id[-12:]}'.strip()}"


def _is_current(row: Row | RowMapping) -> bool:
    return row["forgotten_at"] is None and row["superseded_by"] is None


def _escaped(title: str) -> str:
    return re.sub(r"([\\\[\]])", r"\\\1", title)


def _said(content: str) -> str:
    """A message; one of several lines is quoted, so that none of them reads as another message."""
    lines = content.splitlines()
    return content if len(lines) < 2 else "\n".join(["", "", *(f"> {line}" for line in lines)])


def _talk_page(channel: str, at: datetime) -> str:
    safe = printable(_UNSAFE.sub("-", channel)).strip("-.")[:MAX_NAME_CHARACTERS]
    safe = _RESERVED.sub(r"\1_", safe)
    if safe != channel:
        # Two channels may differ in such characters only.
        safe += "-" + hashlib.blake2b(channel.encode(), digest_size=4).hexdigest()
    return f"talk/{safe}/{at:%Y-%m-%d}.md"


def read_rows(path: Path) -> Iterator[tuple[int, str]]:
    """The rows of a bundle as lines of an archive, with their numbers: memories first.

    Raises:
        UnreadableFile: A file is damaged or unreadable.
    """
    number = 0
    try:
        for name, text in _memory_files(path):
            number += 1
            yield number, _line(name, text)
        for line in read_lines(source_of(path, _rows_file(path)), longest=MAX_LINE_BYTES):
            if line.number > 1:
                yield number + line.number, line.text
    except (*DAMAGED, ValueError) as exc:
        raise UnreadableFile(f"cannot read {path}: {exc}.") from exc


def _rows_file(path: Path) -> str:
    """The name of the file of the other rows."""
    if path.is_dir():
        return EXPORT_ROWS
    with _opened(path) as archive:
        return f"{_root(archive) or ''}{EXPORT_ROWS}"


def _memory_files(path: Path) -> Iterator[tuple[str, str]]:
    if path.is_dir():
        for place in (_CURRENT, _PAST):
            for file in sorted((path / place).rglob("*.md")):
                if file.name != EXPORT_INDEX and not file.is_symlink():
                    yield file.name, file.read_bytes().decode(errors="replace")
        return
    with _opened(path) as archive:
        root = _root(archive) or ""
        for member in archive.infolist():
            if not member.filename.startswith(root):
                continue
            place, _, name = member.filename.removeprefix(root).partition("/")
            if place in (_CURRENT, _PAST) and name.endswith(".md") and name != EXPORT_INDEX:
                yield name, archive.read(member).decode(errors="replace")


def _line(name: str, text: str) -> str:
    """The row of a memory from its file; a file that is none becomes a line that is refused."""
    found = _HEAD.match(text)
    head, problem = parse_fields(found[1], _MAX_HEAD_CHARACTERS) if found else ({}, None)
    if found is None or problem or "id" not in head:
        return json.dumps({"file": name})
    row: Row = {"record": "memory", "content": text[found.end() :].strip()}
    for column in _COLUMNS:
        # An empty property of Obsidian has no value.
        value = head.get(column.name) or None
        if parse := _PARSED.get(column.name):
            with suppress(ValueError, TypeError):
                row[column.name] = parse(value)
        elif value is not None or column.nullable:
            row[column.name] = value
    return json.dumps(row, ensure_ascii=False)


_PARSED: Mapping[str, Callable[[Any], object]] = {
    "importance": float,
    "access_count": lambda value: int(value or 0),
    "former": lambda value: str(value).lower() == "true",
    "subjects": lambda value: value or [],
    "evidence": lambda value: value or [],
    "metadata": lambda value: json.loads(value or "{}"),
}
"""Parsers of the columns that are no text, of frontmatter, whose scalars are texts."""
