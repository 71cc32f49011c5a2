"""What someone else could replace: the embedder, the index, the notes, as the steps see them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hippocampe.types import Note

Vector = NDArray[np.float32]
"""Shape (dimensions,), L2-normalised."""
Vectors = NDArray[np.float32]
"""Shape (texts, dimensions), each row L2-normalised."""

KINDS = ("memory", "turn", "live", "note")
"""The kinds of points an index holds, each in a collection of its own."""


@dataclass(frozen=True, slots=True)
class Point:
    """One thing to index. Times are seconds since the epoch; `expires_at` None means never."""

    id: str
    dense: Vector
    text: str
    space: str
    collection: str
    at: float
    type: str | None = None
    category: str | None = None
    subjects: tuple[str, ...] = ()
    user: str | None = None
    channel: str | None = None
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which points may be found. An empty `space` or an empty `collections` matches nothing.

    `types` and `subjects` match any of the given values; `category`, `user` and `channel` match
    exactly; `since` (inclusive) and `until`
    (exclusive) are seconds since the epoch; points whose `expires_at` is at or before `now`
    are never found; `ids` leaves only these points.
    """

    space: str
    collections: tuple[str, ...]
    now: float
    types: tuple[str, ...] | None = None
    subjects: tuple[str, ...] | None = None
    category: str | None = None
    user: str | None = None
    channel: str | None = None
    since: float | None = None
    until: float | None = None
    ids: frozenset[str] | None = None

    @property
    def narrowed(self) -> bool:
        """Whether more than space, collections and time of expiry restricts it."""
        others = (self.types, self.subjects, self.category, self.user, self.channel)
        return any(each is not None for each in (*others, self.since, self.until, self.ids))


@dataclass(frozen=True, slots=True)
class Hit:
    """An indexed point that matched, with its cosine or BM25 score."""

    id: str
    score: float


class Embedder(Protocol):
    """Text to vectors. Thread-safe."""

    @property
    def model(self) -> str:
        """The id stored with every vector: same id, same vector space."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def dedup_threshold(self) -> float:
        """The cosine above which two statements are worth comparing by rule."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts as documents.

        Raises:
            EmbedderUnavailable: It cannot be reached or loaded.
        """
        ...

    def embed_query(self, text: str, words: Sequence[str] = ()) -> tuple[Vector, Vectors]:
        """Embed a query, and words that are new to the data, in one call.

        Raises:
            EmbedderUnavailable: It cannot be reached or loaded.
        """
        ...


class Index(Protocol):
    """The derived index: one collection of points per kind. Thread-safe.

    Every method may raise `IndexUnavailable`; the store is the truth and goes on without it.
    """

    def apply(self, kind: str, points: Sequence[Point], removed: Sequence[str] = ()) -> None:
        """Insert or replace points and remove ids; visible to searches on return."""
        ...

    def nearest(self, kind: str, vector: Vector, *, limit: int, where: Filter) -> list[Hit]:
        """The points of highest cosine, best first."""
        ...

    def matching(self, kind: str, text: str, *, limit: int, where: Filter) -> list[Hit]:
        """The points of highest BM25 score over French and English stems, best first."""
        ...

    def ids(self, kind: str) -> Iterator[str]:
        """Every id indexed, in no order."""
        ...

    def count(self, kind: str) -> int: ...

    def flush(self) -> None:
        """Make everything applied so far durable."""
        ...

    def close(self) -> None: ...


class NoteSource(Protocol):
    """Where notes are read from. Used by one thread at a time."""

    @property
    def name(self) -> str:
        """What tells it from other kinds of sources; at most 200 characters."""
        ...

    def listing(self) -> Mapping[str, str]:
        """The notes there are: a version by path, which differs once a note was written.

        An empty version says that only reading tells. Paths are relative, with slashes, in NFC.

        Raises:
            NotesUnavailable: They cannot be listed now.
        """
        ...

    def read(self, path: str) -> Note:
        """One note of the last listing.

        Raises:
            NotFound: It has gone since.
            UnreadableFile: It cannot be read, whatever is tried again.
            NotesUnavailable: No note can be read now.
        """
        ...

    def close(self) -> None: ...
