"""People whom a text tells in other words than a question asks for: "I report to Helen" tells of the boss. Pure.

The attributes and their wordings are data: `relations.toml` of each language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from hippocampe.language.lexicon import any_of, load_all, relation_schema
from hippocampe.language.relations import Relation, relations_of
from hippocampe.language.statement import parse
from hippocampe.language.text import fold, words

_OF_SPEAKER: Final = "user"
_OF_WHOM: Final = re.compile(rf"^{any_of(load_all('questions')['of_whom']['forms'])}")
_MARITAL_STATUS, _MARRIED, _SPOUSE = "marital status", "married", "spouse"
_IMPLIED: Final = {"vegan": "vegetarian"}
"""The state that another one is a stricter form of."""


def attributes_asked(question: str) -> Mapping[str, str]:
    """The attributes of people that a question names, each with its word there: {"boss": "manager"}."""
    return {named: word for word in words(question) if (named := _names().get(word))}


def with_attributes(text: str, question: str, asked: Mapping[str, str]) -> str:
    """`text` with the people that it tells in other words than a question: "I report to Helen (boss: Helen)".

    Args:
        text: A statement of its speaker, or of somebody whom the question names.
        question: The question.
        asked: Its attributes, from `attributes_asked`.
    """
    if not asked or not set(words(text)).isdisjoint(_names()):
        return text
    for each in relations_of(text):
        word = asked.get(each.name)
        if word is None or not each.sure or each.negated or each.aspect == "end":
            continue
        if each.subject == _OF_SPEAKER or set(words(each.subject)) & set(words(question)):
            wanted = set(each.value.split())
            written = [word.surface for word in parse(text).words if word.norm in wanted]
            return f"{text} ({word}: {' '.join(written)})"
    return text


def state_asked(question: str) -> Relation | None:
    """Return the state whose holder a question asks for, if it is one of few that exclude each other: "who's vegan?" asks for "vegan"."""
    asked, found = _OF_WHOM.subn(_in_its_place, fold(question).strip(" ?!."))
    stated = relations_of(asked) if found else ()
    return next((each for each in stated if each.kind == "choice" and not each.negated), None)


def is_in_another_state(text: str, asked: Relation) -> bool:
    """Return whether a text tells another state than the one asked for: "Nora is vegetarian", of "who's vegan?"."""
    stated = relations_of(text)
    told = [each.value for each in stated if each.name == asked.name]
    if asked.name == _MARITAL_STATUS:
        told += [_MARRIED for each in stated if each.name == _SPOUSE and not each.negated]
    return bool(told) and asked.value not in (*told, *(_IMPLIED.get(each) for each in told))


def _in_its_place(found: re.Match[str]) -> str:
    """Somebody in the place of who is asked for."""
    verb = found[found.lastindex] if found.lastindex else ""
    return f"ann {verb}".rstrip()


@cache
def _names() -> Mapping[str, str]:
    """The attributes of people that other wordings tell as well, by each single word for them in any language."""
    schema, named = relation_schema(), load_all("relations")["attributes"]["names"]
    told = {entry.get("name", key) for key, entry in schema["relations"].items()}
    return {
        fold(word): key
        for key, entry in schema["attributes"].items()
        if key in told and entry["kind"] == "name" and not entry.get("things") and key != "name"
        for word in named.get(key, ())
        if " " not in word
    }
