"""Tell two statements of different facts by the kind of their values: "Toby's birthday is 30 January", "Toby is 14"."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from hippocampe.language.relations import Relation, relations
from hippocampe.language.statement import Statement
from hippocampe.language.word_classes import word_classes
from hippocampe.language.wordings import ValueKind, candidate_wordings
from hippocampe.updates.alignment import align

_Written = Collection[str]
"""Kinds of words: "name", "label" (the number of a thing, "Year 3"), or those of `Token.kind`."""
_DATE: Final = ("date", "month", "year")
_AMOUNT: Final = ("number", "money", "rank")
_NUMBER: Final = (*_AMOUNT, "label", "year")
_NAME: Final = ("name",)
_WRITTEN: Final[Mapping[ValueKind, _Written]] = MappingProxyType(
    {
        "date": _DATE,
        "number": _AMOUNT,
        "length": _AMOUNT,
        "measure": _NUMBER,
        "contact": _NUMBER,
        "code": _NUMBER,
        "name": _NAME,
        "place": _NAME,
    }
)
"""The written form of a value of each kind that has one."""
_DENIED: Final = frozenset({"negation", "no_longer"})


def are_two_facts(new: Statement, old: Statement) -> bool:
    """Return whether one statement tells a known relation, and the other has no word of it and no value of its kind.

    A denial may be of anything, "no garden after all". Where somebody lives, and what something is called, ends in any words,
    "emigrated", but not because something is finished; and a new name is the news of anything, "started at Bosch".
    """
    known = _told(old, names=word_classes().occurs("finished", new.norms))
    told = _told(new, names=False)
    if _DENIED & new.signs or not (known or told):
        return False
    aligned = align(old, new)
    sides = ((old, aligned.open_old), (new, aligned.open_new))
    return _are_beyond(known, *sides) or _are_beyond(told, *reversed(sides))


_Side = tuple[Statement, Sequence[int]]
"""A statement, and the positions of its words that the other one lacks."""


def _told(statement: Statement, *, names: bool) -> list[Relation]:
    """The relations that a statement tells with a value of such a kind, perhaps a name."""
    return [
        each
        for each in relations(statement)
        if not each.negated and (written := _WRITTEN.get(each.kind))
        if names or written is not _NAME
    ]


def _are_beyond(told: Sequence[Relation], one: _Side, other: _Side) -> bool:
    """Return whether there are relations of one statement, and the other one tells nothing of them."""
    words = frozenset(filter(str.isalpha, other[0].content_words))  # not "'s"
    named = {each.name for each in candidate_wordings(words)}
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
