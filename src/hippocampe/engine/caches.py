"""In-memory state about the store: aliases and recall counts. Thread-safe."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection

from hippocampe.store import memories, statements
from hippocampe.store.store import Store

MAX_CACHED_SPACES = 1_000
"""Spaces whose aliases are cached."""
Aliases = Mapping[str, frozenset[str]]
"""The other names of each name of a space."""


@dataclass(slots=True)
class AliasCache:
    """The aliases of each space, reloaded once this process, which owns the database, has changed memories."""

    store: Store
    _spaces: dict[str, tuple[int, Aliases]] = field(default_factory=dict[str, tuple[int, Aliases]])

    def of(self, space: str, connection: Connection | None = None) -> Aliases:
        """The other names of each name of a space, as `statements.aliases` gives them.

        Args:
            space: The space.
            connection: A transaction that has written no memory, to read them in.
        """
        # Taken before loading: a change meanwhile makes the entry stale.
        changes = self.store.memory_changes
        known = self._spaces.get(space)
        if known is not None and known[0] == changes:
            return known[1]
        if connection is not None:
            found = statements.aliases(connection, space)
        else:
            with self.store.read() as own:
                found = statements.aliases(own, space)
        if len(self._spaces) >= MAX_CACHED_SPACES:
            self._spaces.clear()
        self._spaces[space] = changes, found
        return found


class AccessCounts:
    """Recalls per memory that are not written to the store yet. A read-only process counts none."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def add(self, ids: Iterable[str], times: int = 1) -> None:
        """Count recalls of some memories."""
        if self._store.read_only:
            return
        with self._lock:
            for id in ids:
                self._counts[id] = self._counts.get(id, 0) + times

    def flush(self) -> None:
        """Write the counts to the store."""
        with self._lock:
            counts, self._counts = self._counts, {}
        if not counts:
            return
        try:
            # Not durable: the counts were only in memory until now.
            with self._store.fenced(None), self._store.write(durable=False) as connection:
                memories.touch(connection, counts, self._store.now())
        except BaseException:
            for id, times in counts.items():
                self.add([id], times)
            raise
