"""Tell two statements of different facts by the kind of their values: "Toby's birthday is 30 January", "Toby is 14"."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from hippocampe.language.relations import Relation, relations
from hippocampe.language.statement import Statement
from hippocampe.language.text import STOP_WORDS
from hippocampe.language.word_classes import word_classes
from hippocampe.language.wordings import ValueKind, candidate_wordings
from hippocampe.updates.alignment import align

_Written = Collection[str]
"""Kinds of words: "name", "label" (the number of a thing, "Year 3"), or those of `Token.kind`."""
_AMOUNT: Final = ("number", "money", "rank")
_NAME: Final = ("name",)
_WRITTEN: Final[Mapping[ValueKind, _Written]] = MappingProxyType(
    {
        "date": ("date", "month", "year"),
        "number": _AMOUNT,
        "length": _AMOUNT,
        "name": _NAME,
        "place": _NAME,
    }
)
"""The written form of a value of some kinds."""
_VALUES: Final = (*_AMOUNT, "label")
"""The values of a statement of another fact; a date may tell only when."""
_DENIED: Final = frozenset({"negation", "no_longer"})


def are_two_facts(new: Statement, old: Statement) -> bool:
    """Return whether one statement tells a known relation with a date or a number, and the other a value of another kind.

    The other one has no word of the relation: "is 9 now" is no birthday, "is in Year 5" no age. Without a value it may be the
    news of anything, "my gran died", as a denial may. What is finished ends no name and no place: "Nina: done".
    """
    finished = word_classes().occurs("finished", new.norms)
    known, told = _told(old, names=finished), _told(new)
    if _DENIED & new.signs or not (known or told):
        return False
    aligned = align(old, new)
    before, after = (old, aligned.open_old), (new, aligned.open_new)
    if (finished or _gives(*after, _VALUES)) and _are_beyond(known, before, after):
        return True
    return _gives(*before, _VALUES) and _are_beyond(told, after, before)


_Side = tuple[Statement, Sequence[int]]
"""A statement, and the positions of its words that the other one lacks."""


def _told(statement: Statement, *, names: bool = False) -> list[Relation]:
    """The relations that a statement tells with a value of such a kind, perhaps a name."""
    return [
        each
        for each in relations(statement)
        if not each.negated
        and each.kind in _WRITTEN
        and (names or _WRITTEN[each.kind] is not _NAME)
    ]


def _are_beyond(told: Sequence[Relation], one: _Side, other: _Side) -> bool:
    """Return whether there are relations of one statement, and the other one tells nothing of them."""
    words = frozenset(filter(str.isalpha, other[0].content_words))  # not "'s"
    named = {
        each.name
        for each in candidate_wordings(words)
        if all(need & (words | STOP_WORDS) for need in each.needs)
    }
    return bool(told) and not any(
        each.name in named or _is_repeated(each, *one) or _gives(*other, _WRITTEN[each.kind])
        for each in told
    )


def _is_repeated(relation: Relation, statement: Statement, lacking: Sequence[int]) -> bool:
    """Return whether the other statement repeats more of a statement than whom it is about."""
    subject = set(relation.subject.split())
    return any(
        at not in lacking and not subject.issuperset(statement.tokens[at].norm.split())
        for at in statement.content
    )


def _gives(statement: Statement, places: Sequence[int], written: _Written) -> bool:
    """Return whether some words are written as a value; without capitals, any may be a name."""
    if written is _NAME and statement.lowercase:
        return True
    return any(_kind(statement, at) in written for at in places)


def _kind(statement: Statement, at: int) -> str:
    tokens, token = statement.tokens, statement.tokens[at]
    if token.kind == "number" and not token.unit and at - 1 in statement.content:
        return "number" if tokens[at - 1].stem in statement.verbs else "label"
    if token.kind != "word" or not token.name:
        return token.kind
    numbered = any(each.kind == "number" for each in tokens[at + 1 : at + 2])
    return "name" if token.norm.isalpha() and not numbered else "word"
