"""Load files into the page cache, so that no request waits for their pages one by one.

`posix_fadvise(WILLNEED)` does not exist on macOS and Windows, and returns before the pages are read. Never for a
SQLite file: closing it would drop the locks that SQLite has on it in this process (`Store.read_ahead`).
"""

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from hippocampe.system.free_space import written


def read_ahead(files: Iterable[Path], *, stop: Callable[[], bool]) -> None:
    """Read files once, unless they take more than a quarter of the machine's memory.

    Args:
        files: The first unreadable one, because it was deleted, ends the read-ahead.
    """
    block = bytearray(1 << 20)
    with suppress(OSError):
        sizes = {each: written(each.stat()) for each in files}
        if not fits(sum(sizes.values())):
            return
        for each, left in sizes.items():
            with each.open("rb", buffering=0) as file:
                while left > 0 and not stop() and (read := file.readinto(block)):
                    left -= read


def fits(size: int) -> bool:
    """Return whether this many bytes fit into a quarter of the machine's memory."""
    return size <= _memory() // 4


def _memory() -> int:
    """Memory of the machine in bytes; 4 GiB if unknown."""
    if sys.platform == "win32":
        return 4 << 30
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
