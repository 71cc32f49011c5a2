"""Locks of files that end with the process."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from hippocampe.errors import FolderInUse


@contextmanager
def exclusive(path: Path, refusal: str) -> Generator[None]:
    """Hold the lock of a file.

    Raises:
        FolderInUse: Another holds it; the message is `refusal`.
    """
    lock = FileLock(path, mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout as exc:
        raise FolderInUse(refusal) from exc
    try:
        yield
    finally:
        lock.release()
