"""Align two readings: find the repeated words, and the words that replace others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hippocampe.language.reading.statement import Reading, Token

Floats = NDArray[np.float32]
HIT: Final = 0.55
"""Least similarity at which a word counts as repeated."""
_RELATED: Final = 0.35
"""Below this cosine, two words have nothing in common."""
_SAME_KIN: Final = 0.95
_SAME_BEGINNING: Final = 0.85
_BEGINNING: Final = 5  # letters
_NAME_SHARE: Final = 0.6
_IN_PLACE: Final = 0.45
"""Least score of a word in the same place as another."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """A word of the old statement and the word of the new one in its place.

    Attributes:
        old: Position among the old tokens.
        new: Position among the new tokens.
        cosine: The cosine of the two.
    """

    old: int
    new: int
    cosine: float


@dataclass(frozen=True, slots=True)
class Alignment:
    """The alignment of two statements.

    Attributes:
        old: The old statement.
        new: The new one.
        cosines: Cosines of their content words, shape (old, new).
        similarity: The same, corrected by spelling, kin, names and values, 0 to 1.
        best_old: The best similarity of each old content word, shape (old,).
        best_new: Of each new one, shape (new,).
        open_old: Indices of the old content words that the new statement does not repeat.
        open_new: Indices of the new content words that the old statement lacks.
        contrasts: The pairs of words in the same place.
    """

    old: Reading
    new: Reading
    cosines: Floats
    similarity: Floats
    best_old: Floats
    best_new: Floats
    open_old: tuple[int, ...]
    open_new: tuple[int, ...]
    contrasts: tuple[Contrast, ...]


def align(old: Reading, new: Reading, old_vectors: Floats, new_vectors: Floats) -> Alignment:
    """Align two statements.

    Args:
        old: The old statement.
        new: The new one.
        old_vectors: Unit vectors of the content words of `old`, shape (words, width); 0 if unknown.
        new_vectors: Of the content words of `new`.
    """
    cosines = np.asarray(old_vectors @ new_vectors.T, np.float32)
    similarity = np.where(cosines >= _RELATED, cosines, np.float32(0))
    for row, at in enumerate(old.content):
        ours = old.tokens[at]
        for column, other in enumerate(new.content):
            known = _known(ours, new.tokens[other], float(cosines[row, column]))
            if known is not None:
                similarity[row, column] = known
    best_old, best_new = similarity.max(axis=1), similarity.max(axis=0)
    open_old = tuple(np.flatnonzero(best_old < HIT).tolist())
    open_new = tuple(np.flatnonzero(best_new < HIT).tolist())
    contrasts = tuple(_contrasts(old, new, cosines, open_old, open_new))
    return Alignment(
        old, new, cosines, similarity, best_old, best_new, open_old, open_new, contrasts
    )


def _known(ours: Token, theirs: Token, cosine: float) -> float | None:
    """The similarity of two words without their vectors."""
    if ours.stem == theirs.stem or ours.norm == theirs.norm:
        return 1.0
    if ours.kind != "word" or theirs.kind != "word":
        return 0.0
    if ours.kin and theirs.kin:
        return _SAME_KIN if ours.kin == theirs.kin else 0.0
    named = (ours.name and not ours.opens) or (theirs.name and not theirs.opens)
    alike = ours.norm[:_BEGINNING] == theirs.norm[:_BEGINNING] and len(ours.norm) >= _BEGINNING
    if alike and not (named and ours.name and theirs.name):
        return max(_SAME_BEGINNING, cosine)
    if named:
        return cosine * _NAME_SHARE if cosine >= _NAME_SHARE else 0.0
    return None


def _contrasts(
    old: Reading,
    new: Reading,
    cosines: NDArray[Any],
    open_old: tuple[int, ...],
    open_new: tuple[int, ...],
) -> list[Contrast]:
    """Pair the lost words with the added ones, by meaning and by the words around."""
    found: list[Contrast] = []
    taken: set[int] = set()
    for row in open_old:
        at = old.content[row]
        if old.tokens[at].kind != "word":
            continue
        best = _IN_PLACE
        chosen: tuple[int, int] | None = None
        for column in open_new:
            other = new.content[column]
            if column in taken or new.tokens[other].kind != "word":
                continue
            score = float(cosines[row, column]) + _fits(old, at, new, other)
            if score >= best:
                best, chosen = score, (column, other)
        if chosen:
            taken.add(chosen[0])
            found.append(Contrast(at, chosen[1], float(cosines[row, chosen[0]])))
    return found


def _fits(old: Reading, at: int, new: Reading, other: int) -> float:
    """Score how well one word takes the place of another."""
    ours, theirs = old.tokens, new.tokens
    linked = old.links[at] == new.links[other] != ""
    after_same = at > 0 and other > 0 and ours[at - 1].norm == theirs[other - 1].norm
    last, last_other = at + 1 == len(ours), other + 1 == len(theirs)
    before_same = not last and not last_other and ours[at + 1].norm == theirs[other + 1].norm
    named = ours[at].name and theirs[other].name
    return 0.25 * linked + 0.2 * after_same + 0.2 * before_same + 0.2 * named
