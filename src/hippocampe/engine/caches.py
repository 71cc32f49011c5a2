"""In-memory caches of the store: settings, aliases, recall counts. Thread-safe."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from hippocampe.types import Settings

MAX_CACHED_SPACES = 1_000
"""Spaces whose aliases are cached."""
Aliases = Mapping[str, frozenset[str]]
"""The other names of each name of a space."""


@dataclass(slots=True)
class Revision:
    """Counts the changes of this process to memories, so that caches know when to reload."""

    number: int = 0

    def advance(self) -> None:
        """Invalidate everything cached so far."""
        self.number += 1


@dataclass(slots=True)
class AliasCache:
    """The aliases of each space, reloaded once memories have changed."""

    revision: Revision
    _spaces: dict[str, tuple[int, Aliases]] = field(default_factory=dict[str, tuple[int, Aliases]])

    def get(self, space: str, load: Callable[[], Aliases]) -> Aliases:
        """The aliases of a space, cached or loaded.

        Args:
            space: The space.
            load: Loads them from the store.
        """
        # Taken before loading: a change meanwhile makes the entry stale.
        revision = self.revision.number
        known = self._spaces.get(space)
        if known is not None and known[0] == revision:
            return known[1]
        found = load()
        if len(self._spaces) >= MAX_CACHED_SPACES:
            self._spaces.clear()
        self._spaces[space] = revision, found
        return found


@dataclass(slots=True)
class SettingsCache:
    """The settings of each space, and when they were read on the monotonic clock."""

    spaces: dict[str, tuple[float, Settings]] = field(
        default_factory=dict[str, tuple[float, Settings]]
    )
    loading: threading.Lock = field(default_factory=threading.Lock)
    """Held while reading, so that old values never replace newer ones."""

    def clear(self) -> None:
        """Invalidate the settings of every space."""
        with self.loading:
            self.spaces.clear()


class AccessCounts:
    """Recalls per memory id that are not written to the store yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def add(self, ids: Iterable[str], times: int = 1) -> None:
        """Count recalls of some memories."""
        with self._lock:
            for id in ids:
                self._counts[id] = self._counts.get(id, 0) + times

    def take(self) -> dict[str, int]:
        """Remove and return all counts."""
        with self._lock:
            counts, self._counts = self._counts, {}
        return counts
