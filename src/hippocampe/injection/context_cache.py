"""A cache of the always-on context, which most turns leave unchanged.

In memory only, and bounded. The cache is our own because an entry also expires when memories change, and its
age is measured on the clock of the turns: on top of `cachetools.TTLCache` it would be no shorter.
"""

import threading
from collections.abc import Hashable, Sequence
from datetime import datetime, timedelta

from hippocampe.protocols import Vector
from hippocampe.types import Recollection, Route

ContextItem = tuple[Route, Recollection, Vector | None]
"""An always-on recollection: the path that brought it, itself, and its vector if it has one."""

MAX_KEYS = 1_000
MAX_AGE = timedelta(minutes=1)
"""Short, because recency depends on the time."""
MAX_SHARED_AGE = timedelta(seconds=2)
"""The same in a database that other processes change, too."""


class ContextCache:
    """The items read last for each key. Thread-safe."""

    def __init__(self, max_age: timedelta = MAX_AGE) -> None:
        self._max_age = max_age
        self._entries: dict[Hashable, tuple[int, datetime, Sequence[ContextItem]]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, changes: int, now: datetime) -> Sequence[ContextItem] | None:
        """The cached items, unless memories were changed since, one has expired, or the entry is too old.

        Args:
            key: The key of the items.
            changes: Number of changes to memories by this process.
            now: The time of the turn.
        """
        entry = self._entries.get(key)
        if entry is None:
            return None
        cached_changes, at, items = entry
        fresh = cached_changes == changes and timedelta() <= now - at < self._max_age
        return items if fresh and not _any_expired(items, now) else None

    def clear(self) -> None:
        """Drop all items: some may have been forgotten or erased."""
        with self._lock:
            self._entries.clear()

    def put(self, key: Hashable, changes: int, now: datetime, items: Sequence[ContextItem]) -> None:
        """Cache items; `changes` is the count from before they were read."""
        with self._lock:
            if len(self._entries) >= MAX_KEYS:
                self._entries.clear()
            self._entries[key] = (changes, now, items)


def _any_expired(items: Sequence[ContextItem], now: datetime) -> bool:
    return any(item.memory is not None and item.memory.has_expired(now) for _, item, _ in items)
