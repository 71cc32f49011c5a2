"""Tokenize texts with a unigram language model (Kudo, 2018: Subword Regularization)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Final

SPACE: Final = "▁"
UNKNOWN_PENALTY: Final = 10.0
"""Penalty of an unknown character below the least score, as in SentencePiece."""
MAX_CACHED_WORDS: Final = 8_192


class Cutter:
    """Tokenizes texts. No piece spans two words, so each word is tokenized alone and cached.

    Args:
        pieces: The id and the score of each piece.
        characters: Replacements of characters before tokenization.
        unknown: Id of a run of characters without a piece.
    """

    def __init__(
        self,
        pieces: Mapping[str, tuple[int, float]],
        characters: Mapping[int, str],
        unknown: int,
    ) -> None:
        self._characters = characters
        strange = min(score for _, score in pieces.values()) - UNKNOWN_PENALTY
        cut = partial(_cut, pieces, (unknown, strange), max(map(len, pieces)))
        self._known = lru_cache(maxsize=MAX_CACHED_WORDS)(cut)

    def cut(self, text: str) -> list[int]:
        """The ids of the pieces of a text; none for one without words."""
        words = text.translate(self._characters).replace(SPACE, " ").split(" ")
        return [id for word in words if word for id in self._known(SPACE + word)]


def _cut(
    pieces: Mapping[str, tuple[int, float]], unknown: tuple[int, float], longest: int, word: str
) -> tuple[int, ...]:
    """The likeliest pieces of a word, found by the Viterbi algorithm."""
    best = [0.0] + [float("-inf")] * len(word)
    came: list[tuple[int, int]] = [(0, 0)] * (len(word) + 1)
    for start in range(len(word)):
        for end in range(start + 1, min(start + longest, len(word)) + 1):
            piece = pieces.get(word[start:end])
            if piece is None:
                if end > start + 1:
                    continue
                piece = unknown
            score = best[start] + piece[1]
            if score > best[end]:
                best[end], came[end] = score, (start, piece[0])
    found: list[int] = []
    at = len(word)
    while at:
        at, id = came[at]
        if id != unknown[0] or found[-1:] != [id]:
            found.append(id)
    return tuple(reversed(found))
