"""The words of the data: their vectors in RAM, and in how many items of a space each occurs.

Word vectors are kept in the store and grow as new words come. Counts are made from the store when
a space is first asked about, and kept up by this process's own writes; another process's writes
only make them a little old, and they only weigh words.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hippocampe.protocols import Embedder, Vectors
from hippocampe.store import derived
from hippocampe.store.store import Store
from hippocampe.text import STOP_WORDS, words
from hippocampe.topics import topics_of
from hippocampe.words import WordSpace

MAX_WORDS_PER_TEXT = 2_000
MAX_WORD_CHARACTERS = 60


def text_words(text: str) -> list[str]:
    """The folded words of a text in order, repeats kept, the first 2,000.

    Stop words are left out unless there is nothing else; words past 60 characters are cut: they are
    links or noise.
    """
    spoken = words(text)
    kept = [word for word in spoken if word not in STOP_WORDS] or spoken
    return [word[:MAX_WORD_CHARACTERS] for word in kept[:MAX_WORDS_PER_TEXT]]


@dataclass(slots=True)
class _Counts:
    items: int
    of_word: NDArray[np.int32]


@dataclass(slots=True)
class Lexicon:
    """The words of one database, for one embedder. Thread-safe."""

    store: Store
    embedder: Embedder
    space: WordSpace
    _ids: dict[str, int] = field(default_factory=dict[str, int])
    _last: int = 0
    _matrix: NDArray[np.float32] = field(init=False)
    _topics: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    _counts: dict[str, _Counts] = field(default_factory=dict[str, _Counts])
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        sample = np.ones((1, self.embedder.dimensions), np.float32)
        self._matrix = np.zeros((0, self.space.place(sample).shape[1]), np.float32)

    def refresh(self) -> None:
        """Take in the words that the store has and RAM lacks."""
        with self._lock, self.store.read() as connection:
            found = derived.words_after(connection, self.embedder.model, self._last)
            self._take(*found)

    def _take(self, ids: list[int], texts: list[str], raw: NDArray[np.float16]) -> None:
        if ids:
            placed = self.space.place(raw.astype(np.float32))
            self._reserve(ids[-1] + 1, placed.shape[1])
            self._matrix[ids] = placed
            self._topics[ids] = np.array([topics_of(word) for word in texts], np.uint64)
            self._ids.update(zip(texts, ids, strict=True))
            self._last = ids[-1]

    def _reserve(self, rows: int, dimensions: int) -> None:
        if rows > len(self._matrix):
            grown = np.zeros((max(rows, 2 * len(self._matrix), 1024), dimensions), np.float32)
            rows_added = len(grown) - len(self._matrix)
            if len(self._matrix):
                grown[: len(self._matrix)] = self._matrix
            self._matrix = grown
            self._topics = np.concatenate([self._topics, np.zeros(rows_added, np.uint64)])

    def vectors_of(self, words: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Unit vectors by word id, shape (capacity, dimensions), that cover all of these words."""
        if len(words) and int(words.max()) > self._last:
            # Another process of the same store learnt them.
            self.refresh()
        return self._matrix

    def topics_of(self, words: NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
        """The topics of words, as bits, in the order of their ids."""
        self.vectors_of(words)
        return self._topics[words]

    def unknown(self, texts: Iterable[str]) -> list[str]:
        """The distinct words among these that have no vector yet."""
        return [word for word in dict.fromkeys(texts) if word not in self._ids]

    def ids(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """The ids of known words; unknown ones are left out."""
        known = (self._ids.get(word) for word in texts)
        return np.array([id for id in known if id is not None], np.int32)

    def learn(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Keep the vectors of new words, shape (words, embedder dimensions).

        In a transaction of its own: a word without an item does no harm.
        """
        if not texts:
            return
        model = self.embedder.model
        with self.store.exclusive(), self._lock:
            new = [number for number, word in enumerate(texts) if word not in self._ids]
            if not new:
                return
            with self.store.write() as connection:
                derived.add_words(connection, model, [texts[n] for n in new], vectors[new])
                found = derived.words_after(connection, model, self._last)
            self._take(*found)

    def place(self, vectors: Vectors) -> NDArray[np.float32]:
        """Raw word embeddings as the unit vectors that `matrix` holds."""
        return self.space.place(vectors)

    def count(self, space: str, words: NDArray[np.int32], by: int) -> None:
        """Count an item's words in (`by` 1) or out (-1)."""
        with self._lock:
            counts = self._counts.get(space)
            if counts is None:
                return
            if len(words) and int(words.max()) >= len(counts.of_word):
                grown = np.zeros(max(len(self._matrix), int(words.max()) + 1), np.int32)
                grown[: len(counts.of_word)] = counts.of_word
                counts.of_word = grown
            counts.of_word[np.unique(words)] += by
            counts.items += by

    def frequencies(self, space: str, words: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
        """In how many items of a space each word occurs, and how many items there are."""
        with self._lock:
            counts = self._counts.get(space)
            if counts is None:
                counts = self._counts[space] = self._load(space)
            of_word = counts.of_word
            known = np.where(words < len(of_word), words, 0)
            found = np.where(words < len(of_word), of_word[known], 0) if len(of_word) else words * 0
            return found.astype(np.int32), counts.items

    def _load(self, space: str) -> _Counts:
        with self.store.read() as connection:
            lists = list(derived.word_lists(connection, self.embedder.model, space))
        joined = np.concatenate(lists) if lists else np.zeros(0, np.int32)
        owners = np.repeat(np.arange(len(lists)), [len(words) for words in lists])
        width = max(len(self._matrix), 1)
        distinct = np.unique(owners * width + joined) % width
        of_word = np.bincount(distinct, minlength=width).astype(np.int32)
        return _Counts(len(lists), of_word)

    def forget(self) -> None:
        """Drop everything in RAM; it is read again from the store."""
        with self._lock:
            self._ids = {}
            self._counts.clear()
            self._last = 0
            # As large as before: who reads meanwhile still finds a row for every id.
            self._matrix = np.zeros_like(self._matrix)
            self.refresh()
