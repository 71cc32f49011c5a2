"""Relatives that a question names: "ma mère", "Mum". Each has words in every language. Pure.

The words are data: `kin` in `language/*/words.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from hippocampe.language.lexicon import languages, load
from hippocampe.language.text import words

Kin = tuple[frozenset[str], ...]
"""For each relative, its folded names in all languages."""

_NO_RELATIVES: Final = frozenset(
    {
        *("in_law", "former_partner", "team", "friend", "colleague", "boss", "doctor", "landlord"),
        *("neighbour", "flatmate"),
    }
)
"""Words of `kin` left out, for people who change or are mostly named by other words."""
_ALSO: Final = {
    "mother": ("parents",),
    "father": ("parents",),
    "parents": ("mother", "father"),
    "brother": ("siblings",),
    "sister": ("siblings",),
    "siblings": ("brother", "sister"),
    "child": ("son", "daughter"),
    "son": ("child",),
    "daughter": ("child",),
    "partner": ("wife", "husband"),
    "wife": ("partner",),
    "husband": ("partner",),
}
"""Further names of a relative."""


def kin_asked(question: str) -> Kin:
    """Return the words of each relative that a question names, in the order of the question."""
    named = dict.fromkeys(kin for word in words(question) if (kin := _kin_of().get(word)))
    return tuple(_words_of()[kin] for kin in named)


def names_relation(question: str) -> bool:
    """Return whether a question names a relative, a friend, a colleague: it is not about the speaker alone."""
    return not _relations().isdisjoint(words(question))


@cache
def _relations() -> frozenset[str]:
    return frozenset(word for word, _ in _listed())


@cache
def _kin_of() -> dict[str, str]:
    return {word: kin for word, kin in _listed() if kin not in _NO_RELATIVES}


def _listed() -> Iterator[tuple[str, str]]:
    """Each word of the lexicons for a relative, a friend, a colleague, with its kind."""
    for language in languages():
        for kin, words_of_kin in load(language, "words")["kin"].items():
            for word in words_of_kin.split():
                yield word, kin


@cache
def _words_of() -> dict[str, frozenset[str]]:
    own: dict[str, set[str]] = {}
    for word, kin in _kin_of().items():
        own.setdefault(kin, set()).add(word)
    return {
        kin: frozenset(words_.union(*(own.get(other, ()) for other in _ALSO.get(kin, ()))))
        for kin, words_ in own.items()
    }
