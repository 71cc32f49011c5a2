"""Recognise messages that need no memory: small talk, tasks, code, general knowledge. Pure.

The words are data: `language/*/questions.toml`. Text between quotation marks is the object of a task
("translate 'my dog is ill'"), so it is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import Final

from hippocampe.language.follow_ups import calls
from hippocampe.language.lexicon import any_of, load_all, words_of
from hippocampe.language.open_questions import recalled
from hippocampe.language.person import is_about_speaker, is_to_somebody
from hippocampe.language.questions import FILLER, is_question
from hippocampe.language.small_talk import is_small_talk
from hippocampe.language.text import STOP_WORDS, fold, words, written_words

_QUOTED: Final = re.compile(r"«[^»]*»|“[^”]*”|\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)|`[^`]*`")
_AFTER_COLON: Final = re.compile(r"\s:\s.*|(?<=\w): .*", re.DOTALL)
_CODE: Final = re.compile(
    r"(?<!\w)\w+\([^()\s]*(?:\([^()]*\))?[^()]*\)\s*[:;{.]|[;{}]\s*$|=>|==|\+=|</\w+>|\b(?:def|class) \w+[(:]"
    r"|\bimport \w+$|^\s*(?:https?://|www\.)\S+\s*$",
    re.MULTILINE,
)
_AROUND_SUMS: Final = STOP_WORDS.union(
    "x",
    *(words_of(role, file="questions") for role in ("manners.sums", "fillers", "memory.greetings")),
)
_YOU_TOO: Final = (
    rf"(?:{any_of(load_all('questions')['continuing'])}\W+)?{any_of(sorted(words_of('addressee')))}"
)
"""Before the name of the one who is asked as well: "and you, Eko, where do you live?"."""
_SUM: Final = re.compile(r"\d\s*[+*^=]\s*\d|\d\s+[-x/×÷]\s+\d")


def asks_nothing(
    text: str, *, names: Collection[str] = (), companions: Collection[str] = ()
) -> bool:
    """Return whether a message can be answered without memory.

    A task or a question that names somebody of the space, or is about the speaker, may need memory:
    "write a poem for my sister".

    Args:
        text: The message.
        names: Folded names of people of the space that the message names.
        companions: Names of the companion, which do not count.
    """
    if _CODE.search(text) or _is_sum(text, companions):
        return True
    named = {word for name in names for word in name.split()}
    if calls(text, named):
        return True
    if is_small_talk(text, names=companions):
        # "Ben" is a word of small talk, and a name.
        inside = {fold(word) for word in written_words(text)[1:] if word != word.lower()}
        return inside.isdisjoint(named)
    unquoted = _QUOTED.sub(" ", text)
    if is_task(unquoted):
        unquoted = _AFTER_COLON.sub(" ", unquoted)
    elif not is_lookup(unquoted):
        return False
    asked = _without_task(unquoted)
    personal = is_about_speaker(_lookup().sub(" ", asked)) or is_to_somebody(asked)
    return named.isdisjoint(words(asked)) and not personal


def without_address(text: str, names: Collection[str]) -> str:
    """A message without the name of the companion whom it addresses: "dis Eko, il part quand ?" → "il part quand ?".

    Args:
        text: The message.
        names: Names of the companion.
    """
    if not any(fold(name) in fold(text) for name in names):
        return text
    called = any_of(map(re.escape, names))
    opened = re.match(rf"\W*{_YOU_TOO}\W+{called}\b\W*", text, re.IGNORECASE)
    if opened and is_to_somebody(text[opened.end() :]):
        return text[opened.end() :]
    found = re.match(
        rf"[^\w@]*(?P<filler>{FILLER}\W+)?(?P<at>@)?{called}\b(?P<sign>\s*[,:;!])?\s*",
        text,
        re.IGNORECASE,
    )
    rest = text[found.end() :] if found else text
    # "Eko est un robot" is about the companion.
    addresses = found is not None and (
        found["filler"] or found["at"] or found["sign"] or is_question(rest) or recalled(rest)
    )
    spoken = re.sub(
        rf"[\s,]+@?{called}(?=\W*$)", "", rest if addresses else text, flags=re.IGNORECASE
    )
    return spoken if words(spoken) else text


def is_task(text: str) -> bool:
    """Return whether a message begins with a task: "translate …", "peux-tu m'écrire un …"."""
    return _task().match(fold(text)) is not None


def is_lookup(text: str) -> bool:
    """Return whether a message asks for general knowledge: "what is a …", "capitale de …"."""
    return _lookup().search(fold(text)) is not None


def _is_sum(text: str, companions: Collection[str]) -> bool:
    """Return whether a message asks for no more than a sum: "the meeting is 10 - 11" tells of a meeting."""
    if _SUM.search(text) is None:
        return False
    called = frozenset(word for name in companions for word in words(name))
    said = (word for word in words(_without_task(text)) if not word.isdigit())
    return all(word in _AROUND_SUMS or word in called for word in said)


def _without_task(text: str) -> str:
    """A folded text without the words of the task: its first one, "write", may look like a name."""
    return _task().sub(" ", fold(text))


@cache
def _task() -> re.Pattern[str]:
    questions = load_all("questions")
    before = any_of(questions["manners"]["before"])
    return re.compile(rf"^\W*(?:{before}\W+)*{any_of(questions['manners']['tasks'])}\b")


@cache
def _lookup() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){any_of(load_all('questions')['manners']['lookups'])}(?!\w)")
