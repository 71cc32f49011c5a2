"""A turnstile: threads compute one after the other."""

from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock


class Turnstile:
    """Admits one thread at a time, as long as none takes long.

    Concurrent threads that compute and read rows switch the interpreter at every row, and together need
    longer than one after the other.

    Args:
        timeout: Seconds after which a thread no longer waits for the one inside, which may be stuck.
    """

    def __init__(self, timeout: float = 0.1) -> None:
        self._timeout = timeout
        self._lock = Lock()

    @contextmanager
    def passed(self) -> Generator[None]:
        """Enter alone, compute inside the block."""
        alone = self._lock.acquire(timeout=self._timeout)
        try:
            yield
        finally:
            if alone:
                self._lock.release()
