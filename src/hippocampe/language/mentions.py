"""Find the names that a message calls, and tell small talk from what says something."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from hippocampe.language.text import STOP_WORDS, fold, words
from hippocampe.language.topics import GREETING, topics_of

_ADDRESS: Final = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+|\bwww\.\S+")
_REPEATED: Final = re.compile(r"(.)\1+")
_LAUGHTER: Final = ({"h", "a"}, {"h", "e"}, {"h", "i"}, {"l", "o"}, {"x", "d"})


def mentions(text: str, names: Iterable[str]) -> bool:
    """Whether a text contains one of these names as a word, in any case, with or without accents.

    A name in a web address is not a mention: "eko" is in "@eko" and "Ékö,", not in "https://eko.fr".
    """
    said = _ADDRESS.sub(" ", fold(text))
    return any(_word(fold(name)).search(said) is not None for name in names)


@lru_cache(maxsize=256)
def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def telling_words(text: str) -> list[str]:
    """The distinct words of a text that are neither stop words nor small talk, folded, in order."""
    return [word for word in dict.fromkeys(words(text)) if not _says_nothing(word)]


def is_small_talk(text: str) -> bool:
    """Whether a text says nothing: "ok", "mdrrr", "merci beaucoup !", "👍"."""
    return not telling_words(text)


def _says_nothing(word: str) -> bool:
    if len(word) == 1 and not word.isdigit():
        return True
    short = _REPEATED.sub(r"\1", word)
    return any(
        each in STOP_WORDS or topics_of(each) == GREETING or set(each) in _LAUGHTER
        for each in (word, short)
    )
