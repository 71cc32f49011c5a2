"""The allocated size of files."""

import os
import sys


def written(stat: os.stat_result) -> int:
    """Allocated bytes of a file: files that grow in steps are sparse at the end."""
    if sys.platform == "win32":
        return stat.st_size
    return min(stat.st_size, stat.st_blocks * 512)
