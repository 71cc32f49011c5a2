"""Files written for the user: written under another name beside their place, then renamed, so that
a failure leaves the old file."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from hippocampe.errors import InvalidInput, StoreError

PARTIAL = ".partial"
"""What the name of an unfinished file ends with."""
_DATABASE = "hippocampe.db"
_OWN_FILES = {
    *(_DATABASE + suffix for suffix in ("", "-wal", "-shm", "-journal")),
    *("owner.lock", "owner.json", "index"),
}


@contextmanager
def whole_file(target: Path, *, folder: Path, overwrite: bool) -> Generator[Path]:
    """Give an empty file to fill; it becomes `target` if the block ends without an error.

    Args:
        target: Where the file goes; its folder must exist.
        folder: The data folder, whose own files are never replaced.
        overwrite: Replace a file that exists.

    Raises:
        InvalidInput: `target` exists, or is no place for a file.
        StoreError: It cannot be written.
    """
    _check(target, folder, overwrite)
    partial = target.with_name(f"hippocampe-{token_hex(8)}{PARTIAL}")
    try:
        partial.touch(exist_ok=False)
        yield partial
        with partial.open("rb+") as written:
            os.fsync(written.fileno())
        # A long copy leaves time for another program to put a file there.
        _check(target, folder, overwrite)
        partial.replace(target)
    except OSError as exc:
        raise StoreError(f"cannot write {target}: {exc.strerror or exc}.") from exc
    except KeyboardInterrupt as exc:
        exc.add_note(f"{target} was not written; a file that was there is unchanged.")
        raise
    finally:
        remove_partial(partial)


def remove_partial(path: Path) -> None:
    """Remove an unfinished file, and the journal that SQLite may have left beside it."""
    for each in (path, path.with_name(path.name + "-journal")):
        each.unlink(missing_ok=True)


def _check(target: Path, folder: Path, overwrite: bool) -> None:
    if _is_own(target.resolve(), folder.resolve()):
        raise InvalidInput(
            f"cannot write {target}: it is a file of the open data folder. Give another path."
        )
    if not target.parent.is_dir():
        raise StoreError(
            f"cannot write {target}: there is no folder {target.parent}. Make it first."
        )
    if not os.path.lexists(target):
        return
    if not target.is_file():
        raise InvalidInput(f"cannot write {target}: it exists and is no file. Give another path.")
    if not overwrite:
        raise InvalidInput(
            f"cannot write {target}: the file exists. Give another path, or replace it with "
            "overwrite=True (--force on the command line)."
        )


def _is_own(target: Path, folder: Path) -> bool:
    if not target.is_relative_to(folder):
        return False
    inside = target.relative_to(folder).parts
    # Some file systems do not tell upper from lower case.
    return bool(inside) and inside[0].casefold() in _OWN_FILES
