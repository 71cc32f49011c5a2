"""People whom a text tells in other words than a question asks for: "I report to Helen" tells of the boss. Pure.

The attributes and their wordings are data: `relations.toml` of each language.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from hippocampe.language.lexicon import load_all, relation_schema
from hippocampe.language.relations import relations_of
from hippocampe.language.statement import parse
from hippocampe.language.text import fold, words

_OF_SPEAKER: Final = "user"


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
