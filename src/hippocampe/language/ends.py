"""Recognise statements that tell both ends of something: "opens at 9", "closes at 19". Pure.

The words are data: `opposites` in `language/*/words.toml`.
"""

from __future__ import annotations

import re
from typing import Final

from hippocampe.language.lexicon import load_all
from hippocampe.language.statement import Statement
from hippocampe.language.text import fold

_OPPOSITES: Final = tuple(
    tuple(frozenset(side.split()) for side in each.split("/"))
    for each in load_all("words")["opposites"]
)
_UNTIL: Final = re.compile(rf"\b(?:{'|'.join(load_all('time')['prefix']['until'])})\b")
_HOURS: Final = frozenset({"time", "number"})
"""Kinds of values that may be an hour: "at 17:30", "at 5"."""


def ends(one: Statement, other: Statement) -> tuple[str, str] | None:
    """Return a word of each of two statements, if one tells of the beginning of something and the other of its end."""
    ours, theirs = frozenset(one.norms), frozenset(other.norms)
    for first, second in _OPPOSITES:
        for here, there in ((first, second), (second, first)):
            if ours & here and theirs & there and not (ours & there or theirs & here):
                return min(ours & here), min(theirs & there)
    return None


def names_one_hour(statement: Statement) -> bool:
    """Return whether a statement names one hour, perhaps with the day of the week: "I am away until 5" tells a stretch."""
    kinds = [token.kind for token in statement.tokens if token.kind not in ("word", "weekday")]
    return len(kinds) == 1 and kinds[0] in _HOURS and _UNTIL.search(fold(statement.text)) is None
