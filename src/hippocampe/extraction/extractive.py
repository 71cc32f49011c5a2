"""Summarise talk without a language model: select its most informative sentences, in order.

The score of a sentence is its rare words and its closeness to the others, minus its similarity to the selected
ones (maximal marginal relevance: Carbonell and Goldstein, 1998).
"""

from collections import Counter
from collections.abc import Sequence
from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hippocampe.extraction.talk import SHOWN_CHARACTERS
from hippocampe.language.text import SENTENCE_END, content_words, cut, sentences
from hippocampe.protocols import Embedder
from hippocampe.types import Message

LENGTH = 1_200
"""Characters of the extract, at most."""
LONGEST = 300
"""Characters of one sentence; a longer one is a quotation or a listing."""
MIN_WORDS = 3
"""Words without stop words that a sentence has, unless none has as many."""
MOST_SENTENCES = 400
"""Sentences that are compared with each other, the longest first: a part of ordinary talk has 200."""
REPETITION = 0.7
"""Weight of the similarity to selected sentences; the rest is the weight of the sentence's own value."""


class _Sentence(NamedTuple):
    author: str | None
    text: str
    words: tuple[str, ...]


def extract_sentences(embedder: Embedder, messages: Sequence[Message]) -> str:
    """The most informative sentences of messages, each with its author, in order.

    Args:
        messages: Oldest first; at least one is not empty.

    Raises:
        EmbedderUnavailable: The embedder cannot be used.
    """
    found = _telling_sentences(messages)
    vectors = embedder.embed([each.text for each in found])
    cosines = vectors @ vectors.T
    value = _relative(_rarity(found)) + _relative(cosines.mean(axis=1))
    lengths = [len(_written(each)) + 1 for each in found]
    covered = np.full(len(found), -1, np.float32)
    chosen: list[int] = []
    room = LENGTH
    left: set[int] = set(range(len(found)))
    while left:
        marginal = (1 - REPETITION) * value - REPETITION * covered
        best = max(left, key=lambda number: (marginal[number], -number))
        chosen.append(best)
        covered = np.maximum(covered, cosines[:, best])
        room -= lengths[best]
        left = {each for each in left if each != best and lengths[each] <= room}
    return "\n".join(_written(found[number]) for number in sorted(chosen))


def first_sentences(text: str, limit: int) -> str:
    """A text of at most `limit` characters: its first sentences, or the start of the first."""
    ends = [found.start() for found in SENTENCE_END.finditer(text) if found.start() <= limit]
    if len(text) <= limit:
        return text
    return text[: ends[-1]] if ends else text[: limit - 1] + "…"


def _telling_sentences(messages: Sequence[Message]) -> list[_Sentence]:
    every = [
        _Sentence(message.author, text[:LONGEST], tuple(content_words(text)))
        for message in messages
        for text in sentences(cut(message.content, SHOWN_CHARACTERS))
    ]
    most = max(len(each.words) for each in every)
    least = min(MIN_WORDS, most)
    distinct = {(each.author, each.text): each for each in every if len(each.words) >= least}
    found = list(distinct.values())
    longest = sorted(range(len(found)), key=lambda number: -len(found[number].words))
    return [found[number] for number in sorted(longest[:MOST_SENTENCES])]


def _rarity(found: Sequence[_Sentence]) -> list[float]:
    """The mean inverse frequency of the words of each sentence, higher for longer ones."""
    count = Counter(word for each in found for word in each.words)
    many = 1 + len(found)
    return [
        sum(log(many / count[word]) for word in each.words) / sqrt(len(each.words))
        for each in found
    ]


def _relative(values: Sequence[float] | NDArray[np.float32]) -> NDArray[np.float32]:
    """Values scaled to 0–1."""
    array = np.asarray(values, np.float32)
    low, high = array.min(), array.max()
    return (array - low) / (high - low) if high > low else np.ones_like(array)


def _written(each: _Sentence) -> str:
    return f"{each.author}: {each.text}" if each.author else each.text
