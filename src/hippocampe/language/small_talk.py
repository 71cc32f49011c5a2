"""Recognise small talk: greetings, thanks, laughter, agreement. Pure.

The words are data: `language/*/small_talk.toml`. A message with any other word is not small talk.
"""

import re
from collections.abc import Collection, Iterator
from functools import cache
from itertools import product
from typing import Final

from hippocampe.language.lexicon import any_of, load_all, words_of
from hippocampe.language.negation import without_negation
from hippocampe.language.text import STOP_WORDS, fold, words, words_by_accent
from hippocampe.language.tokenizer import tokenize

MAX_WORDS: Final = 60
"""Longer messages are not small talk."""
_FILE: Final = "small_talk"
_DRAWN_OUT: Final = re.compile(r"([^\W\d_])\1+")
_WORDS: Final = re.compile(r"(?:[\w ]\?|\w)+")
_OPTIONAL: Final = re.compile(r"([\w ])\?")


def is_small_talk(text: str, *, names: Collection[str] = ()) -> bool:
    """Return whether a message is small talk: "Salut, ça va ?", "haha thanks!", an emoji.

    Args:
        text: The message.
        names: Names that do not count as content, such as that of the companion.
    """
    # Cut first: a long text is not read to the end.
    found = words_by_accent(text[: MAX_WORDS * 40])
    if len(found) > MAX_WORDS:
        return False
    ignored, spoken = _folded(names), list[str]()
    for word in map(_short, found):
        # The first word of most messages decides, which costs less than looking for phrases.
        if word not in _possible_words() and word not in ignored:
            return False
        spoken.append(word)
    line = _phrases().sub(" ", "".join(f" {word}" for word in spoken))
    return _short_words("words") >= set(line.split()) - ignored


def reports_small_talk(statement: str, *, names: Collection[str] = ()) -> bool:
    """Return whether a statement only reports small talk: "The user greeted the assistant".

    Args:
        statement: The statement.
        names: Names of the speakers.
    """
    _, negations, _ = without_negation(tokenize(statement), statement)
    if negations:
        # "Does not feel well" is made of the same words as "feels well".
        return False
    spoken = {_short(word) for word in words(statement) if word not in STOP_WORDS}
    return _short_words("words") | _short_words("reports") >= spoken - _folded(names)


def _short(word: str) -> str:
    """A word without repeated letters: "saluuut" and "hahaha" match their plain form."""
    return _DRAWN_OUT.sub(r"\1", word)


def _folded(names: Collection[str]) -> set[str]:
    return {_short(word) for name in names for word in words(fold(name))}


@cache
def _short_words(role: str) -> frozenset[str]:
    return frozenset(map(_short, words_of(role, file=_FILE)))


@cache
def _phrases() -> re.Pattern[str]:
    return re.compile(rf"(?: {any_of(_written_phrases())})(?= |$)")


@cache
def _written_phrases() -> tuple[str, ...]:
    phrases: list[str] = load_all(_FILE)["phrases"]
    return tuple(map(_short, phrases))


@cache
def _possible_words() -> frozenset[str]:
    """The words of small talk, those of the phrases included: a message with any other word is none."""
    written = {found for each in _written_phrases() for found in _WORDS.findall(each)}
    spelled = {word for each in written for text in _spellings(each) for word in text.split()}
    return _short_words("words") | spelled


def _spellings(words: str) -> Iterator[str]:
    """The texts that words of a regular expression match: "amie?s?" four, "any ?time" two."""
    parts = _OPTIONAL.split(words)
    choices = [(part, "") if at % 2 else (part,) for at, part in enumerate(parts)]
    return map("".join, product(*choices))
