"""What is down and done without: one line in the log when it goes, one when it is back, a counter.

Slow is not down: a part that is late is only lost once nothing has been heard of it for a while.
Overload is logged the same way, once when it begins and once when it has ended.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping

from hippocampe.errors import HippocampeError

log = logging.getLogger("hippocampe")

SILENCE_SECONDS = 1.0
"""How long a late part may give no answer at all before that is an outage."""
QUIET_SECONDS = 10.0
"""How long no turn may be refused before an overload has ended: load comes in waves."""
OVERLOAD = "overload"


class Outages:
    """Which parts are down, and how often each was. Thread-safe.

    Args:
        clock: Seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._down: set[str] = set()
        self._silent_since: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._served = self._refused = 0
        self._refused_at: float | None = None
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

    def late(self, name: str, error: object) -> None:
        """Note that a part gave no answer in time: an outage if it gave none at all for a second."""
        with self._lock:
            since = self._silent_since.setdefault(name, self._clock())
        if self._clock() - since >= SILENCE_SECONDS:
            self.failed(name, error)

    def works(self, name: str) -> None:
        """Note that a part works, or has answered late; logged when it was down."""
        if name not in self._down and name not in self._silent_since:
            return
        with self._lock:
            self._silent_since.pop(name, None)
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

    def refused(self) -> None:
        """Note a turn that was refused because too many others run."""
        with self._lock:
            begins = self._refused_at is None
            self._refused_at = self._clock()
            self._refused += 1
            if begins:
                self._counts[OVERLOAD] = self._counts.get(OVERLOAD, 0) + 1
        if begins:
            log.warning("overload: more turns than can be served, some are answered without memory")

    def served(self) -> None:
        """Note a turn that was not refused; ends an overload after a quiet while."""
        with self._lock:
            if self._refused_at is None:
                return
            self._served += 1
            if self._clock() - self._refused_at < QUIET_SECONDS:
                return
            counts = self._refused, self._refused + self._served
            self._refused_at, self._refused, self._served = None, 0, 0
        log.info("overload has ended: %d of %d turns were answered without memory", *counts)

    def is_down(self, name: str) -> bool:
        """Whether a part is down now."""
        return name in self._down

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each part went down."""
        with self._lock:
            return dict(self._counts)
