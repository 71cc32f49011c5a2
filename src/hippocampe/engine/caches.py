"""In-memory state about the store: aliases, recall counts and rows. Thread-safe."""

import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from weakref import WeakMethod

from sqlalchemy import Connection

from hippocampe.language.names import Aliases
from hippocampe.store import memories, statements
from hippocampe.store.store import Store

T = TypeVar("T")
MAX_CACHED_SPACES = 1_000
"""Spaces whose aliases are cached."""
MAX_ROWS = 75_000
"""Rows in memory, of some 1.8 KB with their vectors."""


@dataclass(slots=True)
class AliasCache:
    """The aliases of each space, reloaded once this process, which owns the database, has changed memories."""

    store: Store
    _spaces: dict[str, tuple[int, Aliases]] = field(default_factory=dict[str, tuple[int, Aliases]])

    def of(self, space: str, connection: Connection | None = None) -> Aliases:
        """The other names of each name of a space, as `statements.aliases` gives them.

        Args:
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

    def clear(self) -> None:
        """Drop the aliases of all spaces."""
        self._spaces.clear()


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


class CachedRows(Generic[T]):
    """Rows in memory, as one transaction may use them."""

    def __init__(self, rows: "RowCache[T]") -> None:
        self._rows = rows
        self._changes = rows.changes

    def find(self, kind: str, ids: Iterable[str]) -> dict[str, T]:
        """The rows of a kind that are in memory, by id, in the order of the ids."""
        known = self._rows.rows.get(kind, {})
        return {id: row for id in ids if (row := known.get(id)) is not None}

    def put(self, kind: str, rows: Mapping[str, T]) -> None:
        """Keep rows that the transaction has read, unless there was a change since: it may not have seen it."""
        self._rows.put(kind, rows, self._changes)


class RowCache(Generic[T]):
    """Rows of a store that only this process changes, in memory until it does. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self.rows: dict[str, dict[str, T]] = {}
        """By kind and id; several kinds may be made of one row of the store."""
        self.changes = 0
        self._lock = threading.Lock()
        # Weak: with another embedder, another cache takes the place of this one.
        store.watchers.append(WeakMethod(self.drop))

    @classmethod
    def of(cls, store: Store) -> "RowCache[Any] | None":
        """The cache of a store; None if other processes write to it, too."""
        return None if store.shared else cls(store)

    def put(self, kind: str, rows: Mapping[str, T], changes: int) -> None:
        """Add rows, read when there had been as many changes; see `CachedRows.put`."""
        with self._lock:
            if changes != self.changes:
                return
            self.rows.setdefault(kind, {}).update(rows)
            while sum(map(len, self.rows.values())) > MAX_ROWS:
                largest = max(self.rows.values(), key=len)
                del largest[next(iter(largest))]

    def drop(self, ids: Collection[str] | None) -> None:
        """Drop changed rows; None drops all."""
        with self._lock:
            self.changes += 1
            if ids is None:
                self.rows.clear()
                return
            for rows in self.rows.values():
                for id in ids:
                    rows.pop(id, None)
