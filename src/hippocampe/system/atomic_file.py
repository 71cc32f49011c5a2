"""Atomic writing of user files and folders: write a partial one beside the target, then rename it."""

import os
import shutil
from collections.abc import Collection, Generator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from hippocampe.errors import InvalidInput, StoreError
from hippocampe.system import free_space, private

PARTIAL = ".partial"
"""Suffix of an unfinished file or folder."""
FILE_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""The files of a database of SQLite, by what follows its name."""
_DATABASE = "hippocampe.db"
OWN_FILES = {
    *(_DATABASE + suffix for suffix in FILE_SUFFIXES),
    *("owner.lock", "owner.json", "owner.sock", "owner.token", "server.log", "index"),
    *("cells.json", "cells"),
}
"""Names in the data folder that no other file may have, in lower case."""


@contextmanager
def whole_file(target: Path, *, folder: Path, overwrite: bool) -> Generator[Path]:
    """Yield an empty private file to fill; it replaces `target` if the block ends without an error.

    Args:
        target: The file to write; its folder must exist.
        folder: The data folder; its own files are never replaced.

    Raises:
        InvalidInput: `target` exists, is not a file, or is a file of the data folder.
        StoreFull: The disk is full.
        StoreError: It cannot be written.
    """
    _check(target, folder, overwrite)
    partial = target.with_name(f"hippocampe-{token_hex(8)}{PARTIAL}")
    try:
        private.make_file(partial)
        yield partial
        with partial.open("rb+") as written:
            os.fsync(written.fileno())
        # Another program may have created the target during a long copy.
        _check(target, folder, overwrite)
        partial.replace(target)
    except OSError as exc:
        raise free_space.refusal(exc, f"cannot write {target}") from exc
    except KeyboardInterrupt as exc:
        exc.add_note(f"{target} was not written; a file that was there is unchanged.")
        raise
    finally:
        remove_partial(partial)


@contextmanager
def whole_folder(
    target: Path, *, folder: Path, overwrite: bool, parts: Collection[str]
) -> Generator[Path]:
    """Yield an empty private folder to fill; it replaces `target` if the block ends without an error.

    Args:
        target: The folder to write; its parent must exist.
        folder: The data folder; its own files are never replaced.
        overwrite: Whether to replace an existing folder that has all of `parts` and nothing else.
        parts: The names in the finished folder.

    Raises:
        InvalidInput: `target` exists, or is a file of the data folder.
        StoreFull: The disk is full.
        StoreError: It cannot be written.
    """
    partial = target.with_name(f"hippocampe-{token_hex(8)}{PARTIAL}")
    replaced = partial.with_name(f"{partial.name}-replaced")
    try:
        _check_folder(target, folder, overwrite, parts)
        private.make_folder(partial)
        yield partial
        _check_folder(target, folder, overwrite, parts)
        if target.exists():
            target.rename(replaced)
        partial.rename(target)
    except OSError as exc:
        raise free_space.refusal(exc, f"cannot write {target}") from exc
    except KeyboardInterrupt as exc:
        exc.add_note(f"{target} was not written; a folder that was there is unchanged.")
        raise
    finally:
        if replaced.exists() and not target.exists():
            replaced.rename(target)
        for each in (partial, replaced):
            shutil.rmtree(each, ignore_errors=True)


def remove_partial(path: Path) -> None:
    """Remove an unfinished file and the SQLite journal beside it."""
    for each in (path, path.with_name(path.name + "-journal")):
        each.unlink(missing_ok=True)


def _check_place(target: Path, folder: Path) -> None:
    if _is_own(target.resolve(), folder.resolve()):
        raise InvalidInput(
            f"cannot write {target}: it is a file of the open data folder. Give another path."
        )
    if not target.parent.is_dir():
        raise StoreError(
            f"cannot write {target}: there is no folder {target.parent}. Create it first."
        )


def _check_folder(target: Path, folder: Path, overwrite: bool, parts: Collection[str]) -> None:
    _check_place(target, folder)
    if not os.path.lexists(target):
        return
    if not target.is_dir() or {each.name for each in target.iterdir()} != set(parts):
        raise InvalidInput(
            f"cannot write {target}: it exists and is not a backup of all cells. Give another path."
        )
    if not overwrite:
        raise InvalidInput(
            f"cannot write {target}: the folder exists. Give another path, or replace it with --force."
        )


def _check(target: Path, folder: Path, overwrite: bool) -> None:
    _check_place(target, folder)
    if not os.path.lexists(target):
        return
    if not target.is_file():
        raise InvalidInput(
            f"cannot write {target}: it exists and is not a file. Give another path."
        )
    if not overwrite:
        raise InvalidInput(
            f"cannot write {target}: the file exists. Give another path, or replace it with "
            "overwrite=True (--force on the command line)."
        )


def _is_own(target: Path, folder: Path) -> bool:
    if not target.is_relative_to(folder):
        return False
    inside = target.relative_to(folder).parts
    # Some file systems ignore case.
    return bool(inside) and inside[0].casefold() in OWN_FILES
