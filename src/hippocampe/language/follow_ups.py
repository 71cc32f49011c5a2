"""Complete questions that say nothing of what they are about: "and hers?", "what time?", "et Ben ?". Pure.

They ask about what was said before them. The words are data: `language/*/questions.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache

from hippocampe.language.lexicon import load_all, words_of
from hippocampe.language.person import is_first_person, is_to_somebody
from hippocampe.language.small_talk import is_small_talk
from hippocampe.language.statement import parse
from hippocampe.language.text import STOP_WORDS, fold, words
from hippocampe.language.word_classes import word_classes

MOST_ELLIPTICAL = 8
"""Words of a question that does not say what it is about."""
MOST_CONTINUING = 5
"""Words of a question that goes on with what was asked: "et le client ?"."""

_WRITTEN = re.compile(r"\w+(?:['’-]\w+)*")


def is_elliptical(question: str, names: Collection[str] = ()) -> bool:
    """Return whether a question does not say what it is about, though perhaps of whom or when: "and Ben?", "on Friday?".

    Args:
        question: The question.
        names: Folded words of it that name somebody.
    """
    if len(words(question)) > MOST_ELLIPTICAL:
        return False
    of_others = _own().sub(" ", fold(question))
    if is_to_somebody(question) or is_first_person(of_others):
        return False
    if not names and not asks_own(question) and is_small_talk(question):
        return False
    said = frozenset(words(of_others)) - _empty_words() - times_in(question)
    return said.issubset(names) and not (names and _tells_of_whom(question))


def _tells_of_whom(question: str) -> bool:
    """Return whether what a question names does or is something: "when is Julie off?", not "c'est quand pour Julie ?"."""
    spoken = [word.norm for word in parse(question).words]
    return not (
        _verbs().isdisjoint(spoken)
        or spoken[-1] in words_of("grammar.of")
        or not _standing_for_others().isdisjoint(spoken)
    )


def times_in(text: str) -> frozenset[str]:
    """The folded words of a text that name a time or a number."""
    times = word_classes().times
    return frozenset(word for word in words(text) if word in times or word[0].isdigit())


def asks_own(question: str) -> bool:
    """Return whether a follow-up asks the same of its speaker: "and mine?", "et moi ?"."""
    return _own().search(fold(question)) is not None


def continues(question: str) -> bool:
    """Return whether a question goes on with what was asked: "and the caretaker?", "et le client ?"."""
    return len(words(question)) <= MOST_CONTINUING and _opening().match(fold(question)) is not None


def completed(question: str, before: str, replaced: Collection[str]) -> str:
    """A question with what was said before it: "what time?" after "When is swimming?" is "swimming what time?".

    Args:
        question: An elliptical question.
        before: What was said before it.
        replaced: Folded words of it that the question replaces.
    """
    return " ".join((*_carried(before, replaced), question))


def _carried(before: str, replaced: Collection[str]) -> Iterator[str]:
    for written in _WRITTEN.findall(before):
        spoken = words(written)
        if not _empty_words().issuperset(spoken) and not set(replaced).issuperset(spoken):
            yield written


@cache
def _empty_words() -> frozenset[str]:
    return (
        STOP_WORDS | words_of("frame", file="questions") | words_of("stand_ins", file="questions")
    )


@cache
def _verbs() -> frozenset[str]:
    return words_of("grammar.auxiliary") - words_of("grammar.at")


@cache
def _standing_for_others() -> frozenset[str]:
    return words_of("grammar.third_person") | words_of("stand_ins", file="questions")


@cache
def _own() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(load_all('questions')['own'])})\b")


@cache
def _opening() -> re.Pattern[str]:
    return re.compile(rf"^\W*(?:{'|'.join(load_all('questions')['continuing'])})\b")
