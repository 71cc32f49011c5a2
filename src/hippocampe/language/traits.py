"""Whether a text asks, counts, dates or places."""

from __future__ import annotations

import re
from typing import Final

from hippocampe.language.lexicon import together
from hippocampe.language.lexicon import words as words_of
from hippocampe.language.text import MONTH_NAMES, QUESTIONS, fold


def _stated_dates() -> re.Pattern[str]:
    time = together("time")
    full = {fold(name) for names in MONTH_NAMES.values() for name in names}
    days = [name for names in time["days"].values() for name in names if " " not in name]
    named = {*full - words_of("stated.not_dates", file="time"), *time["weekdays"].split(), *days}
    numbers = (r"(?:1[0-9]|20)\d\d", r"\d{1,2}[/.-]\d{1,2}(?:[/.-]\d{2,4})?")
    return re.compile(rf"\b(?:{'|'.join((*sorted(named), *numbers, *time['stated']['dates']))})\b")


def _places() -> re.Pattern[str]:
    """A capital after a preposition, as in "à Pau" and "in Leeds", or a word for being somewhere."""
    data = together("words")
    before = "|".join(f"[{word[0]}{word[0].upper()}]{word[1:]}" for word in data["before_place"])
    articles, places = "|".join(data["place_articles"]), "|".join(data["places"])
    return re.compile(rf"\b(?:{before}) (?:{articles})?[A-ZÀ-Ý]|\b(?:{places})\b")


_OPENS_QUESTION: Final = re.compile(
    rf"^(?:(?:{'|'.join(QUESTIONS['fillers'].split())}) )*[,\s]*(?:{'|'.join(QUESTIONS['openers'])})\b"
)


_DIGIT: Final = re.compile(r"\d")


_NUMBER_WORD: Final = re.compile(rf"\b(?:{'|'.join(sorted(words_of('quantities')))})\b")


_DATE: Final = _stated_dates()


_PLACE: Final = _places()


def is_question(text: str) -> bool:
    """Whether `text` asks something: a question mark, or a question word or verb in front."""
    return "?" in text or _OPENS_QUESTION.match(fold(text.strip())) is not None


def has_number(text: str) -> bool:
    """Whether `text` states a quantity, in digits or as a number word."""
    return _DIGIT.search(text) is not None or _NUMBER_WORD.search(fold(text)) is not None


def has_date(text: str) -> bool:
    """Whether `text` says when: a month, weekday, year, date, or a word such as "hier"."""
    return _DATE.search(fold(text)) is not None


def has_place(text: str) -> bool:
    """Whether `text` says where: "à Pau", "in Leeds", "derrière la grange"."""
    return _PLACE.search(text) is not None


def traits(text: str) -> int:
    """What `text` is, as bits: 1 asks, 2 states a quantity, 4 says when, 8 says where."""
    tests = (is_question, has_number, has_date, has_place)
    return sum(test(text) << bit for bit, test in enumerate(tests))
