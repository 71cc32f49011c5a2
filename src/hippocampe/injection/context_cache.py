"""What stands whatever is asked, kept for a moment: most turns change nothing of it.

In memory only, and bounded. Pure.
"""

import threading
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hippocampe.protocols import Vector
from hippocampe.types import Recollection, Route

Stands = tuple[Route, Recollection, Vector | None]

MAX_KEYS = 1_000
FRESH = timedelta(seconds=2)
"""After this it is read again: another process may have changed it, and time has gone by."""


@dataclass(frozen=True, slots=True)
class _Kept:
    changes: int
    at: datetime
    found: Sequence[Stands]


@dataclass(slots=True)
class Standing:
    """What was read last, by what it depends on. Thread-safe."""

    _kept: dict[Hashable, _Kept] = field(default_factory=dict[Hashable, _Kept])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Hashable, changes: int, now: datetime) -> Sequence[Stands] | None:
        """What was kept, unless memories were changed since, or it is too old.

        Args:
            key: What it depends on.
            changes: How often memories were changed so far.
            now: The moment of the turn.
        """
        kept = self._kept.get(key)
        if kept is None or kept.changes != changes or not timedelta() <= now - kept.at < FRESH:
            return None
        return kept.found

    def keep(self, key: Hashable, changes: int, now: datetime, found: Sequence[Stands]) -> None:
        """Keep what was read; `changes` as it was before reading."""
        with self._lock:
            if len(self._kept) >= MAX_KEYS:
                self._kept.clear()
            self._kept[key] = _Kept(changes, now, found)
