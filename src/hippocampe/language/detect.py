"""Guess the language of a text."""

from __future__ import annotations

import re
from typing import Final

from hippocampe.language.lexicon import languages, of
from hippocampe.language.lexicon import words as words_of
from hippocampe.language.text import words

Language = str
"""The code of a language: "fr"."""


_TELLING: Final = {
    each: (words_of("telling", language=each), re.compile(f"[{letters}]" if letters else "(?!)"))
    for each in languages()
    for letters in (of(each, "words")["letters"],)
}


def guess_language(text: str, default: Language = "fr") -> Language:
    """The language, from function words and letters; `default` when nothing tells."""
    found, lowered = words(text), text.lower()
    scores = {
        # Elisions ("l'", "j'") leave no word to count, but its accents give a language away.
        language: sum(map(telling.__contains__, found)) + (letters.search(lowered) is not None)
        for language, (telling, letters) in _TELLING.items()
    }
    best = max(scores.values())
    leading = [language for language, score in scores.items() if score == best]
    return leading[0] if len(leading) == 1 else default
