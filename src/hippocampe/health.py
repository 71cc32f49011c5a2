"""What is down and done without: one line in the log when it goes, one when it is back, a counter."""

import logging
import threading
from collections.abc import Callable, Mapping

from hippocampe.errors import HippocampeError

log = logging.getLogger("hippocampe")


class Outages:
    """Which parts are down, and how often each was. Thread-safe."""

    def __init__(self) -> None:
        self._down: set[str] = set()
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()

    def failed(self, name: str, error: object) -> None:
        """Note that a part failed; logged and counted when it worked before.

        Args:
            name: What failed, as it is to be read: `index`.
            error: Why; shown in the log, so without any content.
        """
        with self._lock:
            if name in self._down:
                return
            self._down.add(name)
            self._counts[name] = self._counts.get(name, 0) + 1
        log.warning("%s failed, going on without it until it works again: %s", name, error)

    def works(self, name: str) -> None:
        """Note that a part works; logged when it was down."""
        if name not in self._down:
            return
        with self._lock:
            recovered = name in self._down
            self._down.discard(name)
        if recovered:
            log.info("%s works again", name)

    def attempt(self, name: str, work: Callable[[], object]) -> None:
        """Do one round of a background job, which goes on with the next whatever happens in this one.

        Args:
            name: The job, as it is to be read.
            work: The round; an error in it is noted as an outage.
        """
        try:
            work()
        except (HippocampeError, OSError) as exc:
            self.failed(name, exc)
        except Exception as exc:
            # A thread that ended would not be missed for weeks. The text may say what was said.
            self.failed(name, type(exc).__name__)
            log.debug("%s failed", name, exc_info=exc)
        else:
            self.works(name)

    def is_down(self, name: str) -> bool:
        """Whether a part is down now."""
        return name in self._down

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each part went down."""
        with self._lock:
            return dict(self._counts)
