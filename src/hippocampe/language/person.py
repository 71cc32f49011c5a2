"""Detect grammatical person: whether a text is about its speaker or its addressee."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Final

from hippocampe.language.lexicon import any_of, load_all, words_of
from hippocampe.language.statement import Statement, parse
from hippocampe.language.tense import is_past
from hippocampe.language.text import fold


def _any_word(role: str) -> re.Pattern[str]:
    return re.compile(rf"\b{any_of(sorted(words_of(role)))}\b")


_FIRST_PERSON: Final = _any_word("first_person")
_NOT_FIRST_PERSON: Final = _any_word("not_first_person")
_USER: Final = _any_word("grammar.user")
_SPEAKER: Final = _any_word("one_speaker")
_FOR_ONESELF: Final = _any_word("for_oneself")
_ALL_THERE: Final = _any_word("all_there")
_ADDRESSEE: Final = _any_word("addressee")
_REQUEST: Final = re.compile(rf"\b{any_of(load_all('questions')['requests'])}\b")


def is_first_person(text: str) -> bool:
    """Return whether `text` uses the first person: "je", "mon", "I", "we"."""
    return _FIRST_PERSON.search(fold(_NOT_FIRST_PERSON.sub("", text))) is not None


def is_about_speaker(text: str) -> bool:
    """Return whether `text` is about its single speaker: "my dog", but not "our dog" or "tell me"."""
    return _SPEAKER.search(_REQUEST.sub("", fold(text))) is not None


def is_about_group(text: str) -> bool:
    """Return whether `text` is about its speaker and others: "I cook for us two", but not "I cook"."""
    others = _SPEAKER.sub("", fold(_NOT_FIRST_PERSON.sub("", text)))
    return bool(_FIRST_PERSON.search(others) or names_all(others))


def names_all(text: str) -> bool:
    """Return whether `text` names all who are there: "everyone", "tout le monde"."""
    return _ALL_THERE.search(fold(text)) is not None


def names_speaker_once(text: str) -> bool:
    """Return whether `text` names its single speaker once: "I cook tonight", but not "I cook for myself" or "I see my mum"."""
    return len(_SPEAKER.findall(fold(text))) == 1


def is_for_speaker(text: str) -> bool:
    """Return whether its speaker does something only for themselves: "I cook for myself", but not "this is for me"."""
    return parse(text).subject == "speaker" and _FOR_ONESELF.search(fold(text)) is not None


def names_user(text: str) -> bool:
    """Return whether `text` names its speaker by role, as programs write: "User lives in Lille"."""
    return _USER.search(fold(text)) is not None


def is_to_somebody(text: str) -> bool:
    """Return whether `text` addresses someone: "you", "ton"."""
    return _ADDRESSEE.search(fold(text)) is not None


def of_speaker(text: str) -> frozenset[str]:
    """Return what `text` says that its speaker has or does, by stem or relative: "my charger", "I work", but not "I left"."""
    said, found = parse(text), set[str]()
    past, content = is_past(said), set(said.content)
    for at, token in enumerate(said.tokens):
        if "own" in token.roles or ("first_person" in token.roles and not past):
            run = takewhile(content.__contains__, range(_next(said, at), len(said.tokens)))
            after = (said.tokens[each] for each in run)
            found.update(each.kin or each.stem for each in after if each.kind == "word")
    return frozenset(found)


def _next(statement: Statement, at: int) -> int:
    """The place of the first word after one that carries meaning."""
    return next((each for each in statement.content if each > at), len(statement.tokens))
