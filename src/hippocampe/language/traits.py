"""Detect the traits of a text: a question, a quantity, a date, a place, the first person, kinds of value."""

from __future__ import annotations

import re
from typing import Final

from hippocampe.language.calendar import FULL_MONTHS
from hippocampe.language.lexicon import any_of, load_all, words_of
from hippocampe.language.person import is_first_person
from hippocampe.language.questions import is_question
from hippocampe.language.text import STOP_WORDS, fold
from hippocampe.language.values import values_stated
from hippocampe.language.word_classes import word_classes


def _date_pattern() -> re.Pattern[str]:
    time = load_all("time")
    days = [name for names in time["days"].values() for name in names if " " not in name]
    named = {
        *FULL_MONTHS.keys() - words_of("stated.not_dates", file="time"),
        *time["weekdays"].split(),
        *days,
    }
    numbers = (r"(?:1[0-9]|20)\d\d", r"\d{1,2}[/.-]\d{1,2}(?:[/.-]\d{2,4})?")
    return re.compile(rf"\b{any_of((*sorted(named), *numbers, *time['stated']['dates']))}\b")


def _place_pattern() -> re.Pattern[str]:
    """Match a capital after a preposition ("à Pau", "in Leeds") or a location phrase."""
    data = load_all("words")
    before = "|".join(f"[{word[0]}{word[0].upper()}]{word[1:]}" for word in data["before_place"])
    articles, places = "|".join(data["place_articles"]), "|".join(data["places"])
    return re.compile(rf"\b(?:{before}) (?:{articles})?[A-ZÀ-Ý]|\b(?:{places})\b")


QUESTION, NUMBER, DATE, PLACE, FIRST_PERSON = 1, 2, 4, 8, 16
"""The bits of `traits`."""
FIRST_NAME, NAMES = 5, 3
"""The first bit of the number of names, and the largest number."""
VALUES: Final = 7
"""The first bit of the kinds of value."""

_CAPITAL: Final = re.compile(r"(?<![\w'’])[A-ZÀ-Ý][\w-]+")
_ENDS: Final = frozenset(".!?…:")
_DIGIT: Final = re.compile(r"\d")
_NUMBER_WORD: Final = re.compile(rf"\b{any_of(sorted(words_of('quantities')))}\b")
_DATE: Final = _date_pattern()
_PLACE: Final = _place_pattern()


def has_number(text: str) -> bool:
    """Return whether `text` states a quantity, in digits or as a number word."""
    return _DIGIT.search(text) is not None or _NUMBER_WORD.search(fold(text)) is not None


def has_date(text: str) -> bool:
    """Return whether `text` states a time: a month, weekday, year, date, or a word like "hier"."""
    return _DATE.search(fold(text)) is not None


def has_place(text: str) -> bool:
    """Return whether `text` states a place: "à Pau", "in Leeds", "derrière la grange"."""
    return _PLACE.search(text) is not None


def names_in(text: str) -> int:
    """Return how many words of `text` look like proper names, each counted once.

    The first word of a sentence always has a capital, so it counts only if it is not a common word.
    """
    found: set[str] = set()
    for match in _CAPITAL.finditer(text):
        word = fold(match[0])
        if word in word_classes().never_names:
            continue
        if word not in STOP_WORDS or not _opens(text, match.start()):
            found.add(word)
    return len(found)


def _opens(text: str, at: int) -> bool:
    """Return whether a sentence begins at a position: before it, up to a word, is a sign that ends one, or nothing."""
    while at and not (text[at - 1].isalnum() or text[at - 1] == "_"):
        at -= 1
        if text[at] in _ENDS:
            return True
    return at == 0


def traits(text: str) -> int:
    """Return the traits of `text` as bits: `QUESTION` to `FIRST_PERSON`, `names_in`, `values_stated`."""
    tests = (is_question, has_number, has_date, has_place, is_first_person)
    found = sum(test(text) << bit for bit, test in enumerate(tests))
    return found | min(names_in(text), NAMES) << FIRST_NAME | values_stated(text) << VALUES
