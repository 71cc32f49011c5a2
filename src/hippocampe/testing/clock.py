"""A manual clock."""

import threading
from datetime import UTC, datetime, timedelta

from hippocampe.errors import InvalidInput


class FakeClock:
    """A clock for `Hippocampe.open(..., clock=clock)` that only moves by `advance` and `set`. Thread-safe.

    Args:
        start: The first moment it shows, with a timezone.
        tick: Step of each reading, so that two times never tie; none by default.

    Raises:
        InvalidInput: `start` has no timezone.
    """

    def __init__(
        self,
        start: datetime = datetime(2026, 1, 1, tzinfo=UTC),
        *,
        tick: timedelta = timedelta(),
    ) -> None:
        self._lock = threading.Lock()
        self._tick = tick
        self._now = _aware(start)

    def __call__(self) -> datetime:
        """The present, with a timezone."""
        with self._lock:
            self._now += self._tick
            return self._now

    def advance(self, much: timedelta = timedelta(), **units: float) -> None:
        """Move by a `timedelta`, by its arguments (`hours=2`), or by both; backwards if negative.

        The move is in elapsed time: across a daylight-saving change, the wall time moves with it.
        """
        with self._lock:
            moved = self._now.astimezone(UTC) + much + timedelta(**units)
            self._now = moved.astimezone(self._now.tzinfo)

    def set(self, now: datetime) -> None:
        """Jump to a moment.

        Raises:
            InvalidInput: `now` has no timezone.
        """
        with self._lock:
            self._now = _aware(now)


def _aware(moment: datetime) -> datetime:
    if moment.utcoffset() is None:
        raise InvalidInput("A clock needs a timezone. Give one: datetime(..., tzinfo=UTC).")
    return moment
