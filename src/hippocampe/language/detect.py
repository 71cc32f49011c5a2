"""Guess the language of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from hippocampe.language.lexicon import languages, load, words_of
from hippocampe.language.text import words

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
    found = words(text)
    scores = {
        language: sum(map(specific.__contains__, found)) + (written.search(text) is not None)
        for language, (specific, written) in _EVIDENCE.items()
    }
    best = max(scores.values())
    leading = [language for language, score in scores.items() if score == best]
    return default if default in leading else leading[0]


@lru_cache(maxsize=1024)
def language_of(text: str) -> str:
    """The guessed language of a statement, English by default; results are cached."""
    return guess_language(text, default="en")
