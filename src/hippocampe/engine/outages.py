"""Outages: one log line when a part fails, one when it recovers, and a counter.

Several parts may fail by one cause, such as a full disk or an index that is away: only the first is logged.
A late part counts as failed only after a second without any answer.
Overload is logged the same way, once when it begins and once when it ends.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hippocampe.errors import (
    EmbedderUnavailable,
    HippocampeError,
    IndexUnavailable,
    StoreError,
)

log = logging.getLogger("hippocampe")

SILENCE_SECONDS = 1.0
"""Time without an answer after which a late part counts as down."""
QUIET_SECONDS = 10.0
"""Time without a refused turn after which an overload has ended. Load comes in waves."""
OVERLOAD = "overload"
_COMMON = (StoreError, IndexUnavailable, EmbedderUnavailable)
"""Errors of what there is one of, and several parts use."""


@dataclass(frozen=True, eq=False, slots=True)
class _Outage:
    """The part that failed first, for which it was logged, and the type of its error."""

    part: str
    error: type


class Outages:
    """Tracks the parts that are down and the number of their outages. Thread-safe.

    Args:
        clock: Seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._down: dict[str, _Outage] = {}
        self._silent_since: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._served = self._refused = 0
        self._refused_at: float | None = None
        self._ended = False
        self._lock = threading.Lock()

    def failed(self, name: str, error: object) -> None:
        """Record the failure of a part; counted if it worked before, and logged if its cause is new.

        Args:
            name: The part, as logged: `index`.
            error: The reason. It is logged, so it must not contain user text.
        """
        with self._lock:
            if self._ended or name in self._down:
                return
            self._counts[name] = self._counts.get(name, 0) + 1
            known = self._known(error)
            self._down[name] = known or _Outage(name, type(error))
        if known is None:
            log.warning("%s failed, continuing without it until it recovers: %s", name, error)

    def end(self) -> None:
        """Record nothing more: what is late finds its part closed, which is no failure."""
        with self._lock:
            self._ended = True

    def _known(self, error: object) -> _Outage | None:
        if not isinstance(error, _COMMON):
            return None
        return next((each for each in self._down.values() if each.error is type(error)), None)

    def is_logged(self, error: object) -> bool:
        """Return whether the cause of an error was logged, for any part."""
        with self._lock:
            return self._known(error) is not None

    def late(self, name: str, error: object) -> None:
        """Record a missed deadline; it becomes an outage after a second without any answer."""
        with self._lock:
            since = self._silent_since.setdefault(name, self._clock())
        if self._clock() - since >= SILENCE_SECONDS:
            self.failed(name, error)

    def works(self, name: str) -> None:
        """Record an answer of a part; logged if it was down."""
        if name not in self._down and name not in self._silent_since:
            return
        with self._lock:
            self._silent_since.pop(name, None)
            outage = self._down.pop(name, None)
            recovered = outage is not None and outage.part == name
            if recovered:
                # Others that still fail are logged again.
                self._down = {part: its for part, its in self._down.items() if its is not outage}
        if recovered:
            log.info("%s works again", name)

    def attempt(
        self,
        name: str,
        work: Callable[[], object],
        *,
        passing: tuple[type[Exception], ...] = (),
    ) -> Exception | None:
        """Run one round of a background job; an error is recorded as an outage and never ends the thread.

        Args:
            name: The job, as logged.
            passing: Errors that the caller handles: raised, not recorded.

        Returns:
            The recorded error, or None.
        """
        try:
            work()
        except passing:
            raise
        except (HippocampeError, OSError) as exc:
            self.failed(name, exc)
            return exc
        except Exception as exc:
            # Unexpected errors may quote user text, so only their type is logged.
            self.failed(name, type(exc).__name__)
            log.debug("%s failed", name, exc_info=exc)
            return exc
        self.works(name)
        return None

    def refused(self) -> None:
        """Record a turn refused because of overload."""
        with self._lock:
            begins = self._refused_at is None
            self._refused_at = self._clock()
            self._refused += 1
            if begins:
                self._counts[OVERLOAD] = self._counts.get(OVERLOAD, 0) + 1
        if begins:
            log.warning("overload: too many turns at once, some are answered without memory")

    def served(self) -> None:
        """Record a turn that was served; an overload ends after a while without refusals."""
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
        """Return whether a part is down now."""
        return name in self._down

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of outages of each part."""
        with self._lock:
            return dict(self._counts)
