"""Guess the language of a text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from hippocampe.language.lexicon import languages, load, words_of
from hippocampe.language.text import words

Language = str
"""Code of a language: "fr"."""

_EVIDENCE: Final = {
    each: (words_of("telling", language=each), re.compile(f"[{letters}]" if letters else "(?!)"))
    for each in languages()
    for letters in (load(each, "words")["letters"],)
}
"""Function words and letters specific to each language."""


def guess_language(text: str, default: Language = "fr") -> Language:
    """Guess the language from function words and letters.

    Args:
        text: Text of any length.
        default: Returned on a tie with it, including when no evidence is found.
    """
    found, lowered = words(text), text.lower()
    scores = {
        # Elisions ("l'", "j'") are dropped from the words, so accents count as evidence too.
        language: sum(map(specific.__contains__, found)) + (letters.search(lowered) is not None)
        for language, (specific, letters) in _EVIDENCE.items()
    }
    best = max(scores.values())
    leading = [language for language, score in scores.items() if score == best]
    return default if default in leading else leading[0]


@lru_cache(maxsize=1024)
def language_of(text: str) -> str:
    """The guessed language of a statement, English by default; results are cached."""
    return guess_language(text, default="en")
