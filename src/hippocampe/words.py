"""Late interaction: how well each word of a query is met by the words of many texts.

A sentence vector blurs a text into one point; comparing word by word keeps what matters, and word
vectors of the same embedder let "holiday" meet "vacation". This is ColBERT's MaxSim (Khattab and
Zaharia, 2020) over one vector per distinct word, so nothing is stored per text but word ids.

Everything is vectorised over the texts: they come as one flat array of word ids and the offsets at
which each begins.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

FLOOR: Final = 0.4
"""Cosines below this say nothing: most pairs of unrelated words lie under it."""
SAME: Final = 0.999
"""A cosine from which two words are one."""
BLOCK: Final = 16
"""Words in half a passage. Passages of a long text overlap by half."""


@dataclass(frozen=True, slots=True)
class WordSpace:
    """What turns an embedder's word vectors into comparable ones.

    Attributes:
        mean: Shape (dimensions,). Sentence embedders give all short texts a common direction;
            without it unrelated words are far apart.
        projection: Shape (dimensions, fewer), or None to keep every dimension.
    """

    mean: Floats
    projection: Floats | None = None

    def place(self, vectors: Floats) -> Floats:
        """Word vectors of shape (words, dimensions), centred, projected and L2-normalised."""
        centred = vectors - self.mean
        if self.projection is not None:
            centred = centred @ self.projection
        norms = np.linalg.norm(centred, axis=1, keepdims=True)
        return (centred / np.maximum(norms, 1e-9)).astype(np.float32)

    def digest(self) -> str:
        """The same for the same space: vectors placed in another one are not comparable."""
        held = self.mean if self.projection is None else np.vstack([self.mean, self.projection.T])
        return hashlib.blake2b(held.tobytes(), digest_size=8).hexdigest()


def is_literal(word: str) -> bool:
    """Whether a word only matches itself: 2019 and 2020 are near by meaning, and not the same."""
    return any(map(str.isdigit, word))


def signature(word: str, dimensions: int) -> Floats:
    """The unit vector of a literal word, far from that of every other word, shape (dimensions,)."""
    drawn = np.frombuffer(hashlib.shake_256(word.encode()).digest(dimensions), np.uint8)
    centred = drawn - np.float32(127.5)
    return centred / np.float32(np.linalg.norm(centred))


@dataclass(slots=True)
class WordVectors:
    """Unit vectors of many words, a byte per dimension: gathering those of a question's candidates
    takes half as long as from half precision. Cosines are 0.0006 off on average, that of a word
    with itself is 1.

    Attributes:
        steps: Shape (words, dimensions): whole numbers, -127 to 127.
        scales: Shape (words,): what makes them unit vectors.
    """

    steps: NDArray[np.int8]
    scales: Floats

    @classmethod
    def of(cls, vectors: NDArray[np.floating]) -> WordVectors:
        """Vectors of shape (words, dimensions), as near as bytes come."""
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
        """Of each vector of `query` with each of these words: shape (query, words)."""
        steps = self.steps.take(words, axis=0).astype(np.float32)
        return (query @ steps.T) * self.scales[words]


@dataclass(frozen=True, slots=True)
class Texts:
    """The words of many texts, in order of appearance.

    Attributes:
        ids: Shape (all words,): row of each word in the matrix of word vectors.
        starts: Shape (texts + 1,): text i is `ids[starts[i]:starts[i + 1]]`.
    """

    ids: Integers
    starts: Integers

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, slots=True)
class Matches:
    """How texts meet a query, word by word. `own` texts are the first ones, read more closely.

    Attributes:
        words: Shape (texts, query words): best cosine of each query word in each text, 0 to 1,
            0 under the floor.
        passages: Shape (own,): share of the query's rarity met within one passage, 0 to 1.
        phrases: Shape (own,): share of the query's neighbouring word pairs found side by side,
            0 to 1.
        mass: Shape (own,): sum over the text's words of what each meets of the query.
        exact: Shape (own,): how many of the text's words are in the query.
    """

    words: Floats
    passages: Floats
    phrases: Floats
    mass: Floats
    exact: Floats


def match(
    query: Floats,
    rarity: Floats,
    literal: NDArray[np.bool_],
    vectors: WordVectors,
    texts: Texts,
    own: int,
) -> Matches:
    """Compare query words with the words of texts.

    Args:
        query: Shape (query words, dimensions), normalised vectors of the query's words in order.
        rarity: Shape (query words,), inverse document frequencies.
        literal: Shape (query words,), true for words that only match themselves (numbers).
        vectors: Of all known words.
        texts: The texts to look in.
        own: How many texts, from the first, to read closely.

    Returns:
        The best match of every query word in every text, and the rest for the first `own` texts.
    """
    if not len(query):
        none = np.zeros(own, dtype=np.float32)
        return Matches(np.zeros((len(texts), 0), dtype=np.float32), none, none, none, none)
    cosines = _cosines(query, literal, vectors, texts.ids)
    starts = texts.starts[: own + 1]
    powers = _cubed(cosines[:, : int(starts[-1])])
    spoken = (powers * (rarity / max(float(rarity.max()), 1e-9))[:, None]).max(axis=0)
    total = np.append(np.float32(0), np.cumsum(spoken))
    same = np.append(0, np.cumsum((cosines[:, : int(starts[-1])] >= SAME).any(axis=0)))
    return Matches(
        words=_largest(cosines, texts.starts).T,
        passages=_passages(powers, rarity, starts),
        phrases=_phrases(powers, rarity, starts),
        mass=(total[starts[1:]] - total[starts[:-1]]).astype(np.float32),
        exact=(same[starts[1:]] - same[starts[:-1]]).astype(np.float32),
    )


def late(words: Floats, rarity: Floats) -> Floats:
    """Share of the query's rarity that texts meet: sum of idf · cos³ over the sum of idf.

    The cube lets one good match outweigh several vague ones.

    Args:
        words: Shape (texts, query words), from `Matches.words`.
        rarity: Shape (query words,).

    Returns:
        Shape (texts,), 0 to 1.
    """
    return (_cubed(words) @ rarity) / max(float(rarity.sum()), 1e-9)


def fit(vectors: Floats, dimensions: int | None = None) -> WordSpace:
    """A word space from vectors of many words: their mean, and their principal directions.

    Args:
        vectors: Shape (words, dimensions).
        dimensions: How many principal directions to keep; None keeps every dimension.
    """
    mean = vectors.mean(axis=0)
    if dimensions is None or dimensions >= vectors.shape[1]:
        return WordSpace(mean)
    centred = (vectors - mean).astype(np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return WordSpace(mean, directions[:, ::-1][:, :dimensions].astype(np.float32))


@functools.cache
def shipped(model: str) -> WordSpace | None:
    """The word space measured beforehand for the embedder `model`, if the package has one."""
    source = resources.files("hippocampe") / "data" / "word_spaces.npz"
    if not source.is_file():
        return None
    with source.open("rb") as file, np.load(file) as spaces:
        if f"{model}/mean" not in spaces:
            return None
        mean, projection = spaces[f"{model}/mean"], spaces[f"{model}/projection"]
    return WordSpace(mean.astype(np.float32), projection.astype(np.float32))


def _cosines(
    query: Floats, literal: NDArray[np.bool_], vectors: WordVectors, ids: Integers
) -> Floats:
    """Shape (query words, all words): cosines, 0 under the floor or where a literal differs."""
    # Of the places of a word, the one written last stays: several times faster than sorting ids.
    place = np.empty(len(vectors), dtype=np.int32)
    order = np.arange(len(ids), dtype=np.int32)
    place[ids] = order
    distinct = ids[place[ids] == order]
    place[distinct] = order[: len(distinct)]
    cosines = vectors.cosines(query, distinct)
    floors = np.where(literal, SAME, FLOOR)[:, None]
    return np.take(np.where(cosines < floors, 0.0, np.minimum(cosines, 1.0)), place[ids], axis=1)


def _cubed(values: Floats) -> Floats:
    # Several times faster than a general power.
    return values * values * values


def _largest(values: Floats, starts: Integers) -> Floats:
    """The largest of each run of columns; 0 for an empty run. `values` has shape (rows, columns)."""
    largest = np.zeros((len(values), len(starts) - 1), dtype=np.float32)
    filled = starts[:-1] < starts[1:]
    if values.shape[1] and filled.any():
        # Empty runs are skipped, so each remaining start ends the run before it.
        largest[:, filled] = np.maximum.reduceat(values, starts[:-1][filled], axis=1)
    return largest


def _passages(powers: Floats, rarity: Floats, starts: Integers) -> Floats:
    lengths = np.diff(starts)
    counts = -(-lengths // BLOCK)
    owners = np.repeat(np.arange(len(lengths)), counts)
    firsts = np.cumsum(counts) - counts
    offsets = starts[:-1][owners] + BLOCK * (np.arange(len(owners)) - firsts[owners])
    blocks = _largest(powers, np.append(offsets, starts[-1]))
    joined = blocks.copy()
    if len(owners) > 1:
        together = owners[1:] == owners[:-1]
        joined[:, :-1] = np.maximum(blocks[:, :-1], blocks[:, 1:] * together)
    shares = (rarity @ joined)[None, :] / max(float(rarity.sum()), 1e-9)
    return _largest(shares.astype(np.float32), np.append(firsts, len(owners)))[0]


def _phrases(powers: Floats, rarity: Floats, starts: Integers) -> Floats:
    if len(powers) < 2 or powers.shape[1] < 2:
        return np.zeros(len(starts) - 1, dtype=np.float32)
    pairs = np.zeros((len(powers) - 1, powers.shape[1]), dtype=np.float32)
    pairs[:, :-1] = powers[:-1, :-1] * powers[1:, 1:]
    ends = starts[1:][starts[1:] > starts[:-1]] - 1
    pairs[:, ends] = 0.0
    weights = np.sqrt(rarity[:-1] * rarity[1:])
    return (weights @ _largest(pairs, starts)) / max(float(weights.sum()), 1e-9)
