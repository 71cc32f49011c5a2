"""What words speak of: injuries, homes, jobs, pets. Pure.

A question and its answer often share a topic and no word: "who is hurt?", "Mickael broke his
shoulder". The topics and their words are data, `language/*/topics.toml`. A set of topics is the bits of one integer, so that those of many texts are compared at once.
"""

from collections.abc import Iterable
from functools import cache
from typing import Final

from hippocampe.language.lexicon import together

GREETING: Final = 1
"""The bit of small talk. It is the first topic, and no topic of a question."""
SHORTEST: Final = 3
"""Letters of the shortest beginning or ending that stands for a word."""


def topics_of(word: str) -> int:
    """The topics of a folded word, as bits in the order of the data; 0 for none."""
    whole, beginnings, endings = _words()
    found = whole.get(word, 0)
    # Few words begin or end like one of the data, and all known words are asked about at opening.
    first, last = _edges()
    if word[:SHORTEST] in first or word[-SHORTEST:] in last:
        for length in range(SHORTEST, len(word) + 1):
            found |= beginnings.get(word[:length], 0) | endings.get(word[-length:], 0)
    return found


def bits_of(topics: Iterable[int]) -> list[int]:
    """The numbers of the topics that any of these words speaks of, small talk left out."""
    together = 0
    for of_word in topics:
        together |= of_word
    together &= ~GREETING
    return [bit for bit in range(together.bit_length()) if together >> bit & 1]


@cache
def entries() -> dict[str, tuple[str, ...]]:
    """The words of each topic as they are written in the data."""
    return {name: tuple(dict.fromkeys(words.split())) for name, words in together("topics").items()}


@cache
def _words() -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """The topics of whole words, of beginnings and of endings."""
    found: tuple[dict[str, int], dict[str, int], dict[str, int]] = {}, {}, {}
    for bit, words in enumerate(entries().values()):
        for word in words:
            kept = found[word.endswith("*") + 2 * word.startswith("*")]
            key = word.strip("*")
            kept[key] = kept.get(key, 0) | 1 << bit
    return found


@cache
def _edges() -> tuple[frozenset[str], frozenset[str]]:
    """The first letters of all beginnings, and the last ones of all endings."""
    _, beginnings, endings = _words()
    first = frozenset(key[:SHORTEST] for key in beginnings)
    return first, frozenset(key[-SHORTEST:] for key in endings)
