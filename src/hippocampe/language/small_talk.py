"""Recognise small talk: greetings, thanks, laughter, agreement. Pure.

The words are data: `language/*/small_talk.toml`. A message with any other word is not small talk.
"""

import re
from collections.abc import Collection
from functools import cache
from typing import Final

from hippocampe.language.lexicon import any_of, load_all, words_of
from hippocampe.language.negation import without_negation
from hippocampe.language.text import STOP_WORDS, fold, words, words_by_accent
from hippocampe.language.tokenizer import tokenize

MAX_WORDS: Final = 60
"""Longer messages are not small talk."""
_FILE: Final = "small_talk"
_DRAWN_OUT: Final = re.compile(r"([^\W\d_])\1+")


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
    line, ignored, at = _short(" ".join(("", *found))), _folded(names), 0
    while at < len(line):
        if phrase := _phrases().match(line, at):
            at = phrase.end()
            continue
        word = line[at + 1 :].partition(" ")[0]
        if word not in _short_words("words") and word not in ignored:
            return False
        at += 1 + len(word)
    return True


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
    phrases: list[str] = load_all(_FILE)["phrases"]
    return re.compile(rf" {any_of(map(_short, phrases))}(?= |$)")
