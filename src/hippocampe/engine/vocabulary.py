"""The words of the data: their vectors in RAM, and in how many items of a space each occurs.

Word vectors are kept in the store, placed in the word space of the embedder, and grow as new words
come. A word with a digit is not embedded: it only matches itself. Counts are made from the store when
a space is first asked about, and kept up by this process's own writes; another process's writes
only make them a little old, and they only weigh words.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from hippocampe.embed.word_space import WordSpace, WordVectors, is_literal, signature
from hippocampe.language.text import STOP_WORDS, words
from hippocampe.language.topics import topics_of
from hippocampe.protocols import Embedder, Vector, Vectors
from hippocampe.store import embeddings, meta
from hippocampe.store.store import Store

MAX_WORDS_PER_TEXT = 2_000
MAX_WORD_CHARACTERS = 60
COUNTS_BYTES = 64 << 20
"""What the counts of all spaces may take; those of the space asked longest ago are dropped first.
One takes four bytes for every word that is known."""
COUNTED_AGAIN = 20_000
"""Items of a space whose words are counted again, in 30 ms, when another process has written."""
_NONE: Mapping[str, int] = MappingProxyType({})


def text_words(text: str) -> list[str]:
    """The folded words of a text in order, repeats kept, the first 2,000.

    Stop words are left out unless there is nothing else; words past 60 characters are cut: they are
    links or noise.
    """
    spoken = words(text)
    kept = [word for word in spoken if word not in STOP_WORDS] or spoken
    return [word[:MAX_WORD_CHARACTERS] for word in kept[:MAX_WORDS_PER_TEXT]]


def spoken(texts: Iterable[str]) -> list[str]:
    """The words among these that an embedder is asked about."""
    return [word for word in texts if not is_literal(word)]


class NewWords(NamedTuple):
    """Words that were unknown when they were embedded: distinct, and placed, shape (words, width)."""

    texts: list[str]
    placed: NDArray[np.float32]


class Known(NamedTuple):
    """The words that were known at one moment; an erasure that comes later leaves it as it is."""

    ids: Mapping[str, int]
    vectors: WordVectors


class Prepared(NamedTuple):
    """A text, embedded, whose new words are not stored yet.

    `dense` is float32 of shape (dimensions,), `words` are its words in order, `traits` the bits of
    `text.traits`, and `new` the new words of all texts that were embedded together; `known` holds
    the others.
    """

    dense: Vector
    words: list[str]
    traits: int
    new: NewWords
    known: Known


@dataclass(slots=True)
class _Counts:
    items: int
    of_word: NDArray[np.int32]


@dataclass(slots=True)
class Vocabulary:
    """The words of one database, for one embedder. Thread-safe."""

    store: Store
    embedder: Embedder
    space: WordSpace
    _ids: dict[str, int] = field(default_factory=dict[str, int])
    _last: int = 0
    _vectors: WordVectors = field(init=False)
    _topics: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    _counts: dict[str, _Counts] = field(default_factory=dict[str, _Counts])
    _lock: threading.RLock = field(default_factory=threading.RLock)
    counting: threading.Lock = field(default_factory=threading.Lock)
    """Held by a writer from its commit until it has counted, so that whoever begins to read counts
    sees both or neither. Taken before `_lock`."""
    _loading: threading.Lock = field(default_factory=threading.Lock)
    _meanwhile: tuple[str, list[tuple[NDArray[np.int32], int]]] | None = None
    """The space whose counts are being read, and what was counted since the reading began."""

    def __post_init__(self) -> None:
        sample = np.ones((1, self.embedder.dimensions), np.float32)
        self._vectors = WordVectors.of(np.zeros((0, self.space.place(sample).shape[1]), np.float32))

    @property
    def width(self) -> int:
        """Dimensions of the placed vectors."""
        return self._vectors.steps.shape[1]

    def refresh(self) -> None:
        """Take in the words that the store has and RAM lacks.

        Raises:
            EmbedderUnavailable: The stored vectors were placed in another word space, so every word
                must be embedded again, and cannot be.
        """
        with self._lock:
            if not self.store.read_only:
                self._replace_outdated()
            with self.store.read(whole=True) as connection:
                self._reserve(embeddings.last_word(connection) + 1)
                for new in self._new(connection):
                    self._take(new)

    def follow(self) -> None:
        """Take in what another process has written to the store.

        The counts of spaces of more than `COUNTED_AGAIN` items are left a little old: they only weigh
        words.
        """
        with self._lock:
            with self.store.read() as connection:
                last = next(reversed(self._ids.items()), None)
                erased = last is not None and not embeddings.is_word(connection, last[1], last[0])
            if erased:
                # Its id may be another word's now.
                self.forget()
                return
            large = {s: each for s, each in self._counts.items() if each.items > COUNTED_AGAIN}
            self._counts = large
            self.refresh()

    @property
    def _digest_name(self) -> str:
        return f"word_space {self.embedder.model}"

    def is_outdated(self) -> bool:
        """Whether the stored vectors were placed in another word space."""
        with self.store.read() as connection:
            stored = meta.get(connection, self._digest_name)
            return stored != self.space.digest() and embeddings.last_word(connection) > 0

    def _replace_outdated(self) -> None:
        """Embed every word again if a new version of ours places them otherwise."""
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
            # A quarter more, so that a new word seldom copies them all.
            more = max(rows + rows // 4, 1024) - len(self._vectors)
            steps = np.pad(self._vectors.steps, ((0, more), (0, 0)))
            self._topics = np.pad(self._topics, (0, more))
            self._vectors = WordVectors(steps, np.pad(self._vectors.scales, (0, more)))

    def vectors_of(self, words: NDArray[np.integer[Any]]) -> WordVectors:
        """Vectors by word id, that cover all of these words."""
        if len(words) and int(words.max()) > self._last:
            # Another process of the same store learnt them.
            self.refresh()
        return self._vectors

    def topics_of(self, words: NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
        """The topics of words, as bits, in the order of their ids."""
        self.vectors_of(words)
        return self._topics[words]

    def known(self) -> Known:
        """The words that are known now."""
        # The vectors first: `forget` drops the ids before it replaces the vectors.
        vectors = self._vectors
        return Known(self._ids, vectors)

    def unknown(self, texts: Iterable[str], known: Known | None = None) -> list[str]:
        """The distinct words among these that have no vector, now or in `known`."""
        ids = self._ids
        if known is not None:
            rows = len(known.vectors)
            return [w for w in dict.fromkeys(texts) if known.ids.get(w, rows) >= rows]
        return [word for word in dict.fromkeys(texts) if word not in ids]

    def erased_since(self, prepared: Prepared, fresh: Mapping[str, int] = _NONE) -> NewWords:
        """The words of a text that were known when it was embedded, and are no more."""
        distinct = dict.fromkeys(prepared.words)
        texts = [word for word in distinct if word not in self._ids and word not in fresh]
        rows = np.array([prepared.known.ids[word] for word in texts], np.int32)
        return NewWords(texts, prepared.known.vectors[rows])

    def ids(self, texts: Sequence[str], fresh: Mapping[str, int] = _NONE) -> NDArray[np.int32]:
        """The ids of known words, and of `fresh` ones; unknown ones are left out."""
        known = (self._ids.get(word) or fresh.get(word) for word in texts)
        return np.array([id for id in known if id is not None], np.int32)

    def add(
        self, connection: Connection, new: NewWords, fresh: Mapping[str, int] = _NONE
    ) -> list[embeddings.Words]:
        """Write new words beside the items that hold them.

        Args:
            connection: Of the transaction.
            new: Words, of which those that are known by now are left out.
            fresh: What the transaction has added already.

        Returns:
            All that the transaction has added, for `take` once it is committed; nothing if these
            words were known.
        """
        texts, placed = new
        missing = [n for n, w in enumerate(texts) if w not in self._ids and w not in fresh]
        if not missing:
            return []
        words = [texts[number] for number in missing]
        embeddings.add_words(connection, self.embedder.model, words, placed[missing])
        return list(self._new(connection))

    def take(self, stored: Iterable[embeddings.Words]) -> None:
        """Hold words that were committed."""
        with self._lock:
            for words in stored:
                self._take(words)

    def place(self, texts: Sequence[str], vectors: Vectors) -> NDArray[np.float32]:
        """Words as the unit vectors that `vectors_of` gives.

        Args:
            texts: The words.
            vectors: Embeddings of those that are `spoken`, shape (words, embedder dimensions).
        """
        placed = np.zeros((len(texts), self.width), np.float32)
        literal = [is_literal(word) for word in texts]
        if not all(literal):
            placed[~np.array(literal)] = self.space.place(vectors)
        for row, word in enumerate(texts):
            if literal[row]:
                placed[row] = signature(word, self.width)
        return placed

    def count(self, space: str, words: NDArray[np.int32], by: int) -> None:
        """Count an item's words in (`by` 1) or out (-1)."""
        with self._lock:
            if self._meanwhile is not None and self._meanwhile[0] == space:
                self._meanwhile[1].append((words, by))
            if (counts := self._counts.get(space)) is not None:
                self._add(counts, words, by)

    def _add(self, counts: _Counts, words: NDArray[np.int32], by: int) -> None:
        if len(words) and int(words.max()) >= len(counts.of_word):
            grown = np.zeros(max(len(self._vectors), int(words.max()) + 1), np.int32)
            grown[: len(counts.of_word)] = counts.of_word
            counts.of_word = grown
        counts.of_word[list(set(words.tolist()))] += by
        counts.items += by

    def frequencies(self, space: str, words: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
        """In how many items of a space each word occurs, and how many items there are.

        The first question about a space reads all of its word lists; writers go on meanwhile.
        """
        while True:
            with self._lock:
                if (counts := self._counts.pop(space, None)) is not None:
                    # The space asked last is dropped last.
                    self._counts[space] = counts
                    of_word = counts.of_word
                    self._drop_oldest(of_word.nbytes)
                    known = np.where(words < len(of_word), words, 0)
                    found = np.where(words < len(of_word), of_word[known], 0)
                    return found.astype(np.int32), counts.items
            self._load(space)

    def is_counted(self, space: str) -> bool:
        """Whether the words of a space are counted, so that asking about them is fast."""
        return space in self._counts

    def _load(self, space: str) -> None:
        with self._loading:
            if space in self._counts:
                return
            before, meanwhile = self._counts, list[tuple[NDArray[np.int32], int]]()
            try:
                with self.store.read(whole=True) as connection:
                    with self.counting:
                        # The first rows pin what is read to this moment.
                        lists = embeddings.word_lists(connection, self.embedder.model, space)
                        first = next(lists, list[bytes]())
                        self._meanwhile = space, meanwhile
                    counts = _counted(chain((first,), lists), max(len(self._vectors), 1))
                with self._lock:
                    for words, by in meanwhile:
                        self._add(counts, words, by)
                    # If all was forgotten meanwhile, what was read is outdated.
                    if self._counts is before:
                        self._counts[space] = counts
                    self._meanwhile = None
            finally:
                self._meanwhile = None

    def _drop_oldest(self, each: int) -> None:
        while len(self._counts) > 1 and len(self._counts) * each > COUNTS_BYTES:
            del self._counts[next(iter(self._counts))]

    def forget(self) -> None:
        """Drop everything in RAM; it is read again from the store."""
        with self._lock:
            self._ids = {}
            # Another one, by which counts that are being read are known to be outdated.
            self._counts = {}
            self._last = 0
            # As large as before: who reads meanwhile still finds a row for every id.
            empty = np.zeros_like(self._vectors.steps)
            self._vectors = WordVectors(empty, np.zeros_like(self._vectors.scales))
            self._topics = np.zeros_like(self._topics)
            self.refresh()


def _counted(batches: Iterable[Sequence[bytes]], width: int) -> _Counts:
    """The counts of word lists; ids are below `width`, or the counts grow."""
    counts = _Counts(0, np.zeros(width, np.int32))
    for lists in batches:
        joined = np.frombuffer(b"".join(lists), embeddings.WORD_IDS)
        width = max(len(counts.of_word), int(joined.max(initial=0)) + 1)
        lengths = [len(words) // embeddings.WORD_IDS.itemsize for words in lists]
        owners = np.repeat(np.arange(len(lists)), lengths)
        distinct = np.unique(owners * width + joined) % width
        of_word = np.bincount(distinct, minlength=width).astype(np.int32)
        of_word[: len(counts.of_word)] += counts.of_word
        counts.of_word = of_word
        counts.items += len(lists)
    return counts
