"""Guess the language of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, cast

from hippocampe.language.lexicon import languages, load, words_of
from hippocampe.language.text import words
from hippocampe.language.text_cache import text_cache

Language = str
"""Code of a language: "fr"."""


def _written(letters: str, elided: Iterable[str]) -> re.Pattern[str]:
    """Match letters of a language, and its words before an apostrophe: "j'ai", but not the name "D'Angelo"."""
    parts = [f"(?i:[{letters}])"] if letters else []
    if heads := "|".join(elided):
        parts.append(rf"(?<![\w'’])(?i:{heads})['’](?=[^\WA-ZÀ-Þ])")
    return re.compile("|".join(parts) or "(?!)")


_EVIDENCE: Final = {
    each: (words_of("telling", language=each), _written(data["letters"], data["elided"]))
    for each in languages()
    for data in (load(each, "words"),)
}
"""Function words specific to each language, and how it is written."""


def guess_language(text: str, default: Language = "fr") -> Language:
    """Guess the language from function words, letters and elisions.

    Args:
        text: Text of any length.
        default: Returned on a tie with it, including when no evidence is found.
    """
    leading = _leading(text)
    return default if default in leading else leading[0]


def _leading(text: str) -> list[Language]:
    """The languages for which there is the most evidence."""
    found = words(text)
    return _best(
        {
            language: sum(map(specific.__contains__, found)) + (written.search(text) is not None)
            for language, (specific, written) in _EVIDENCE.items()
        }
    )


def _best(scores: Mapping[Language, int]) -> list[Language]:
    best = max(scores.values())
    return [language for language, score in scores.items() if score == best]


@text_cache(1024)
def language_of(text: str) -> str:
    """The guessed language of a statement, English by default; results are cached.

    Without function words, as in "Emma aime beaucoup randonner", it is that of words which no other language has.
    """
    leading = _leading(text)
    if len(leading) > 1:
        found = words(text)
        own = _own_words()
        leading = _best({each: sum(map(own[each].__contains__, found)) for each in leading})
    return "en" if "en" in leading else leading[0]


@cache
def _own_words() -> Mapping[Language, frozenset[str]]:
    """The words in the data of each language that no other one has, without names."""
    known = {each: frozenset(_words_in(load(each, "words"))) for each in languages()}
    return {
        each: own.difference(*(known[other] for other in known if other != each))
        for each, own in known.items()
    }


_NAMES: Final = ("first_names", "towns", "brands", "countries", "peoples")


def _words_in(value: Any) -> Iterator[str]:
    """The words in a part of a file."""
    if isinstance(value, str):
        yield from words(value)
    elif isinstance(value, dict):
        for name, part in cast("dict[str, Any]", value).items():
            if name not in _NAMES:
                yield from _words_in(part)
    elif isinstance(value, list):
        for part in cast("list[Any]", value):
            yield from _words_in(part)
