"""An Obsidian vault as a folder of files. Nothing is ever written to it."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from hippocampe.errors import NotesUnavailable, NotFound, UnreadableFile
from hippocampe.notes import MAX_NOTE_BYTES, is_ignored, is_wanted, normal, parse, require
from hippocampe.types import Note


class Vault:
    """The notes below a folder. Links are not followed, so nothing outside of it is read.

    Args:
        folder: The vault; it may be missing at times.
        ignored: Folders to leave out, by name or by path relative to the vault.

    Raises:
        NotesUnavailable: A package is missing.
    """

    name = "vault"

    def __init__(self, folder: Path, ignored: Sequence[str] = ()) -> None:
        require("yaml")
        self._folder = folder
        self._ignored = tuple(ignored)
        self._files: dict[str, Path] = {}

    def listing(self) -> Mapping[str, str]:
        """The notes there are, by path, each with what changes when it is written."""
        root = self._folder.resolve()
        versions: dict[str, str] = {}
        files: dict[str, Path] = {}
        for folder, below, names in os.walk(root, onerror=_pass_over):
            inside = Path(folder).relative_to(root)
            below[:] = sorted(
                name for name in below if not is_ignored(_path(inside, name), self._ignored)
            )
            for name in sorted(names):
                path, file = _path(inside, name), Path(folder, name)
                if not is_wanted(path, self._ignored) or file.is_symlink():
                    continue
                try:
                    seen = file.stat(follow_symlinks=False)
                except OSError as exc:
                    _pass_over(exc)
                    continue
                versions[path] = f"{seen.st_mtime_ns} {seen.st_ctime_ns} {seen.st_size}"
                files[path] = file
        if not root.is_dir():
            raise NotesUnavailable(
                f"the notes in {self._folder} cannot be read: there is no such folder. Check "
                "notes_folder, or bring the folder back; it is looked for again."
            )
        self._files = files
        return versions

    def read(self, path: str) -> Note:
        """One note of the last listing."""
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
        except OSError as exc:
            raise UnreadableFile(f"{exc.strerror}.") from exc

    def close(self) -> None:
        """Nothing is held open."""


def _path(inside: Path, name: str) -> str:
    return normal((inside / name).as_posix())


def _pass_over(error: OSError) -> None:
    """Leave out a file or folder that is closed to us or has just gone; a disk that fails is not
    an empty one."""
    if not isinstance(error, PermissionError | FileNotFoundError | NotADirectoryError):
        raise NotesUnavailable(
            f"the vault cannot be read: {error.strerror}. It is tried again."
        ) from error
