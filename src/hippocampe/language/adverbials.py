"""Adverbials of time: whether words are one, and a statement with the one in front of it behind it."""

import re
from collections.abc import Iterable
from typing import Final

from hippocampe.language.calendar import MONTHS, ORDINALS, WEEKDAYS
from hippocampe.language.lexicon import any_of, load_all
from hippocampe.language.text import fold
from hippocampe.language.tokenizer import tokenize
from hippocampe.language.word_classes import word_classes

_YEAR_OR_TIME: Final = re.compile(
    r"(?:1[5-9]|20)\d\d|\d{1,4}[-/]\d{1,2}(?:[-/]\d{1,4})?|\d{1,2}(?:h|:)\d{0,2}(?:am|pm)?"
    rf"|\d{{1,2}}(?:am|pm|{ORDINALS})"
)
_DISCOURSE: Final = load_all("words")["discourse"]
_ONSET: Final = re.compile(any_of(_DISCOURSE["onset"]), re.IGNORECASE)
_LONGEST: Final = 40
"""Characters of an adverbial that is moved."""
_BEHIND: Final = re.compile(rf",\s+|\s+(?={any_of(_DISCOURSE['subjects'])})", re.IGNORECASE)
"""The end of an adverbial: a comma, or the subject behind it."""
_CLAUSE: Final = re.compile(r"[^,:;.!?…\n]*[^,:;.!?…\s]")


def is_time(norms: Iterable[str]) -> bool:
    """Return whether the words only state a time: "le 10 janvier 2026", "since last May"."""
    classes = word_classes()
    found = False
    for norm in norms:
        if classes.has("time", norm) or _YEAR_OR_TIME.fullmatch(norm):
            found = True
        elif not (classes.has("time_links", norm) or norm.isdigit()):
            return False
    return found


def with_time_behind(text: str) -> str:
    """Return a statement without the "now" in front of it, or with another time in front behind its first clause.

    "Since Monday, I work in York" → "I work in York since Monday". The reader learnt from few statements with a time in
    front, and took most of those for updates, whatever they told.
    """
    for end in _BEHIND.finditer(text, 0, _LONGEST):
        when, clause = text[: end.start()], _CLAUSE.match(text, end.end())
        beyond = [word.norm for word in tokenize(_ONSET.sub(" ", when))]
        if clause and when and (not beyond or is_time(beyond)):
            told = f"{clause[0]} {_in_small_letters(when)}" if beyond else clause[0]
            if when[0].isupper():
                told = told[0].upper() + told[1:]
            return told + text[clause.end() :]
    return text


def _in_small_letters(when: str) -> str:
    """A time in front of a statement as it is written inside: days and months keep their capital."""
    first = fold(when.split()[0])
    return when if first in WEEKDAYS or first in MONTHS else when[0].lower() + when[1:]
