"""The index of a read-only process: an exact search over the vectors in the store.

A process that does not own the data folder must not open the owner's index. It loads the vectors
and words of a space from the store at the first search, caches them in RAM, and reloads the rows
that the outbox names as changed.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from hippocampe.errors import EmbedderMismatch, IndexUnavailable, StoreReadOnly
from hippocampe.index.bm25 import AVERAGE_LENGTH, LENGTH_SHARE, SATURATION, sparse_query, terms_of
from hippocampe.index.points import one_by_one
from hippocampe.protocols import Filter, Hit, Point, Search, Vector
from hippocampe.store import embeddings, meta, outbox, shown
from hippocampe.store.store import Store

log = logging.getLogger("hippocampe")

LARGE_SPACE = 200_000
"""Items per space above which a search takes tens of milliseconds and the vectors 400 MB."""
CACHE_BYTES = 1 << 30
"""Limit for the cached vectors of all spaces; least recently searched spaces are evicted."""

Rows = NDArray[np.intp]
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Items:
    """The items of a kind and space, sorted by id, one column per field of a filter.

    `dense` has shape (items, dimensions); `spoken` has one array of word ids per item.
    """

    ids: NDArray[np.object_]
    dense: NDArray[np.float32]
    spoken: NDArray[np.object_]
    collection: NDArray[np.object_]
    type: NDArray[np.object_]
    category: NDArray[np.object_]
    user: NDArray[np.object_]
    channel: NDArray[np.object_]
    at: NDArray[np.float64]
    expires_at: NDArray[np.float64]

    def taken(self, rows: Any) -> "_Items":
        return _Items(*(getattr(self, each.name)[rows] for each in fields(self)))

    def joined(self, other: "_Items") -> "_Items":
        names = [each.name for each in fields(self)]
        return _Items(*(np.concatenate([getattr(self, n), getattr(other, n)]) for n in names))

    def sorted(self) -> "_Items":
        return self.taken(np.argsort(self.ids, kind="stable"))

    def allowed(self, where: Filter, about: Collection[str] | None) -> NDArray[np.bool_]:
        """A mask of the items that match a filter; `about` has the ids of those with its subjects, if it names any."""
        left = _among(self.collection, where.collections) & (self.expires_at > where.now)
        if where.types is not None:
            left &= _among(self.type, where.types)
        if about is not None:
            left &= _among(self.ids, about)
        for name in ("category", "user", "channel"):
            if (wanted := getattr(where, name)) is not None:
                left &= getattr(self, name) == wanted
        if where.since is not None:
            left &= self.at >= where.since
        if where.until is not None:
            left &= self.at < where.until
        if where.ids is not None:
            left &= _among(self.ids, where.ids)
        return left


@dataclass(frozen=True, slots=True)
class _Postings:
    """Posting lists: the items of each word, repeated by count.

    The items of word `n` are `rows[starts[n]:starts[n + 1]]`; `norms` is the length normalisation
    of BM25, per item.
    """

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    norms: NDArray[np.float64]

    @classmethod
    def of(cls, spoken: NDArray[np.object_]) -> "_Postings":
        lengths = np.array([len(words) for words in spoken], np.float64)
        flat = np.concatenate([np.zeros(0, np.int32), *spoken])
        order = np.argsort(flat, kind="stable")
        counts = np.bincount(flat) if len(flat) else np.zeros(0, np.int64)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        norms = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * lengths / AVERAGE_LENGTH)
        rows = np.repeat(np.arange(len(spoken)), lengths.astype(np.int64))
        return cls(rows[order], starts, norms.astype(np.float64))

    def scores(self, query: Sequence[tuple[Sequence[int], float]]) -> Scores:
        """The BM25 score of each item.

        Args:
            query: For each term, the ids of its words, and its weight.
        """
        items = len(self.norms)
        scores = np.zeros(items, np.float64)
        for words, weight in query:
            known = [word for word in words if word + 1 < len(self.starts)]
            found = [self.rows[self.starts[word] : self.starts[word + 1]] for word in known]
            if not found:
                continue
            counts = np.bincount(np.concatenate(found), minlength=items)
            holding = np.count_nonzero(counts)
            rarity = np.log(1 + (items - holding + 0.5) / (holding + 0.5))
            scores += weight * rarity * counts * (SATURATION + 1) / (counts + self.norms)
        return scores


@dataclass(frozen=True, slots=True)
class _Shelf:
    """The cached items of a kind and space, as of one outbox position."""

    position: int
    items: _Items
    postings: _Postings


class StoredIndex:
    """The `Index` Protocol over a store opened read-only. Thread-safe.

    Results differ from the owner's index in two ways: the search is exact, and the inverse document
    frequency of a word is that of its space, not of all spaces. Methods that write raise
    `StoreReadOnly`.

    Args:
        store: Opened read-only.
    """

    def __init__(self, store: Store, *, model: str, dimensions: int) -> None:
        self._store = store
        self._model = model
        self._dimensions = dimensions
        self._shelves: dict[tuple[str, str], _Shelf] = {}
        self._words: dict[int, list[int]] = {}
        """Word ids by term."""
        self._last: tuple[int, str] | None = None
        """The last word in `_words`: id and text."""
        self._warned: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._closed = False

    def nearest(self, kind: str, vector: Vector, *, limit: int, where: Filter) -> list[Hit]:
        found = self._found(kind, where)
        if found is None:
            return []
        shelf, rows = found
        return _best(shelf.items.ids, (shelf.items.dense @ vector)[rows], rows, limit)

    def matching(self, kind: str, text: str, *, limit: int, where: Filter) -> list[Hit]:
        found = self._found(kind, where)
        if found is None:
            return []
        shelf, rows = found
        terms, weights = sparse_query(text)
        with self._lock:
            query = [
                (self._words.get(term, []), weight)
                for term, weight in zip(terms, weights, strict=True)
            ]
        scores = shelf.postings.scores(query)[rows]
        return _best(shelf.items.ids, scores[scores > 0], rows[scores > 0], limit)

    def search(self, searches: Sequence[Search]) -> list[list[Hit]]:
        return one_by_one(self, searches)

    def ids(self, kind: str) -> Iterator[str]:
        self._check_open()
        with self._store.read() as connection:
            return iter(shown.embedded_ids(connection, kind, self._model))

    def count(self, kind: str) -> int:
        self._check_open()
        with self._store.read() as connection:
            return shown.embedded_count(connection, kind, self._model)

    def flush(self) -> float:
        """See `Index.flush`: nothing was written."""
        return 0.0

    def apply(self, kind: str, points: Sequence[Point], removed: Sequence[str] = ()) -> NoReturn:
        raise StoreReadOnly("cannot write: the data was opened read-only.")

    def differing(self, kind: str, points: Iterable[Point]) -> Iterator[str]:
        """Yield nothing: searches read the store itself."""
        return iter(())

    def damaged_files(self, *, stop: Callable[[], bool]) -> Iterator[str]:
        """Yield nothing: this index has no files."""
        return iter(())

    def close(self) -> None:
        """Drop the cached vectors; later calls raise `IndexUnavailable`."""
        self._closed = True
        with self._lock:
            self._shelves.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise IndexUnavailable("the index cannot be used: it was closed. Open it again.")

    def _found(self, kind: str, where: Filter) -> tuple[_Shelf, Rows] | None:
        """The items of a kind and space, and the rows that match a filter; None if none do."""
        self._check_open()
        if not where.space or not where.collections:
            return None
        about = None
        with self._store.read(whole=True) as connection:
            if where.subjects is not None:
                named = [shown.about(connection, where.space, name) for name in where.subjects]
                about = {id for ids in named for id in ids}
            with self._lock:
                shelf = self._shelf(connection, kind, where.space)
        rows = np.flatnonzero(shelf.items.allowed(where, about))
        return (shelf, rows) if len(rows) else None

    def _shelf(self, connection: Connection, kind: str, space: str) -> _Shelf:
        model = meta.get(connection, "model")
        if model != self._model:
            raise EmbedderMismatch(
                f"another process changed the embedder from {self._model} to {model}: open the "
                "folder again."
            )
        position = outbox.last_position(connection)
        shelf = self._shelves.pop((kind, space), None)
        if shelf is None or shelf.position != position:
            shelf = self._read(connection, kind, space, shelf, position)
            self._learn_words(connection)
        self._shelves[kind, space] = shelf
        held = sum(each.items.dense.nbytes for each in self._shelves.values())
        while len(self._shelves) > 1 and held > CACHE_BYTES:
            oldest = self._shelves.pop(next(iter(self._shelves)))
            held -= oldest.items.dense.nbytes
        return shelf

    def _read(
        self, connection: Connection, kind: str, space: str, old: _Shelf | None, position: int
    ) -> _Shelf:
        items = None
        if old is not None:
            changes = outbox.pending(connection, old.position)
            # If the owner has acknowledged rows, some changes are unknown: reload.
            if len(changes) == position - old.position:
                ids = {each.item_id for each in changes if (each.kind, each.space) == (kind, space)}
                if not ids:
                    return _Shelf(position, old.items, old.postings)
                unchanged = old.items.taken(~_among(old.items.ids, ids))
                items = unchanged.joined(self._load(connection, kind, space, sorted(ids))).sorted()
        if items is None:
            items = self._load(connection, kind, space).sorted()
        if len(items.ids) > LARGE_SPACE and (kind, space) not in self._warned:
            self._warned.add((kind, space))
            log.warning(
                "%s items of kind %s in one space are scanned, because the folder was opened read-only: "
                "the process that owns it searches them faster",
                f"{len(items.ids):,}",
                kind,
            )
        return _Shelf(position, items, _Postings.of(items.spoken))

    def _load(
        self, connection: Connection, kind: str, space: str, ids: Sequence[str] | None = None
    ) -> _Items:
        columns: list[list[Any]] = [[] for _ in fields(_Items)]
        dense = [np.zeros((0, self._dimensions), np.float32)]
        for rows in shown.searched(connection, kind, self._model, space, ids):
            for column, values in zip(columns, zip(*rows, strict=True), strict=False):
                column += values
            dense.append(embeddings.unpack_all(columns[1], self._dimensions))
            columns[1].clear()
        id, _, words, collection, type, category, user, channel, at, expires_at = columns
        joined, lengths = embeddings.unpack_words(words)
        # Larger ids are damaged: 0 is not a word.
        joined = np.where((joined > 0) & (joined <= embeddings.last_word(connection)), joined, 0)
        ends = accumulate(lengths, initial=0)
        spoken = _objects([joined[start:end] for start, end in pairwise(ends)])
        return _Items(
            _objects(id),
            np.concatenate(dense),
            spoken,
            _objects(collection),
            _objects(type),
            _objects(category),
            _objects(user),
            _objects(channel),
            np.array(at, np.float64) / 1e6,
            np.array([np.inf if each is None else each for each in expires_at], np.float64) / 1e6,
        )

    def _learn_words(self, connection: Connection) -> None:
        """Add the words stored since the last call to the words by term."""
        if self._last is not None and not embeddings.is_word(connection, *self._last):
            # Erased; SQLite may reuse its id for another word.
            self._words, self._last = {}, None
        after = self._last[0] if self._last else 0
        for id, text in embeddings.word_texts(connection, self._model, after):
            self._last = (id, text)
            for term in terms_of(text):
                self._words.setdefault(term, []).append(id)


def _among(column: NDArray[np.object_], values: Collection[str]) -> NDArray[np.bool_]:
    wanted = set(values)
    return np.fromiter((each in wanted for each in column), np.bool_, len(column))


def _objects(values: Sequence[Any]) -> NDArray[np.object_]:
    column = np.empty(len(values), np.object_)
    column[:] = values
    return column


def _best(ids: NDArray[np.object_], scores: Any, rows: Rows, limit: int) -> list[Hit]:
    """The rows of highest score; `rows` is sorted by id, so ties are too."""
    if limit < 1 or not len(rows):
        return []
    if len(rows) > limit:
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        scores, rows = scores[scores >= least], rows[scores >= least]
    order = np.argsort(-scores, kind="stable")[:limit]
    return [Hit(str(ids[rows[n]]), float(scores[n])) for n in order]
