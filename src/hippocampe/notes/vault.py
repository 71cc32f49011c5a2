"""Read an Obsidian vault as a folder of files. Never writes."""

import os
import stat
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from hippocampe.errors import NotesUnavailable, NotFound, UnreadableFile
from hippocampe.notes.filters import (
    MAX_NOTE_BYTES,
    is_export,
    is_ignored,
    is_wanted,
    normalize,
)
from hippocampe.notes.markdown import parse
from hippocampe.types import Note


class Vault:
    """The notes below a folder. Symbolic links are not followed, so nothing outside is read.

    Args:
        folder: The vault; it may be missing temporarily.
        ignored: Folders to ignore, by name or by path relative to the vault.
    """

    name = "vault"

    def __init__(self, folder: Path, ignored: Sequence[str] = ()) -> None:
        self._folder = folder
        self._ignored = tuple(ignored)
        self._files: dict[str, Path] = {}

    def listing(self) -> Mapping[str, str]:
        """The notes by path, each with a version that changes when the file is written."""
        root = self._folder.resolve()
        versions: dict[str, str] = {}
        files: dict[str, Path] = {}
        for folder, below, names in os.walk(root, onerror=self._skip):
            inside = Path(folder).relative_to(root)
            below[:] = sorted(
                name for name in below if not is_ignored(_path(inside, name), self._ignored)
            )
            if inside.parts and is_export(names):
                below.clear()
                continue
            for name in sorted(names):
                path, file = _path(inside, name), Path(folder, name)
                if not is_wanted(path, self._ignored):
                    continue
                try:
                    seen = file.stat(follow_symlinks=False)
                except OSError as exc:
                    self._skip(exc)
                    continue
                if not stat.S_ISREG(seen.st_mode):
                    continue
                versions[path] = f"{seen.st_mtime_ns} {seen.st_ctime_ns} {seen.st_size}"
                files[path] = file
        # A vault that disappears during the walk would look like many deleted notes.
        if not root.is_dir():
            raise self._unavailable("there is no such folder")
        self._files = files
        return versions

    def _skip(self, error: OSError) -> None:
        """Skip a file or folder that is inaccessible or deleted; a failing vault or disk is an error."""
        skippable = isinstance(error, PermissionError | FileNotFoundError | NotADirectoryError)
        if not skippable or Path(error.filename or "") == self._folder.resolve():
            raise self._unavailable(error.strerror or "no reason given") from error

    def _unavailable(self, reason: str) -> NotesUnavailable:
        return NotesUnavailable(
            f"the notes in {self._folder} cannot be read: {reason}. Check notes_folder, or bring the "
            "folder back; the next refresh retries."
        )

    def read(self, path: str) -> Note:
        """Read one note of the last listing."""
        file = self._files.get(path)
        try:
            if file is None or not file.resolve(strict=True).is_relative_to(self._folder.resolve()):
                raise NotFound(f"there is no note {path!r} in the vault.")
            with file.open("rb") as opened:
                raw = opened.read(MAX_NOTE_BYTES + 1)
                changed = os.fstat(opened.fileno()).st_mtime
            if len(raw) > MAX_NOTE_BYTES:
                raise UnreadableFile(f"it is longer than {MAX_NOTE_BYTES:,} bytes.")
            return parse(path, raw.decode(), datetime.fromtimestamp(changed, UTC))
        except FileNotFoundError as exc:
            raise NotFound(f"there is no note {path!r} in the vault.") from exc
        except UnicodeDecodeError as exc:
            raise UnreadableFile(
                f"it is not UTF-8 text (byte {exc.start}): save it as UTF-8."
            ) from exc
        except (ValueError, OverflowError) as exc:
            raise UnreadableFile("its modification time is out of range.") from exc
        except OSError as exc:
            raise UnreadableFile(f"{exc.strerror}.") from exc

    def close(self) -> None:
        """Does nothing: no resource stays open."""


def _path(inside: Path, name: str) -> str:
    return normalize((inside / name).as_posix())
