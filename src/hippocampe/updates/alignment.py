"""Align two readings: find the repeated words, and the words that replace others."""

from __future__ import annotations

from collections import deque
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
_SIGNS: Final = {"link": 0.25, "after": 0.2, "before": 0.2}
"""Signs that a word takes the place of another: the same link, and the same word before it or after it."""
_NAMED: Final = 0.2
"""The sign that both are names, which counts beside another one."""
_IN_PLACE: Final = 0.4
"""Least sum of the signs of a word in the same place as another: two."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """The alignment of two statements.

    Attributes:
        old: The old statement.
        new: The new one.
        best_old: The best similarity of each old content word to a new one, 0 to 1, by spelling, kin, name and value.
        best_new: The best similarity of each new content word to an old one.
        open_old: Positions of the old content tokens that the new statement does not repeat.
        open_new: Positions of the new content tokens that the old statement lacks.
        replaced: Positions of the old tokens that another word of the new statement replaces.
    """

    old: Statement
    new: Statement
    best_old: tuple[float, ...]
    best_new: tuple[float, ...]
    open_old: list[int]
    open_new: list[int]
    replaced: frozenset[int]


def align(old: Statement, new: Statement) -> Alignment:
    """Align two statements, each with at least one content word."""
    ours, theirs = ([each.tokens[at] for at in each.content] for each in (old, new))
    best_old, best_new = _best(ours, theirs), _best(theirs, ours)
    open_old, open_new = _open(old, best_old), _open(new, best_new)
    replaced = _replaced(old, new, open_old, open_new)
    return Alignment(old, new, best_old, best_new, open_old, open_new, replaced)


def _open(reading: Statement, best: Sequence[float]) -> list[int]:
    return [at for at, each in zip(reading.content, best, strict=True) if each < HIT]


def _best(ours: Sequence[Token], theirs: Sequence[Token]) -> tuple[float, ...]:
    """The best similarity of each of our tokens to one of theirs. By index: long texts have too many pairs."""
    stems = {each.stem for each in theirs}
    # The norm of a value is its first word, "2" of "2 400 euros" and of "2 500 euros".
    spelled: dict[str, set[tuple[str, str]]] = {}
    for each in theirs:
        spelled.setdefault(each.norm, set()).add((each.kind, each.value))
    words = [each for each in theirs if each.kind == "word"]
    kin = {each.kin for each in words if each.kin}
    beginnings: dict[str, list[Token]] = {}
    for each in words:
        beginnings.setdefault(each.norm[:_BEGINNING], []).append(each)

    def similarity(token: Token) -> float:
        alike = spelled.get(token.norm, ())
        if token.stem in stems or any(k != token.kind or v == token.value for k, v in alike):
            return 1.0
        if token.kind != "word":
            return 0.0
        if token.kin in kin:
            return _SAME_KIN
        near = beginnings.get(token.norm[:_BEGINNING], ()) if len(token.norm) >= _BEGINNING else ()
        others = (
            each for each in near if not (token.kin and each.kin) and not (token.name and each.name)
        )
        return _SAME_BEGINNING if any(others) else 0.0

    return tuple(map(similarity, ours))


def _replaced(
    old: Statement, new: Statement, open_old: Sequence[int], open_new: Sequence[int]
) -> frozenset[int]:
    """Pair the lost words with the added ones: the only ones, or by the words around."""
    lost = [at for at in open_old if old.tokens[at].kind == "word"]
    added = [other for other in open_new if new.tokens[other].kind == "word"]
    if len(open_old) == len(open_new) == len(lost) == len(added) == 1:
        return frozenset(lost)
    # By place: long texts have too many pairs.
    free: dict[_Place, deque[int]] = {}
    for other in added:
        place = frozenset(_signs(new, other)), bool(new.tokens[other].name)
        free.setdefault(place, deque()).append(other)
    places: dict[_Sign, list[_Place]] = {}
    for place in free:
        for sign in place[0]:
            places.setdefault(sign, []).append(place)
    found: set[int] = set()
    for at in lost:
        signs, name = _signs(old, at), old.tokens[at].name
        fits = {
            place: sum(_SIGNS[kind] for kind, _ in signs & place[0])
            + _NAMED * bool(name and place[1])
            for place in {each for sign in signs for each in places.get(sign, ())}
            if free[place]
        }
        best = max(fits, key=lambda place: (fits[place], -free[place][0]), default=None)
        if best is not None and fits[best] >= _IN_PLACE:
            free[best].popleft()
            found.add(at)
    return frozenset(found)


_Sign = tuple[str, str]
"""A sign of the place of a word, and its value: ("after", "the")."""
_Place = tuple[frozenset[_Sign], bool]
"""The signs of the place of a word, and whether the word is a name."""


def _signs(statement: Statement, at: int) -> set[_Sign]:
    tokens = statement.tokens
    signs = {("link", statement.links[at])} if statement.links[at] else set[_Sign]()
    if at > 0:
        signs.add(("after", tokens[at - 1].norm))
    if at + 1 < len(tokens):
        signs.add(("before", tokens[at + 1].norm))
    return signs
