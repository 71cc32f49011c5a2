"""Detect kinds of value: those that a question asks for by name, and those that a text states.

Only a text with a phone number answers "What is Inès's phone number?". The kinds are data
(`language/*/questions.toml`), as bits in the order of the data, like topics.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from hippocampe.language.adverbials import is_time
from hippocampe.language.detect import language_of
from hippocampe.language.lexicon import any_of, load, load_all, words_of
from hippocampe.language.text import fold, words

_AGE: Final = re.compile(r"(?<=[^\W\d] )\((\d{1,2})\)")
_JOINING: Final = words_of("union") | words_of("coordinators")
_TIME_WORDS: Final = 3
_SYMBOLS: Final = re.compile(r"[€£$]")


def values_asked(question: str) -> int:
    """Return the kinds of value that a question asks for, as bits; 0 for none."""
    folded = fold(question)
    return sum(1 << bit for bit, (asked, _) in enumerate(_kinds()) if asked.search(folded))


def value_words(question: str) -> frozenset[str]:
    """Return the folded words by which a question asks for kinds of value: "birthday", "phone"."""
    folded = fold(question)
    return frozenset(
        word
        for asked, _ in _kinds()
        for match in asked.finditer(folded)
        for word in words(match[0])
    )


def with_ages(text: str, asked: int) -> str:
    """Return `text` with its ages in full, if an age is `asked` for: "Finn (6)" is "Finn (6 years old)", so is "Finn is 6".

    Args:
        text: The text.
        asked: The kinds of value that a question asks for, as bits.
    """
    if not asked & _age():
        return text
    language = language_of(text)
    in_full: str = load(language, "questions")["age"]
    text = _AGE.sub(lambda found: f"({in_full.format(age=found[1])})", text)

    def aged(found: re.Match[str]) -> str:
        bare = _ends_there(text[found.end() :])
        return f"{found[1]}{in_full.format(age=found[2])}" if bare else found[0]

    return _bare_age(language).sub(aged, text)


def _ends_there(after: str) -> bool:
    """Return whether the words behind a number count nothing: "is 6 and loves sharks", "turned 6 in May", not "is 6 minutes away"."""
    if not re.match(r"\s+\w", after):
        return not after[:1].isalnum() and re.match(r"[.,:'’/-]\d", after) is None
    following = words(after)[:_TIME_WORDS]
    starts = (following[:length] for length in range(1, len(following) + 1))
    return following[0] in _JOINING or any(map(is_time, starts))


@cache
def _bare_age(language: str) -> re.Pattern[str]:
    """An age without a unit, recognised by the word before it: "is 6"."""
    before = any_of(load(language, "questions")["before_age"])
    return re.compile(rf"({before}\s)(\d{{1,3}})(?!\w)", re.IGNORECASE)


def values_stated(text: str) -> int:
    """Return the kinds of value that `text` states, as bits."""
    folded = _SYMBOLS.sub(" euros ", fold(text))
    return sum(1 << bit for bit, (_, stated) in enumerate(_kinds()) if stated.search(folded))


@cache
def _age() -> int:
    """The bit of ages."""
    return 1 << list(load_all("questions")["values"]).index("age")


@cache
def _kinds() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    return tuple(
        (_words(kind["asked"]), _words(kind["stated"]))
        for kind in load_all("questions")["values"].values()
    )


def _words(patterns: list[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){any_of(patterns)}(?!\w)")
