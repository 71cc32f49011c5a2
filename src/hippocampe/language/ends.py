"""Recognise statements that tell both ends of something: "opens at 9", "closes at 19". Pure.

The words are data: `opposites` in `language/*/words.toml`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from hippocampe.language.lexicon import any_of, load_all, pairs_of
from hippocampe.language.statement import Statement
from hippocampe.language.text import fold

_OPPOSITES: Final = pairs_of("opposites")
_UNTIL: Final = re.compile(rf"\b{any_of(load_all('time')['prefix']['until'])}\b")
_HOURS: Final = frozenset({"time", "number"})
"""Kinds of values that may be an hour: "at 17:30", "at 5"."""


def ends(one: Statement, other: Statement) -> tuple[str, str] | None:
    """Return a word of each of two statements, if one tells of the beginning of something and the other of its end."""
    ours, theirs = _named(one), _named(other)
    for first, second in _OPPOSITES:
        for here, there in ((first, second), (second, first)):
            if ours & here and theirs & there and not (ours & there or theirs & here):
                return min(ours & here), min(theirs & there)
    return None


def tells_one_end(one: Statement, other: Statement) -> bool:
    """Return whether only one of two statements, each of another hour, tells the end of something: "lunch is at 12", "lunch ends at 2"."""
    hours = _hour(one), _hour(other)
    if None in hours or hours[0] == hours[1] or _words(one).isdisjoint(_words(other)):
        return False
    ours, theirs = _named(one), _named(other)
    for first, last in _OPPOSITES:
        told = [words for words in (ours, theirs) if words & (first | last)]
        if len(told) == 1:
            return bool(told[0] & last)
    return False


def _named(statement: Statement) -> frozenset[str]:
    """The words of a statement, and each two in a row as one: "check-in"."""
    norms = statement.norms
    return frozenset(norms).union(f"{one}-{other}" for one, other in pairwise(norms))


def _hour(statement: Statement) -> str | None:
    """The one hour that a statement names: "at 5", not "for 5"."""
    if not names_one_hour(statement):
        return None
    tokens = enumerate(statement.tokens)
    return next((token.value for at, token in tokens if is_hour(statement, at)), None)


def _words(statement: Statement) -> set[str]:
    tokens = (statement.tokens[at] for at in statement.content)
    return {each.stem for each in tokens if each.kind == "word"}


def is_hour(statement: Statement, at: int) -> bool:
    """Return whether a token of a statement is an hour: "17:30", or a bare number behind "at"."""
    token = statement.tokens[at]
    bare = token.kind == "number" and not token.unit and statement.links[at] == "at"
    return bare or token.kind == "time"


def names_one_hour(statement: Statement) -> bool:
    """Return whether a statement names one hour, perhaps with the day of the week: "I am away until 5" tells a stretch."""
    kinds = [token.kind for token in statement.tokens if token.kind not in ("word", "weekday")]
    return len(kinds) == 1 and kinds[0] in _HOURS and _UNTIL.search(fold(statement.text)) is None
