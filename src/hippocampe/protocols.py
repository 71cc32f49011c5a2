"""Declare the replaceable parts: embedder, index, note source, language model.

`hippocampe.testing` has a contract test class for embedders and for indexes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hippocampe.types import Note

Vector = NDArray[np.float32]
"""Shape (dimensions,), L2-normalised."""
Vectors = NDArray[np.float32]
"""Shape (texts, dimensions), each row L2-normalised."""

T = TypeVar("T")

KINDS = ("memory", "turn", "live", "note")
"""The kinds of points in an index, each in its own collection."""
TALK = ("turn", "live")
"""The kinds that are talk."""

_POINT_ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_point_id(id: str) -> bool:
    """Return whether an id can be indexed: a UUID in lower case, the form in which engines return it."""
    return _POINT_ID.fullmatch(id) is not None


@dataclass(frozen=True, slots=True)
class Point:
    """One item to index. Times are seconds since the epoch; `expires_at` None means never."""

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
    """A restriction of the points that a search may return. An empty `space` or `collections` matches nothing.

    `types` and `subjects` match any of the given values; `category`, `user` and `channel` match
    exactly; `since` (inclusive) and `until` (exclusive) are seconds since the epoch. Points whose
    `expires_at` is at or before `now` never match. `ids` restricts the search to these points.
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
        """Return whether the filter restricts more than space, collections and expiry."""
        others = (self.types, self.subjects, self.category, self.user, self.channel)
        return any(each is not None for each in (*others, self.since, self.until, self.ids))


class Hit(NamedTuple):
    """An indexed point that matched, with its cosine or BM25 score."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Search:
    """One search of a kind: by `vector`, or by the words of `text`."""

    kind: str
    where: Filter
    limit: int
    vector: Vector | None = None
    text: str = ""


class Embedder(Protocol):
    """Text to vectors. Thread-safe."""

    @property
    def model(self) -> str:
        """The id stored with every vector. Equal ids mean comparable vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of the vectors."""
        ...

    @property
    def dedup_threshold(self) -> float:
        """The cosine above which two statements are compared by rule."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts as documents.

        Args:
            texts: Any strings, empty and malformed ones included.

        Returns:
            Shape (len(texts), dimensions), each row L2-normalised.

        Raises:
            EmbedderUnavailable: The model cannot be reached or loaded.
        """
        ...

    def embed_query(self, text: str, words: Sequence[str] = ()) -> tuple[Vector, Vectors]:
        """Embed a query, and the words the store does not know yet, in one call.

        Returns:
            The query, shape (dimensions,), and the words, shape (len(words), dimensions).

        Raises:
            EmbedderUnavailable: The model cannot be reached or loaded.
        """
        ...


class Index(Protocol):
    """The derived index: one collection of points per kind. Thread-safe.

    Every method may raise `IndexUnavailable`; the store is the truth and works without the index.
    """

    def apply(self, kind: str, points: Sequence[Point], removed: Sequence[str] = ()) -> None:
        """Insert or replace points and remove ids; visible to searches on return.

        An id in both `points` and `removed` ends up removed. Points whose id `is_point_id`
        rejects are logged and skipped, so that no stored row can keep a folder from opening.

        Raises:
            EmbedderMismatch: A vector has other dimensions than the index; nothing was changed.
        """
        ...

    def nearest(self, kind: str, vector: Vector, *, limit: int, where: Filter) -> list[Hit]:
        """Return the points of highest cosine, best first, ties by id."""
        ...

    def matching(self, kind: str, text: str, *, limit: int, where: Filter) -> list[Hit]:
        """Return the points of highest BM25 score over the stems of all languages, best first."""
        ...

    def search(self, searches: Sequence[Search]) -> list[list[Hit]]:
        """Return the hits of several searches, each as of `nearest` or `matching`; a server answers them at once."""
        ...

    def ids(self, kind: str) -> Iterator[str]:
        """Iterate over all indexed ids, in no order; concurrent changes may be missed."""
        ...

    def count(self, kind: str) -> int:
        """Count the indexed points."""
        ...

    def differing(self, kind: str, points: Iterable[Point]) -> Iterator[str]:
        """Compare stored points with the index's answers; yield the ids that differ.

        Vectors are equal within half precision. A point that is not indexed differs; one whose id
        `is_point_id` rejects is skipped.
        """
        ...

    def damaged_files(self, *, stop: Callable[[], bool]) -> Iterator[str]:
        """Yield the names of damaged files, until `stop` returns true.

        Only files whose damage `differing` would not reveal.
        """
        ...

    def flush(self) -> float:
        """Make applied changes durable; return the monotonic time up to which all are."""
        ...

    def close(self) -> None:
        """Release all resources; later calls raise `IndexUnavailable`."""
        ...


class OwnIndex(Index, Protocol):
    """An index in files of this process, in generations.

    A generation is a new index of one kind, built from a snapshot of the store while the current
    one serves. Call `start_generation`, take the snapshot, `build` it (here or, with
    `hippocampe.index.build_generation`, in another process), then `adopt_generation`. One thread
    at a time handles the generations of a kind.
    """

    def is_unused(self, kind: str) -> bool:
        """Return whether the kind has no files to rebuild, because it never had a point."""
        ...

    def ungraphed(self, kind: str) -> int:
        """Count the points that a new graph would add to those in a graph."""
        ...

    def start_generation(self, kind: str) -> Path:
        """Start a generation and record all later changes of its kind.

        A generation that was already started is abandoned. Take the snapshot after this call, so
        that each change is in the snapshot, or recorded, or both.

        Returns:
            The target to give to `build`.
        """
        ...

    def build(self, target: Path, *, dimensions: int, points: Iterable[Point], graph: bool) -> int:
        """Fill a started generation.

        Args:
            target: The return value of `start_generation`.
            dimensions: Length of the dense vectors.
            points: A snapshot of all points of the kind.
            graph: Whether to build an HNSW graph, which takes minutes and blocks the process: use
                `build_generation` in a child process.

        Returns:
            The number of points read.
        """
        ...

    def adopt_generation(self, kind: str) -> None:
        """Apply the recorded changes to the built generation and serve from it.

        Searches go on without interruption.

        Raises:
            IndexUnavailable: No generation was started, or it cannot be used. It is abandoned
                and the current one goes on serving.
        """
        ...

    def abandon_generation(self, kind: str) -> None:
        """Delete the started generation, if any; its builder must have ended."""
        ...

    def read_ahead(self, *, stop: Callable[[], bool]) -> None:
        """Load what searches read into memory or the page cache, until `stop` returns true."""
        ...


class NoteSource(Protocol):
    """A source of notes. Used by one thread at a time."""

    @property
    def name(self) -> str:
        """Identifies the kind of source; at most 200 characters."""
        ...

    def listing(self) -> Mapping[str, str]:
        """List the notes: a version by path, which changes when the note is written.

        An empty version means that only reading the note shows whether it changed. Paths are
        relative, with slashes, in NFC.

        Raises:
            NotesUnavailable: The notes cannot be listed now.
        """
        ...

    def read(self, path: str) -> Note:
        """Read one note of the last listing.

        Raises:
            NotFound: The note was deleted since.
            UnreadableFile: The note cannot be read; a retry would not help.
            NotesUnavailable: No note can be read now.
        """
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A structured answer of a language model, with its cost.

    `value` is None if no attempt had the requested form; `model` is the one that answered; `price` is
    in US dollars, None if unknown.
    """

    value: T | None
    model: str
    input_tokens: int
    output_tokens: int
    price: float | None


class LanguageModel(Protocol):
    """A language model for background work: one structured answer per call. Thread-safe."""

    @property
    def name(self) -> str:
        """The model, as configured: `openai:gpt-5-mini`."""
        ...

    def answer(self, instructions: str, prompt: str, output: type[T]) -> Answer[T]:
        """Answer once, with retries and the fallback model.

        An answer without the requested form has the same cost, so it is returned too, without a value.

        Args:
            instructions: The system prompt, in the language of the space.
            prompt: The user prompt.
            output: A dataclass whose fields form the answer.

        Raises:
            ModelUnavailable: No model gave an answer in time.
            InvalidAnswer: The model refused this request, such as one longer than it can read.
        """
        ...

    def close(self) -> None:
        """Cancel the calls under way and release all resources. Idempotent."""
        ...
