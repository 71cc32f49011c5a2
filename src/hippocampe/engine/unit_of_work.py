"""One store transaction and its changes to the index."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from hippocampe.engine.vocabulary import NewWords, Prepared, Vocabulary
from hippocampe.protocols import Filter, Point, Vector
from hippocampe.store import embeddings, outbox
from hippocampe.store.embeddings import Embedded, Words
from hippocampe.store.outbox import Pending


@dataclass(slots=True)
class UnitOfWork:
    """The changes of one transaction, to the store and then to the index."""

    connection: Connection
    vocabulary: Vocabulary
    points: dict[tuple[str, str], Point] = field(default_factory=dict[tuple[str, str], Point])
    removed: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    counted: list[tuple[str, NDArray[np.int32], int]] = field(
        default_factory=list[tuple[str, NDArray[np.int32], int]]
    )
    later: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    learnt: list[Words] = field(default_factory=list[Words])
    """New words of the transaction."""
    queued: Sequence[int] = ()
    """The numbers of its outbox rows, without those of pending rows."""
    pending: dict[tuple[str, str], Pending] = field(default_factory=dict[tuple[str, str], Pending])
    """The outbox rows of what is indexed later, by kind and id."""
    _fresh: dict[str, int] = field(default_factory=dict[str, int])
    _written: NewWords | None = None
    _rows: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Vector rows to store, by row id."""

    @property
    def model(self) -> str:
        """The id of the embedder."""
        return self.vocabulary.embedder.model

    def embedded(self, prepared: Prepared) -> Embedded:
        """Replace the words of a text by their ids; new words are stored."""
        if prepared.new is not self._written:
            self._written = prepared.new
            self._add(prepared.new)
        words = self.vocabulary.ids(prepared.words, self._fresh)
        if len(words) < len(prepared.words):
            self._add(self.vocabulary.erased_since(prepared, self._fresh))
            words = self.vocabulary.ids(prepared.words, self._fresh)
        return Embedded(prepared.dense, words, prepared.traits)

    def _add(self, new: NewWords) -> None:
        if added := self.vocabulary.add(self.connection, new, self._fresh):
            self.learnt = added
            pairs = (zip(words.texts, words.ids, strict=True) for words in added)
            self._fresh = dict(chain.from_iterable(pairs))

    def index(self, kind: str, point: Point, prepared: Prepared | None = None) -> None:
        """Index a point; with `prepared`, store its new embedding too."""
        self.removed.pop((kind, point.id), None)
        self.points[kind, point.id] = point
        if prepared is not None:
            embedded = self.embedded(prepared)
            row = embeddings.vector_row(point.id, self.model, kind, point.space, embedded)
            self._rows[point.id] = row
            self.counted.append((point.space, embedded.words, 1))

    def remove_embeddings(self, ids: Collection[str]) -> None:
        """Remove the stored embeddings of rows, also those by an embedder which is taking over."""
        removed = embeddings.remove_vectors(self.connection, self.model, ids)
        self.counted += [(space, words, -1) for space, words in removed]

    def dense(self, kind: str, id: str) -> Vector | None:
        """The vector of a row, from this transaction or from the store."""
        point = self.points.get((kind, id))
        if point is not None:
            return point.dense
        stored = embeddings.vectors(self.connection, self.model, [id]).get(id)
        return None if stored is None else stored.dense

    def near(self, kind: str, dense: Vector, where: Filter) -> dict[str, float]:
        """Cosines of the points of this transaction that match a filter, by id."""
        found = [
            point
            for (of, _), point in self.points.items()
            if of == kind
            and point.space == where.space
            and point.collection in where.collections
            and where.category in (None, point.category)
            and (point.expires_at is None or point.expires_at > where.now)
        ]
        if not found:
            return {}
        cosines = np.stack([point.dense for point in found]) @ dense
        return dict(zip((point.id for point in found), cosines.tolist(), strict=True))

    def unindex(self, kind: str, id: str, space: str) -> None:
        """Remove a point from the index; its stored embedding stays."""
        self.points.pop((kind, id), None)
        self.removed[kind, id] = space

    def index_later(self, kind: str, id: str, space: str) -> None:
        """Mark a new row as pending: `backlog.embed_or_wait` embeds and indexes it after the commit."""
        self.later[kind, id] = space

    def finish(self) -> None:
        """Write the embeddings and the outbox rows."""
        embeddings.put_vectors(self.connection, list(self._rows.values()))
        queued = [(kind, point.id, point.space) for (kind, _), point in self.points.items()]
        queued += [(kind, id, space) for (kind, id), space in self.removed.items()]
        late = [(kind, id, space) for (kind, id), space in self.later.items()]
        numbers = outbox.queue(self.connection, [*queued, *late])
        self.queued = numbers[: len(queued)]
        self.pending = {
            (kind, id): Pending(number, kind, id, space)
            for number, (kind, id, space) in zip(numbers[len(queued) :], late, strict=True)
        }

    def may_touch_memories(self) -> bool:
        """Return whether memories may have changed; an import indexes them later."""
        return "memory" in self.kinds() or not (self.kinds() or self.later)

    def kinds(self) -> set[str]:
        return {kind for kind, _ in (*self.points, *self.removed)}
