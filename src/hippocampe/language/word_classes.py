"""Word classes of the rules: sets of words and word sequences, matched on tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from hippocampe.language.calendar import MONTH_NAMES
from hippocampe.language.lexicon import load_all, words_of
from hippocampe.language.text import STOP_WORDS
from hippocampe.language.tokenizer import tokenize

_ARTICLES: Final = words_of("articles")


class WordClasses:
    """Named classes of folded words and word sequences.

    Attributes:
        function_words: Function words.
        times: Single words of the class `time`.
        never_names: Words that are not a proper name even with a capital.
    """

    def __init__(self, classes: Mapping[str, Iterable[str]]) -> None:
        self._classes: Final[dict[str, frozenset[tuple[str, ...]]]] = {
            name: frozenset(tuple(w.norm for w in tokenize(entry)) for entry in entries)
            for name, entries in classes.items()
        }
        # Indexed by first word, longest first: most words begin no entry, so a miss must be cheap.
        self._lengths: Final[dict[str, dict[str, tuple[int, ...]]]] = {
            name: _lengths(entries) for name, entries in self._classes.items()
        }
        grammatical = self._single_words("not_names", "pronouns")
        self.function_words: Final = grammatical | STOP_WORDS
        self.times: Final = self._single_words("time")
        self.never_names: Final = grammatical | self.times

    def _single_words(self, *names: str) -> frozenset[str]:
        return frozenset(
            entry[0] for name in names for entry in self._classes[name] if not entry[1:]
        )

    def match(self, name: str, norms: Sequence[str], at: int) -> int:
        """Return the length in words of the longest entry of a class at position `at`, or 0."""
        for length in self._lengths[name].get(norms[at], ()):
            if tuple(norms[at : at + length]) in self._classes[name]:
                return length
        return 0

    def occurs(self, name: str, norms: Sequence[str]) -> bool:
        """Return whether any entry of a class occurs in `norms`."""
        return any(self.spans(name, norms))

    def spans(self, name: str, norms: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each entry of a class in `norms`: the longest ones, none inside another."""
        at = 0 if self.may_occur(name, norms) else len(norms)
        while at < len(norms):
            length = self.match(name, norms, at)
            if length:
                yield at, at + length
            at += max(length, 1)

    def may_occur(self, name: str, norms: Iterable[str]) -> bool:
        """Return whether any of `norms` begins an entry of a class: a cheap pre-check."""
        return not self._lengths[name].keys().isdisjoint(norms)

    def has(self, name: str, *norms: str) -> bool:
        """Return whether the words are exactly one entry of a class."""
        return norms in self._classes[name]


def follows_noun(word: str) -> bool:
    """Return whether a folded word behind the first one of a sentence shows that this is no name: "Recette du gâteau"."""
    return word in _ARTICLES or word_classes().has("adjunct", word)


def _lengths(entries: Iterable[tuple[str, ...]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, set[int]] = {}
    for entry in entries:
        found.setdefault(entry[0], set()).add(len(entry))
    return {first: tuple(sorted(lengths, reverse=True)) for first, lengths in found.items()}


@lru_cache(maxsize=1)
def word_classes() -> WordClasses:
    """Return the classes of all languages; weekdays are added to the classes `time` and `recurring`, months to `time`."""
    classes: dict[str, list[str]] = dict(load_all("words")["classes"])
    weekdays: list[str] = load_all("time")["weekdays"].split()
    months = [name for names in MONTH_NAMES.values() for name in names]
    weekdays += [f"{name}s" for name in weekdays]
    recurring = [*classes["recurring"], *weekdays]
    return WordClasses(
        classes | {"time": [*classes["time"], *months, *weekdays], "recurring": recurring}
    )
