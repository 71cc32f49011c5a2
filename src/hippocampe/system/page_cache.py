"""Files brought into the system's cache before somebody waits for their pages, one after the other.

Not the file of a database: whoever opens and closes it gives up the locks that SQLite has on it in
this process, and loses data (`Store.read_ahead`).
"""

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path


def read_ahead(files: Iterable[Path], *, stop: Callable[[], bool]) -> None:
    """Read files once, unless they are large beside the memory of the machine.

    Args:
        files: May go meanwhile; what cannot be read ends it.
        stop: Says whether to give up.
    """
    block = bytearray(1 << 20)
    with suppress(OSError):
        sizes = {each: _written(each) for each in files}
        if not fits(sum(sizes.values())):
            return
        for each, left in sizes.items():
            with each.open("rb", buffering=0) as file:
                while left > 0 and not stop() and (read := file.readinto(block)):
                    left -= read


def fits(size: int) -> bool:
    """Whether so many bytes are little beside the memory of the machine."""
    return size <= _memory() // 4


def _written(path: Path) -> int:
    """How many bytes of a file are there: files that grow have a hole at the end."""
    stat = path.stat()
    return stat.st_size if sys.platform == "win32" else min(stat.st_size, stat.st_blocks * 512)


def _memory() -> int:
    """Bytes of memory of the machine; 4 GiB where the system does not say."""
    if sys.platform == "win32":
        return 4 << 30
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
