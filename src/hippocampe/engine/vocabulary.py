"""The vocabulary: word vectors in RAM, and the document frequency of each word per space.

The store keeps the word vectors, placed in the word space of the embedder. A word with a digit is
not embedded: it only matches itself. Document frequencies are loaded when a space is first queried and
updated by the writes of this process. They only weigh words, so being slightly stale is harmless.
"""

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from secrets import token_hex
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from hippocampe.embed.word_space import WordSpace, WordVectors, is_literal, signature
from hippocampe.language.text import keywords, without_capitals
from hippocampe.language.topics import topics_of
from hippocampe.language.traits import traits
from hippocampe.protocols import Embedder, Vector, Vectors
from hippocampe.store import embeddings, meta
from hippocampe.store.store import Store

MAX_WORDS_PER_TEXT = 2_000
MAX_WORD_CHARACTERS = 60
COUNTS_BYTES = 64 << 20
"""Memory limit of all document frequencies; the least recently queried space is evicted first. A space takes
four bytes per known word."""
COUNTED_AGAIN = 20_000
"""Items of a space up to which another process's writes cause a recount, which takes 30 ms."""
_NONE: Mapping[str, int] = MappingProxyType({})


def note_erasure(connection: Connection) -> str:
    """Mark, in the transaction that erases, that other processes must reload their words before they write.

    Returns:
        The mark.
    """
    mark = token_hex(8)
    meta.put(connection, meta.LAST_ERASURE, mark)
    return mark


def text_words(text: str) -> list[str]:
    """The first 2,000 `keywords` of a text. Words are cut at 60 characters: longer ones are links or noise."""
    return [word[:MAX_WORD_CHARACTERS] for word in keywords(text)[:MAX_WORDS_PER_TEXT]]


def spoken(texts: Iterable[str]) -> list[str]:
    """The words to embed: those without a digit."""
    return [word for word in texts if not is_literal(word)]


class NewWords(NamedTuple):
    """Distinct new words with their placed vectors, shape (words, width)."""

    texts: list[str]
    placed: NDArray[np.float32]


class Known(NamedTuple):
    """The words known at one moment; a later erasure does not change it."""

    ids: Mapping[str, int]
    vectors: WordVectors


class Prepared(NamedTuple):
    """A text, embedded, whose new words are not stored yet.

    `dense` is float32 of shape (dimensions,), `words` are its words in order, `traits` the bits of
    `text.traits`, and `new` the new words of all texts that were embedded together; `known` holds
    the others. `parts` are the vectors of its facts, if it tells several.
    """

    dense: Vector
    words: list[str]
    traits: int
    new: NewWords
    known: Known
    parts: tuple[Vector, ...] = ()


@dataclass(slots=True)
class _Counts:
    items: int
    of_word: NDArray[np.int32]


@dataclass(slots=True)
class Vocabulary:
    """The vocabulary of one database and embedder. Thread-safe."""

    store: Store
    embedder: Embedder
    space: WordSpace
    _ids: dict[str, int] = field(default_factory=dict[str, int])
    _last: int = 0
    _last_erasure: str | None = None
    """The mark of the last erasure before the words were loaded."""
    _vectors: WordVectors = field(init=False)
    _topics: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    _counts: dict[str, _Counts] = field(default_factory=dict[str, _Counts])
    _means: dict[frozenset[str], NDArray[np.float32]] = field(
        default_factory=dict[frozenset[str], NDArray[np.float32]]
    )
    _lock: threading.RLock = field(default_factory=threading.RLock)
    counting: threading.Lock = field(default_factory=threading.Lock)
    """Held by a writer from its commit until its words are counted, so that a reader that loads counts
    sees both or neither. Taken before `_lock`."""
    _loading: threading.Lock = field(default_factory=threading.Lock)
    _meanwhile: tuple[str, list[tuple[NDArray[np.int32], int]]] | None = None
    """The space whose counts are being loaded, and the counts added since the load began."""

    def __post_init__(self) -> None:
        sample = np.ones((1, self.embedder.dimensions), np.float32)
        self._vectors = WordVectors.of(np.zeros((0, self.space.place(sample).shape[1]), np.float32))

    @property
    def width(self) -> int:
        """Dimensions of the placed vectors."""
        return self._vectors.steps.shape[1]

    def refresh(self) -> None:
        """Load the words that the store has and RAM lacks.

        Raises:
            EmbedderUnavailable: The stored vectors were placed in another word space, so every word
                must be embedded again, and cannot be.
        """
        with self._lock:
            if not self.store.read_only:
                self._replace_outdated()
            with self.store.read(whole=True) as connection:
                if self._last == 0 and self.store.shared:
                    self._last_erasure = meta.get(connection, meta.LAST_ERASURE)
                self._reserve(embeddings.last_word(connection) + 1)
                for new in self._new(connection):
                    self._take(new)

    def forget_erased(self, connection: Connection) -> None:
        """Reload the words if another process has erased some since, which its message may not have said yet.

        Args:
            connection: A transaction of a shared database, under the lock of its writers.
        """
        if meta.get(connection, meta.LAST_ERASURE) != self._last_erasure:
            self.forget()

    def follow(self, spaces: Collection[str] | None = None) -> None:
        """Take over the writes of another process to some spaces; None for all.

        The counts of spaces of more than `COUNTED_AGAIN` items stay slightly stale: they only weigh words.
        """
        with self._lock:
            with self.store.read() as connection:
                last = next(reversed(self._ids.items()), None)
                erased = last is not None and not embeddings.is_word(connection, last[1], last[0])
                if self.store.shared:
                    erased |= meta.get(connection, meta.LAST_ERASURE) != self._last_erasure
            if erased:
                # Its id may belong to another word now.
                self.forget()
                return
            large = {
                space: each
                for space, each in self._counts.items()
                if each.items > COUNTED_AGAIN or (spaces is not None and space not in spaces)
            }
            self._counts = large
            self.refresh()

    @property
    def _digest_name(self) -> str:
        return f"word_space {self.embedder.model}"

    def is_outdated(self) -> bool:
        """Return whether the stored vectors were placed in another word space."""
        with self.store.read() as connection:
            stored = meta.get(connection, self._digest_name)
            return stored != self.space.digest() and embeddings.last_word(connection) > 0

    def _replace_outdated(self) -> None:
        """Embed every word again if this version places them in another word space."""
        name, digest = self._digest_name, self.space.digest()
        with self.store.read() as connection:
            if meta.get(connection, name) == digest:
                return
            known = list(embeddings.words_after(connection, self.embedder.model, 0))
        ids = [id for batch, _, _ in known for id in batch]
        texts = [text for _, batch, _ in known for text in batch]
        vectors = self.embedder.embed(spoken(texts)) if texts else np.zeros((0, 1), np.float32)
        with self.store.write() as connection:
            embeddings.replace_words(connection, ids, self.place(texts, vectors))
            meta.put(connection, name, digest)

    def embed_again(self, known: Sequence[tuple[int, str]]) -> None:
        """Embed words again, given by id and text, because their stored vectors are damaged."""
        texts = [text for _, text in known]
        placed = self.place(texts, self.embedder.embed(spoken(texts)))
        with self.store.write() as connection:
            rows = [
                row
                for row, (id, text) in enumerate(known)
                if embeddings.is_word(connection, id, text)
            ]
            embeddings.replace_words(connection, [known[row][0] for row in rows], placed[rows])
        self.forget()

    def _new(self, connection: Connection) -> Iterator[embeddings.Words]:
        return embeddings.words_after(connection, self.embedder.model, self._last)

    def _take(self, new: embeddings.Words) -> None:
        self._reserve(new.ids[-1] + 1)
        taken = WordVectors.of(new.placed)
        self._vectors.steps[new.ids] = taken.steps
        self._vectors.scales[new.ids] = taken.scales
        self._topics[new.ids] = np.array([topics_of(word) for word in new.texts], np.uint64)
        self._ids.update(zip(new.texts, new.ids, strict=True))
        self._last = max(self._last, new.ids[-1])

    def _reserve(self, rows: int) -> None:
        if rows > len(self._vectors):
            # Grow by a quarter, so that new words rarely copy the array.
            more = max(rows + rows // 4, 1024) - len(self._vectors)
            steps = np.pad(self._vectors.steps, ((0, more), (0, 0)))
            self._topics = np.pad(self._topics, (0, more))
            self._vectors = WordVectors(steps, np.pad(self._vectors.scales, (0, more)))

    def known_ids(self, words: NDArray[np.int32]) -> NDArray[np.int32]:
        """Stored word ids; ids made up by damage become 0, which is no word."""
        self.vectors_of(words)
        sound = (words >= 0) & (words <= self._last)
        return words if sound.all() else np.where(sound, words, 0)

    def vectors_of(self, words: NDArray[np.integer[Any]]) -> WordVectors:
        """Vectors by word id, covering at least these words."""
        if len(words) and int(words.max()) > self._last:
            # Another process added them.
            self.refresh()
        return self._vectors

    def topics_of(self, words: NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
        """The topic bits of words, in the order given."""
        self.vectors_of(words)
        return self._topics[words]

    def known(self) -> Known:
        """A snapshot of the known words."""
        # Vectors first: `forget` drops the ids before it replaces the vectors.
        vectors = self._vectors
        return Known(self._ids, vectors)

    def unknown(self, texts: Iterable[str], known: Known | None = None) -> list[str]:
        """The distinct words without a vector, now or in the snapshot `known`."""
        ids, vectors = known or self.known()
        rows = len(vectors)
        return [word for word in dict.fromkeys(texts) if ids.get(word, rows) >= rows]

    def prepare(
        self, texts: Sequence[str], contents: Sequence[str] | None = None
    ) -> list[Prepared]:
        """Embed texts, and the new words of their contents or else of themselves, outside any transaction."""
        contents = contents or texts
        word_lists = [text_words(content) for content in contents]
        known = self.known()
        unknown = self.unknown((word for words in word_lists for word in words), known)
        vectors = self.embedder.embed([*map(without_capitals, texts), *spoken(unknown)])
        new = NewWords(unknown, self.place(unknown, vectors[len(texts) :]))
        return [
            Prepared(vectors[number], words, traits(contents[number]), new, known)
            for number, words in enumerate(word_lists)
        ]

    def erased_since(self, prepared: Prepared, fresh: Mapping[str, int] = _NONE) -> NewWords:
        """The words of a text that were erased after it was embedded."""
        distinct = dict.fromkeys(prepared.words)
        texts = [word for word in distinct if word not in self._ids and word not in fresh]
        rows = np.array([prepared.known.ids[word] for word in texts], np.int32)
        return NewWords(texts, prepared.known.vectors[rows])

    def ids(self, texts: Sequence[str], fresh: Mapping[str, int] = _NONE) -> NDArray[np.int32]:
        """The ids of known and `fresh` words; unknown words are dropped."""
        known = (self._ids.get(word) or fresh.get(word) for word in texts)
        return np.array([id for id in known if id is not None], np.int32)

    def add(
        self, connection: Connection, new: NewWords, fresh: Mapping[str, int] = _NONE
    ) -> list[embeddings.Words]:
        """Store new words in the transaction of their items.

        Args:
            new: New words; those known by now are skipped.
            fresh: Words that the transaction has added already.

        Returns:
            All words added by the transaction, to give to `take` after the commit; empty if none
            was new.
        """
        texts, placed = new
        missing = [n for n, w in enumerate(texts) if w not in self._ids and w not in fresh]
        if not missing:
            return []
        words = [texts[number] for number in missing]
        embeddings.add_words(connection, self.embedder.model, words, placed[missing])
        return list(self._new(connection))

    def take(self, stored: Iterable[embeddings.Words]) -> None:
        """Add committed words to RAM."""
        with self._lock:
            for words in stored:
                self._take(words)

    def place(self, texts: Sequence[str], vectors: Vectors) -> NDArray[np.float32]:
        """Place words in the word space: unit vectors of shape (words, width).

        Args:
            vectors: Embeddings of the `spoken` ones, shape (words, embedder dimensions).
        """
        placed = np.zeros((len(texts), self.width), np.float32)
        literal = [is_literal(word) for word in texts]
        if not all(literal):
            placed[~np.array(literal)] = self.space.place(vectors)
        for row, word in enumerate(texts):
            if literal[row]:
                placed[row] = signature(word, self.width)
        return placed

    def mean(self, words: frozenset[str]) -> NDArray[np.float32]:
        """The mean of some words of the program in the word space, a unit vector: what means the same is near it."""
        if words not in self._means:
            listed = sorted(words)
            placed = self.place(listed, self.embedder.embed(listed))
            mean = placed.mean(axis=0)
            self._means[words] = mean / np.linalg.norm(mean)
        return self._means[words]

    def count(self, space: str, words: NDArray[np.int32], by: int) -> None:
        """Add (`by` 1) or remove (-1) the words of an item."""
        with self._lock:
            if self._meanwhile is not None and self._meanwhile[0] == space:
                self._meanwhile[1].append((words, by))
            if (counts := self._counts.get(space)) is not None:
                self._add(counts, words, by)

    def _add(self, counts: _Counts, words: NDArray[np.int32], by: int) -> None:
        if by < 0:
            # As in `_counted`: the words of a damaged row.
            words = words[(words >= 0) & (words < len(counts.of_word))]
        if len(words) and int(words.max()) >= len(counts.of_word):
            grown = np.zeros(max(len(self._vectors), int(words.max()) + 1), np.int32)
            grown[: len(counts.of_word)] = counts.of_word
            counts.of_word = grown
        counts.of_word[list(set(words.tolist()))] += by
        counts.items += by

    def frequencies(self, space: str, words: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
        """The number of items of a space with each word, and the number of items.

        The first query of a space reads all its word lists, without blocking writers.
        """
        while True:
            with self._lock:
                if (counts := self._counts.pop(space, None)) is not None:
                    # Least recently used first.
                    self._counts[space] = counts
                    of_word = counts.of_word
                    self._drop_oldest(of_word.nbytes)
                    known = np.where(words < len(of_word), words, 0)
                    found = np.where(words < len(of_word), of_word[known], 0)
                    return found.astype(np.int32), counts.items
            self._load(space)

    def counts(self, space: str, words: Iterable[str]) -> dict[str, int]:
        """The number of items of a space with each of some folded words, without those that none has."""
        ids = self._ids
        known = {word: ids[word] for word in words if word in ids}
        found, _ = self.frequencies(space, np.array(list(known.values()), np.int32))
        return {word: count for word, count in zip(known, found.tolist(), strict=True) if count}

    def is_counted(self, space: str) -> bool:
        """Return whether the document frequencies of a space are loaded."""
        return space in self._counts

    def _load(self, space: str) -> None:
        with self._loading:
            if space in self._counts:
                return
            before, meanwhile = self._counts, list[tuple[NDArray[np.int32], int]]()
            try:
                with self.store.read(whole=True) as connection:
                    with self.counting:
                        # The first rows fix the snapshot.
                        lists = embeddings.word_lists(connection, self.embedder.model, space)
                        first = next(lists, list[bytes]())
                        self._meanwhile = space, meanwhile
                    last = embeddings.last_word(connection)
                    counts = _counted(chain((first,), lists), max(len(self._vectors), last + 1))
                with self._lock:
                    for words, by in meanwhile:
                        self._add(counts, words, by)
                    # Discard the counts if `forget` ran meanwhile.
                    if self._counts is before:
                        self._counts[space] = counts
                    self._meanwhile = None
            finally:
                self._meanwhile = None

    def _drop_oldest(self, each: int) -> None:
        while len(self._counts) > 1 and len(self._counts) * each > COUNTS_BYTES:
            del self._counts[next(iter(self._counts))]

    def forget(self) -> None:
        """Drop everything in RAM and reload it from the store."""
        with self._lock:
            self._ids = {}
            # A new dict tells a running load that its counts are stale.
            self._counts = {}
            self._last = 0
            # Keep the size: concurrent readers still find a row for every id.
            empty = np.zeros_like(self._vectors.steps)
            self._vectors = WordVectors(empty, np.zeros_like(self._vectors.scales))
            self._topics = np.zeros_like(self._topics)
            self.refresh()


def _counted(batches: Iterable[Sequence[bytes]], width: int) -> _Counts:
    """The document frequencies of word lists, for ids below `width`; larger ones are damaged."""
    counts = _Counts(0, np.zeros(width, np.int32))
    for lists in batches:
        joined, lengths = embeddings.unpack_words(lists)
        owners = np.repeat(np.arange(len(lists)), lengths)
        if joined.min(initial=0) < 0 or joined.max(initial=0) >= width:
            sound = (joined >= 0) & (joined < width)
            joined, owners = joined[sound], owners[sound]
        distinct = np.unique(owners * width + joined) % width
        counts.of_word += np.bincount(distinct, minlength=width).astype(np.int32)
        counts.items += len(lists)
    return counts
