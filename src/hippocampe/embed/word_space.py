"""Word vectors of one embedder, made comparable: centred, projected, quantised."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WordSpace:
    """A transformation that makes an embedder's word vectors comparable.

    Attributes:
        mean: Shape (dimensions,). Subtracted, because sentence embedders give all short texts a
            common direction.
        projection: Shape (dimensions, fewer), or None to keep all dimensions.
    """

    mean: Floats
    projection: Floats | None = None

    def place(self, vectors: Floats) -> Floats:
        """Centre, project and L2-normalise word vectors of shape (words, dimensions)."""
        centred = vectors - self.mean
        if self.projection is not None:
            centred = centred @ self.projection
        norms = np.linalg.norm(centred, axis=1, keepdims=True)
        return (centred / np.maximum(norms, 1e-9)).astype(np.float32)

    def digest(self) -> str:
        """Identify the space: only vectors placed in the same space are comparable."""
        held = self.mean if self.projection is None else np.vstack([self.mean, self.projection.T])
        return hashlib.blake2b(held.tobytes(), digest_size=8).hexdigest()


def is_literal(word: str) -> bool:
    """Return whether a word only matches itself: the vectors of 2019 and 2020 are near."""
    return any(map(str.isdigit, word))


def signature(word: str, dimensions: int) -> Floats:
    """A pseudo-random unit vector for a literal word, shape (dimensions,)."""
    drawn = np.frombuffer(hashlib.shake_256(word.encode()).digest(dimensions), np.uint8)
    centred = drawn - np.float32(127.5)
    return centred / np.float32(np.linalg.norm(centred))


@dataclass(slots=True)
class WordVectors:
    """Unit vectors of many words, quantised to int8.

    Gathering the vectors of a query's candidates takes half as long as with float16. The mean error
    of a cosine is 0.0006; the cosine of a word with itself is 1.

    Attributes:
        steps: Shape (words, dimensions): integers from -127 to 127.
        scales: Shape (words,): factors that make unit vectors of them.
    """

    steps: NDArray[np.int8]
    scales: Floats

    @classmethod
    def of(cls, vectors: NDArray[np.floating]) -> WordVectors:
        """Quantise vectors of shape (words, dimensions)."""
        exact = vectors.astype(np.float32)
        largest = np.abs(exact).max(axis=1, keepdims=True, initial=1e-9)
        steps = np.rint(exact * (127.0 / largest)).astype(np.int8)
        norms = np.linalg.norm(steps.astype(np.float32), axis=1)
        return cls(steps, (1.0 / np.maximum(norms, 1.0)).astype(np.float32))

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, words: NDArray[np.integer[Any]]) -> Floats:
        """The unit vectors of words, shape (words, dimensions)."""
        return self.steps.take(words, axis=0) * self.scales[words, None]

    def cosines(self, query: Floats, words: NDArray[np.integer[Any]]) -> Floats:
        """Cosines of query vectors with words, shape (query, words)."""
        steps = self.steps.take(words, axis=0).astype(np.float32)
        # This way round, the product of a few words with many takes half the time.
        return np.multiply((steps @ query.T).T, self.scales[words], order="C")


@functools.cache
def shipped(model: str) -> WordSpace | None:
    """The word space shipped with the package for an embedder, if there is one."""
    source = resources.files("hippocampe") / "data" / "word_spaces.npz"
    if not source.is_file():
        return None
    with source.open("rb") as file, np.load(file) as spaces:
        if f"{model}/mean" not in spaces:
            return None
        mean, projection = spaces[f"{model}/mean"], spaces[f"{model}/projection"]
    return WordSpace(mean.astype(np.float32), projection.astype(np.float32))
