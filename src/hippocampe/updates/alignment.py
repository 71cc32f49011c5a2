"""Align two readings: find the repeated words, and the words that replace others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hippocampe.language.statement import Statement
from hippocampe.language.tokens import Token

HIT: Final = 0.55
"""Least similarity at which a word counts as repeated."""
_SAME_KIN: Final = 0.95
_SAME_BEGINNING: Final = 0.85
_BEGINNING: Final = 5  # letters
_IN_PLACE: Final = 0.4
"""Least score of a word in the same place as another: two signs of `_fits`."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """The alignment of two statements.

    Attributes:
        old: The old statement.
        new: The new one.
        best_old: The best similarity of each old content word to a new one, 0 to 1, by spelling, kin, name and value.
        best_new: The best similarity of each new content word to an old one.
        replaced: Positions of the old tokens that another word of the new statement replaces.
    """

    old: Statement
    new: Statement
    best_old: tuple[float, ...]
    best_new: tuple[float, ...]
    replaced: frozenset[int]

    @property
    def open_old(self) -> list[int]:
        """Positions of the old content tokens that the new statement does not repeat."""
        return _open(self.old, self.best_old)

    @property
    def open_new(self) -> list[int]:
        """Positions of the new content tokens that the old statement lacks."""
        return _open(self.new, self.best_new)


def align(old: Statement, new: Statement) -> Alignment:
    """Align two statements, each with at least one content word."""
    table = [
        [_similarity(old.tokens[at], new.tokens[other]) for other in new.content]
        for at in old.content
    ]
    best_old = tuple(max(row) for row in table)
    best_new = tuple(max(column) for column in zip(*table, strict=True))
    replaced = _replaced(old, new, _open(old, best_old), _open(new, best_new))
    return Alignment(old, new, best_old, best_new, replaced)


def _open(reading: Statement, best: Sequence[float]) -> list[int]:
    return [at for at, each in zip(reading.content, best, strict=True) if each < HIT]


def _similarity(ours: Token, theirs: Token) -> float:
    if ours.stem == theirs.stem or ours.norm == theirs.norm:
        return 1.0
    if ours.kind != "word" or theirs.kind != "word":
        return 0.0
    if ours.kin and theirs.kin:
        return _SAME_KIN if ours.kin == theirs.kin else 0.0
    alike = ours.norm[:_BEGINNING] == theirs.norm[:_BEGINNING] and len(ours.norm) >= _BEGINNING
    return _SAME_BEGINNING if alike and not (ours.name and theirs.name) else 0.0


def _replaced(
    old: Statement, new: Statement, open_old: Sequence[int], open_new: Sequence[int]
) -> frozenset[int]:
    """Pair the lost words with the added ones: the only ones, or by the words around."""
    lost = [at for at in open_old if old.tokens[at].kind == "word"]
    free = [other for other in open_new if new.tokens[other].kind == "word"]
    if len(open_old) == len(open_new) == len(lost) == len(free) == 1:
        return frozenset(lost)
    found: set[int] = set()
    for at in lost:
        if not free:
            break
        best = max(free, key=lambda other: _fits(old, at, new, other))
        if _fits(old, at, new, best) >= _IN_PLACE:
            free.remove(best)
            found.add(at)
    return frozenset(found)


def _fits(old: Statement, at: int, new: Statement, other: int) -> float:
    """Score how well one word takes the place of another."""
    ours, theirs = old.tokens, new.tokens
    linked = old.links[at] == new.links[other] != ""
    after_same = at > 0 and other > 0 and ours[at - 1].norm == theirs[other - 1].norm
    last, last_other = at + 1 == len(ours), other + 1 == len(theirs)
    before_same = not last and not last_other and ours[at + 1].norm == theirs[other + 1].norm
    named = ours[at].name and theirs[other].name
    return 0.25 * linked + 0.2 * after_same + 0.2 * before_same + 0.2 * named
