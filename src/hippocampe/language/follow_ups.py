"""Complete questions that say nothing of what they are about: "and hers?", "what time?", "et Ben ?". Pure.

They ask about what was said before them. The words are data: `language/*/questions.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Set
from functools import cache
from itertools import dropwhile, pairwise

from hippocampe.language.lexicon import any_of, load, load_all, words_of
from hippocampe.language.person import (
    is_about_group,
    is_about_speaker,
    is_first_person,
    is_to_somebody,
    names_all,
    names_speaker_once,
)
from hippocampe.language.questions import FILLER, asks, asks_anything, is_question
from hippocampe.language.small_talk import is_small_talk
from hippocampe.language.statement import parse
from hippocampe.language.tense import Tense, is_past, tense_of
from hippocampe.language.text import STOP_WORDS, fold, words
from hippocampe.language.word_classes import word_classes

MOST_ELLIPTICAL = 8
"""Words of a question that does not say what it is about."""
MOST_CONTINUING = 5
"""Words of a question that goes on with what was asked: "et le client ?"."""

_WRITTEN = re.compile(r"\w+(?:['’-]\w+)*")
_PIECES = re.compile(rf"({_WRITTEN.pattern})")
_POSSESSIVE = re.compile(r"['’]s?$")
_STAND_INS = words_of("stand_ins", file="questions")
_EMPTY_WORDS = STOP_WORDS | words_of("frame", file="questions") | _STAND_INS
_FOR_OTHERS = words_of("grammar.third_person") | _STAND_INS
"""Words in the place of a name."""
_VERBS = words_of("grammar.auxiliary") - words_of("grammar.at")
_BEFORE_NOUNS = words_of("grammar.at") | words_of("grammar.of")
_BEFORE_NAMES = _BEFORE_NOUNS | words_of("grammar.be")


def is_elliptical(question: str, names: Collection[str] = ()) -> bool:
    """Return whether a question does not say what it is about, though perhaps of whom or when: "and Ben?", "on Friday?".

    Args:
        question: The question.
        names: Folded words of it that name somebody.
    """
    if len(words(question)) > MOST_ELLIPTICAL:
        return False
    of_others = _of_role("own").sub(" ", fold(question))
    if is_to_somebody(question) or is_first_person(of_others):
        return False
    if (not names and not asks_own(question) and is_small_talk(question)) or calls(question, names):
        return False
    said = frozenset(words(of_others)) - _EMPTY_WORDS - times_in(question)
    return said.issubset(names) and not (names and _tells_of_whom(question))


def calls(text: str, names: Collection[str]) -> bool:
    """Return whether a text is small talk that calls somebody by name: "evening, Ada", but not "no, Ada" or "tout sur Ada".

    Args:
        text: The text.
        names: Folded words of it that name somebody.
    """
    said = words(text)
    before = [word for word, after in pairwise(said) if after in names]
    return (
        bool(before)
        and said[0] not in names
        and _BEFORE_NAMES.isdisjoint(before)
        and not (is_question(text) or continues(text) or corrects(text, names))
        and is_small_talk(text, names=names)
    )


def _tells_of_whom(question: str) -> bool:
    """Return whether what a question names does or is something: "when is Julie off?", not "c'est quand pour Julie ?"."""
    spoken = [word.norm for word in parse(question).words]
    return not (
        _VERBS.isdisjoint(spoken)
        or spoken[-1] in words_of("grammar.of")
        or not _FOR_OTHERS.isdisjoint(spoken)
    )


def corrects(text: str, names: Collection[str] = ()) -> bool:
    """Return whether a text only gives another value for what was said before it: "no wait, 4", "pardon, mardi".

    Args:
        text: The text.
        names: Folded words of it that name somebody.
    """
    said = frozenset(words(text))
    correcting = words_of("correcting", file="questions")
    if len(said) > MOST_ELLIPTICAL or said.isdisjoint(correcting) or asks_anything(text):
        return False
    values = times_in(text).union(names) - correcting
    return bool(values) and said <= values | correcting | _EMPTY_WORDS


def times_in(text: str) -> frozenset[str]:
    """The folded words of a text that name a time or a number."""
    times = word_classes().times
    return frozenset(word for word in words(text) if word in times or word[0].isdigit())


def for_all(text: str) -> str | None:
    """Return a plan as one for all: "I'm cooking tonight for everyone"; None if a text has no plan of its speaker or a group.

    A plan names its time: "we're tired" is none.
    """
    told = parse(text)
    is_ours = told.subject == "speaker" or is_about_group(text)
    if is_about_speaker(text):
        alone = told.subject == "speaker" and names_speaker_once(text)
        is_ours = alone and asks(text) <= {"first_person"} and not is_question(text)
    if not (is_ours and times_in(text)) or is_past(told) or names_all(text):
        return None
    return f"{text.rstrip(' .!?…')} {load(told.language, 'words')['for_all']}"


def is_plan(text: str) -> bool:
    """Return whether a text may tell what its speaker or a group is going to do, or ask what they will: "barbecue tonight!"."""
    told, of_group = parse(text), is_about_group(text)
    if is_past(told) or told.subject not in ("speaker", "other"):
        return False
    if not (asks(text) <= {"first_person"}):
        return False
    if is_about_speaker(text) and not (of_group or names_speaker_once(text)):
        # "I'm cooking for myself".
        return False
    is_ahead = tense_of(told) is Tense.FUTURE and not asks_anything(text)
    return told.subject == "speaker" or of_group or is_ahead or bool(times_in(text))


def asks_own(question: str) -> bool:
    """Return whether a follow-up asks the same of its speaker: "and mine?", "et moi ?"."""
    return _of_role("own").search(fold(question)) is not None


def refers_to_thing(question: str) -> bool:
    """Return whether a question may refer to a thing that was named before it: "who made it?", "ça coûte combien ?"."""
    short = len(words(question)) <= MOST_ELLIPTICAL
    return (
        short and asks_anything(question) and _of_role("things").search(fold(question)) is not None
    )


def continues(question: str, *, most: int = MOST_CONTINUING) -> bool:
    """Return whether a question of at most so many words goes on with what was asked: "and the caretaker?", "et le client ?"."""
    return len(words(question)) <= most and _opening().match(fold(question)) is not None


def asks_other_time(question: str, named_time: str) -> bool:
    """Return whether a question goes on with the last one, and only names another time: "and next week?"."""
    rest = frozenset(words(question.replace(named_time, " ", 1)))
    return continues(question, most=MOST_ELLIPTICAL) and rest <= _EMPTY_WORDS


def completed(question: str, before: str, replaced: Collection[str]) -> str:
    """A question with what was said before it: "what time?" after "When is swimming?" is "swimming what time?".

    Args:
        question: An elliptical question.
        before: What was said before it.
        replaced: Folded words of it that the question replaces.
    """
    return " ".join((*_carried(before, replaced), question))


def asked_of_another(question: str, before: str, names: Set[str], replaced: Set[str]) -> str | None:
    """The question before, asked of what this one names: "and Jess's?" after "is Ben's car red?" is "is Jess's car red?".

    Args:
        question: The question.
        before: What was said before it.
        names: Folded words of the question that name somebody; without any, it names a thing: "and the vet?".
        replaced: Folded words of the names in what was said before; the first name is replaced.

    Returns:
        None if the question asks something else too, or there is no name to replace.
    """
    opening = _opening().match(fold(question))
    if opening is None or asks_own(question):
        return None
    written = _WRITTEN.findall(question)[len(words(opening[0])) :]
    spoken = {word for each in written for word in words(each)}
    content = spoken - _EMPTY_WORDS - times_in(question) - names
    # "And how many seats?" asks something else, "and what about the vet?" does not.
    asks_else = not names and bool(asks(" ".join(written)) - {"first_person"})
    if not _VERBS.isdisjoint(spoken) or bool(names) == bool(content) or asks_else:
        return None
    if names:
        written = [each for each in written if not names.isdisjoint(words(each))]
    else:
        written = list(dropwhile(lambda each: fold(each) in _BEFORE_NOUNS, written))
    return with_name(before, replaced, " ".join(written))


def asked_of_asker(question: str, before: str, replaced: Set[str], asker: str) -> str | None:
    """The question before, asked of the one who asks now: "and mine?" after "is Ben's car red?" is "is Jess's car red?".

    Args:
        question: The question.
        before: What was said before it.
        replaced: Folded words of the names in what was said before; the first name is replaced.
        asker: The name of the one who asks.

    Returns:
        None if the question asks something else too, or there is nobody to replace.
    """
    rest = _of_role("own").sub(" ", _opening().sub(" ", fold(question)))
    if not (asks_own(question) and continues(question) and _EMPTY_WORDS.issuperset(words(rest))):
        return None
    return before if is_about_speaker(before) else with_name(before, replaced, asker)


def with_name(text: str, replaced: Set[str], name: str) -> str | None:
    """A text with a name in the place of the first one, and without the others; None if it has none."""
    pieces: list[str] = []
    placed = False
    for piece in _PIECES.split(text):
        if not (spoken := set(words(piece))) or not spoken <= replaced:
            pieces.append(piece)
        elif not placed:
            article = "".join(pieces).split()[-1:]
            name = name.removeprefix(" ".join((*article, "")))
            ending = _POSSESSIVE.search(piece)
            pieces.append(name if ending is None or _POSSESSIVE.search(name) else name + ending[0])
            placed = True
    return "".join(pieces) if placed else None


def _carried(before: str, replaced: Collection[str]) -> Iterator[str]:
    for written in _WRITTEN.findall(before):
        spoken = words(written)
        if not _EMPTY_WORDS.issuperset(spoken) and not set(replaced).issuperset(spoken):
            yield written


@cache
def _of_role(role: str) -> re.Pattern[str]:
    return re.compile(rf"\b{any_of(load_all('questions')[role])}\b")


@cache
def _opening() -> re.Pattern[str]:
    continuing = any_of(load_all("questions")["continuing"])
    return re.compile(rf"^\W*(?:{FILLER}\W*)*?{continuing}\b")
