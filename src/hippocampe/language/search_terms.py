"""Queries in the manner of a search box, which name topics without a sentence. Pure.

"Redis and RabbitMQ" asks for two topics, and nothing answers both; "electricity bill" is no question, so how well a
text answers it is only known in comparison with other texts.
"""

from __future__ import annotations

import re
from typing import Final

from hippocampe.language.lexicon import words_of
from hippocampe.language.mentions import ADDRESS
from hippocampe.language.small_talk import is_small_talk
from hippocampe.language.statement import parse
from hippocampe.language.text import STOP_WORDS, fold, words_by_accent

MAX_TERMS: Final = 4
"""Each is a search of its own."""
MAX_WORDS: Final = 3
"""Of a term: without function words, a longer one is a statement in note form."""

_UNION: Final = words_of("union")
_CHUNK = re.compile(rf"{ADDRESS.pattern}|[,;/&+]|[^\s,;/&+]+", re.IGNORECASE)
"""A sign or a word; an address is one word."""
_AMOUNTS: Final = frozenset({"number", "money", "time"})
_SENTENCE = re.compile(r"[?!…]|\.(?:\s|$)|:\s")


def search_terms(query: str) -> tuple[str, ...]:
    """The topics that a query lists, as they are written; none for a sentence or a question.

    Function words other than "and", final punctuation and small-talk words exclude a query.
    """
    if _SENTENCE.search(query):
        return ()
    terms: list[list[str]] = [[]]
    for chunk in _CHUNK.findall(query):
        if chunk in ",;/&+" or fold(chunk) in _UNION:
            terms.append([])
        else:
            terms[-1].append(chunk)
    listed = tuple(dict.fromkeys(" ".join(term) for term in terms if term))
    if not 1 <= len(listed) <= MAX_TERMS or not all(map(_is_term, listed)):
        return ()
    return listed


def _is_term(text: str) -> bool:
    spoken = words_by_accent(text)
    if not 1 <= len(spoken) <= MAX_WORDS or not STOP_WORDS.isdisjoint(spoken):
        return False
    # "thanks love" is talk.
    return not (any(map(is_small_talk, spoken)) or _is_amount(text))


def _is_amount(text: str) -> bool:
    """Return whether a text is only an amount in a unit, or a time of day, which is said in reply: "10 mins", "5pm"."""
    tokens = parse(text).tokens
    amounts = (each for each in tokens if each.kind in _AMOUNTS)
    return len(tokens) == 1 and any(each.unit or each.kind == "time" for each in amounts)
