"""Free space on the disk of the data, checked before each write.

The index engine maps files that have holes. A write to a hole on a full disk kills the process (SIGBUS), and so does
a read on tmpfs. Therefore new writes stop while there is still space, and the engine does not write below `FLOOR`.
SQLite maps its files too, but allocates them first and reports a full disk as an error.
"""

import errno
import mmap
import os
import shutil
import tempfile
from pathlib import Path

from hippocampe.errors import StoreError, StoreFull

RESERVE = 64 << 20
"""Bytes that new writes leave free. Other programs may use some during a write: a write takes about 10 ms, and
a flush up to 300 ms."""
FLOOR = RESERVE // 2
"""Bytes that every write leaves free. Forgetting, erasing, and making stored data durable may use the rest of
the reserve. On tmpfs an engine of one kind takes 23 MB at once, elsewhere 0.7 MB."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def free(folder: Path) -> int | None:
    """Free bytes of the disk of a folder for this user; None if unknown."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return usage.free if usage.total else None


def has_room(folder: Path, size: int = 0, *, keep: int = RESERVE) -> bool:
    """Return whether `size` bytes can be written with `keep` bytes left free."""
    left = free(folder)
    return left is None or left >= size + keep


def check(folder: Path, size: int = 0, *, keep: int = RESERVE) -> None:
    """Refuse a write that would leave less than `keep` bytes free.

    Args:
        size: Bytes to write, if many.
        keep: `RESERVE` or `FLOOR`.

    Raises:
        StoreFull: There is not enough space.
    """
    left = free(folder)
    if left is not None and left < size + keep:
        raise StoreFull(
            f"the disk has {_megabytes(left)} free, and this needs {_megabytes(size + keep)}: nothing was "
            "written. Free some space and try again. Reading goes on; forgetting and erasing need "
            f"{_megabytes(FLOOR)}."
        )


def refusal(exc: OSError, what: str) -> StoreError:
    """The error for a write that the system refused: `StoreFull` without space.

    Args:
        what: The failed action.
    """
    if exc.errno in _FULL:
        return StoreFull(f"{what}: the disk is full. Free some space and try again.")
    if exc.errno in _FORBIDDEN:
        return StoreError(
            f"{what}: {exc.strerror}. Change its permissions, or choose another place."
        )
    return StoreError(f"{what}: {exc.strerror or exc}.")


def allocated(folder: Path) -> int:
    """Allocated bytes of the files of a folder; holes take none."""
    return sum(_taken(stat) for stat in _stats(folder))


def to_open(folder: Path) -> int:
    """Bytes that mapping the files of a folder may allocate: their holes, on tmpfs; otherwise none."""
    holes = sum(max(0, stat.st_size - _taken(stat)) for stat in _stats(folder))
    return holes if holes and _reading_allocates(folder) else 0


def _stats(folder: Path) -> list[os.stat_result]:
    stats: list[os.stat_result] = []
    for top, _, files in os.walk(folder):
        for name in files:
            try:
                stats.append(Path(top, name).stat())
            except OSError:
                # Removed meanwhile.
                continue
    return stats


def written(stat: os.stat_result) -> int:
    """Allocated bytes of a file, at most its size: files that grow in steps are sparse at the end."""
    return min(stat.st_size, _taken(stat))


def _taken(stat: os.stat_result) -> int:
    # Unknown on Windows.
    return getattr(stat, "st_blocks", -(-stat.st_size // 512)) * 512


def _reading_allocates(folder: Path) -> bool:
    """Return whether the file system allocates a page of a mapped file when it is read."""
    if not has_room(folder, keep=1 << 20):
        # A test could take the last page.
        return True
    with tempfile.TemporaryFile(dir=folder) as file:
        file.truncate(mmap.PAGESIZE)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            mapped[0]
        return _taken(os.fstat(file.fileno())) > 0 and os.name == "posix"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
