"""Atomic writing of user files: write a partial file beside the target, then rename it."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from hippocampe.errors import InvalidInput, StoreError
from hippocampe.system import free_space, private

PARTIAL = ".partial"
"""Suffix of an unfinished file."""
_DATABASE = "hippocampe.db"
OWN_FILES = {
    *(_DATABASE + suffix for suffix in ("", "-wal", "-shm", "-journal")),
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
        overwrite: Whether to replace an existing file.

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


def remove_partial(path: Path) -> None:
    """Remove an unfinished file and the SQLite journal beside it."""
    for each in (path, path.with_name(path.name + "-journal")):
        each.unlink(missing_ok=True)


def _check(target: Path, folder: Path, overwrite: bool) -> None:
    if _is_own(target.resolve(), folder.resolve()):
        raise InvalidInput(
            f"cannot write {target}: it is a file of the open data folder. Give another path."
        )
    if not target.parent.is_dir():
        raise StoreError(
            f"cannot write {target}: there is no folder {target.parent}. Create it first."
        )
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
