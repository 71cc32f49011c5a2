"""Detect questions and the answer they ask for: a date, a number, a place."""

from __future__ import annotations

import re
from typing import Final

from hippocampe.language.lexicon import load_all, table_of
from hippocampe.language.person import is_first_person
from hippocampe.language.text import fold

_QUESTIONS: Final = load_all("questions")
_OPENING: Final = re.compile(
    rf"^(?:(?:{'|'.join(_QUESTIONS['fillers'].split())}) )*[,\s]*"
    rf"(?:{'|'.join(_QUESTIONS['openers'])})\b"
)
_CLOSING: Final = re.compile(rf"\b(?:{'|'.join(_QUESTIONS['closers'])})\W*$")
_CLAUSES: Final = re.compile(r"[,;:.!?…]\s*\w|\n")
_ASKS: Final = {
    asked: re.compile(rf"\b(?:{'|'.join(patterns)})\b")
    for asked, patterns in _QUESTIONS["asks"].items()
}
_IDIOMS: Final = tuple(
    (re.compile(rf"\b{idiom}\b", re.IGNORECASE), meaning)
    for idiom, meaning in table_of("idioms", file="questions").items()
)


def is_question(text: str) -> bool:
    """Return whether `text` has a question mark or opens with a question word or verb."""
    return "?" in text or _OPENING.match(fold(text.strip())) is not None


def only_asks(text: str) -> bool:
    """Return whether a text is one question and states nothing: "where does she live?", "elle vit où ma mère"."""
    clause = fold(text.strip())
    if not clause or _CLAUSES.search(clause):
        return False
    return is_question(clause) or _CLOSING.search(clause) is not None


def opens(word: str) -> bool:
    """Return whether a folded word may open a question: "qui", "when", "did"."""
    return _OPENING.match(word) is not None


def asks(question: str) -> frozenset[str]:
    """Return the kinds of answer that a question asks for.

    Returns:
        Any of `when`, `number`, `where`; plus `first_person` for a question in the first person.
    """
    folded = fold(question)
    found = {name for name, pattern in _ASKS.items() if pattern.search(folded)}
    return frozenset(found | {"first_person"} if is_first_person(question) else found)


def rewrite_idioms(question: str) -> str:
    """Replace idioms by their plain meaning: "for a living" becomes "as a job"."""
    for idiom, meaning in _IDIOMS:
        question = idiom.sub(meaning, question)
    return question
