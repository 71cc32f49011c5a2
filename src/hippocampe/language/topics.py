"""Map words to topics: injuries, homes, jobs, pets.

A question and its answer often share a topic but no word: "who is hurt?", "Mickael broke his
shoulder". Topics and their words are data (`language/*/topics.toml`). A set of topics is the bits of
one integer, so that many texts are compared at once.
"""

from collections.abc import Iterable
from functools import cache, reduce
from typing import Final

from hippocampe.language.lexicon import load_all

GREETING: Final = 1
"""Bit of small talk, the first topic. Questions are never about it."""
MIN_AFFIX: Final = 3
"""Minimum length of a prefix or suffix in the data, in letters."""


def topics_of(word: str) -> int:
    """Return the topics of a folded word, as bits in the order of the data; 0 for none."""
    whole, prefixes, suffixes = _topic_bits()
    found = whole.get(word, 0)
    # Cheap pre-check: called for the whole vocabulary at open, and most words match no affix.
    first, last = _affix_edges()
    if word[:MIN_AFFIX] in first or word[-MIN_AFFIX:] in last:
        for length in range(MIN_AFFIX, len(word) + 1):
            found |= prefixes.get(word[:length], 0) | suffixes.get(word[-length:], 0)
    return found


def topic(name: str) -> int:
    """Return the bit of a topic, by its name in the data."""
    return 1 << tuple(topic_words()).index(name)


def topic_numbers(topics: Iterable[int]) -> list[int]:
    """Return the numbers of all topics set in any of these bit sets, except small talk."""
    union = reduce(int.__or__, topics, 0) & ~GREETING
    return [bit for bit in range(union.bit_length()) if union >> bit & 1]


@cache
def topic_words() -> dict[str, tuple[str, ...]]:
    """Return the words of each topic as written in the data."""
    return {name: tuple(dict.fromkeys(words.split())) for name, words in load_all("topics").items()}


@cache
def _topic_bits() -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Topic bits by whole word, by prefix ("hous*") and by suffix ("*itis")."""
    found: tuple[dict[str, int], dict[str, int], dict[str, int]] = {}, {}, {}
    for bit, words in enumerate(topic_words().values()):
        for word in words:
            table = found[word.endswith("*") + 2 * word.startswith("*")]
            key = word.strip("*")
            table[key] = table.get(key, 0) | 1 << bit
    return found


@cache
def _affix_edges() -> tuple[frozenset[str], frozenset[str]]:
    """Return the first letters of all prefixes, and the last letters of all suffixes."""
    _, prefixes, suffixes = _topic_bits()
    first = frozenset(key[:MIN_AFFIX] for key in prefixes)
    return first, frozenset(key[-MIN_AFFIX:] for key in suffixes)
