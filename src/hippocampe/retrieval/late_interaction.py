"""Late interaction: match each word of a query with the words of many texts. Pure.

A sentence vector averages a text into one point; word vectors of the same embedder let "holiday"
match "vacation". This is ColBERT's MaxSim (Khattab and Zaharia, 2020) over one vector per distinct
word, so only word ids are stored per text.

All operations are vectorised over the texts, given as one flat array of word ids and offsets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hippocampe.embed.word_space import Floats, Integers, WordVectors

FLOOR: Final = 0.4
"""Cosines below this are ignored: most pairs of unrelated words are below it."""
SAME: Final = 0.999
"""Words with at least this cosine are the same."""
BLOCK: Final = 16
"""Words in half a passage. Passages overlap by half."""


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
    """The matches of texts with a query, word by word. The first `own` texts are measured in more detail.

    Attributes:
        words: Shape (texts, query words): best cosine of each query word in each text, 0 to 1,
            0 under the floor.
        passages: Shape (own,): share of the query's rarity matched within one passage, 0 to 1.
        phrases: Shape (own,): share of the query's neighbouring word pairs found side by side,
            0 to 1.
        mass: Shape (own,): sum over the text's words of their match with the query.
        exact: Shape (own,): number of the text's words that are in the query.
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
        query: Shape (query words, dimensions), normalised vectors of the query's words in order, at least one.
        rarity: Shape (query words,), inverse document frequencies.
        literal: Shape (query words,), true for words that only match themselves (numbers).
        vectors: Of all known words.
        texts: The texts to search.
        own: Number of texts, from the first, to measure in detail.

    Returns:
        The best match of every query word in every text, and the rest for the first `own` texts.
    """
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
    """Share of the query's rarity that texts match: sum of idf · cos³ over the sum of idf.

    The cube lets one good match outweigh several vague ones.

    Args:
        words: Shape (texts, query words), from `Matches.words`.
        rarity: Shape (query words,).

    Returns:
        Shape (texts,), 0 to 1.
    """
    return (_cubed(words) @ rarity) / max(float(rarity.sum()), 1e-9)


def _cosines(
    query: Floats, literal: NDArray[np.bool_], vectors: WordVectors, ids: Integers
) -> Floats:
    """Shape (query words, all words): cosines, 0 below the floor or for a literal that differs."""
    # Deduplicate by scatter: the last index written per id wins; faster than np.unique.
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
