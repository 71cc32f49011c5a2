"""The words and values of a statement with their roles: subject, verb, links and moods.

A shallow parse: the subject is what precedes the first verb; each word is labelled by its preposition or determiner.
That is enough to align two statements and find their difference.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hippocampe.language.amounts import Found, Kind, value_at
from hippocampe.language.grammar import Grammar, plain_stem
from hippocampe.language.text import STOP_OF
from hippocampe.language.tokenizer import Word, tokenize, told_by_accent
from hippocampe.language.word_classes import word_classes

_SUBJECT_OF_ROLE: Final = (
    ("definite", "definite"), ("own", "own"), ("others_own", "other_own"), ("indefinite", "indefinite"),
    ("first_person", "speaker"), ("third_person", "third"),
)  # fmt: skip
_DETERMINING: Final = frozenset({"definite", "own", "others_own", "indefinite"})
_BEFORE_NOUN: Final = frozenset({"definite", "indefinite", "own", "others_own", "of", "at"})
_LINKS: Final = ("of", "at", "be", "have")
_VERBAL: Final = frozenset({"have", "auxiliary", "conjunctions"})
_QUANTITIES: Final = frozenset({"number", "money", "date", "time"})
_SHORT: Final = 4
_GLUED: Final = re.compile(r"([a-z])([bcdfghklmnpqrstvz]\w{2,})")
_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Token:
    """A word, or the words of one value.

    Attributes:
        norm: The folded word in standard spelling ("je suis" for "jsuis").
        stem: The key for comparison: the stem of a word; kind, value and unit of a value.
        kind: Kind of value, or "word".
        value: The value; "" for a word.
        unit: Its unit.
        name: Whether it is a proper name.
        opens: Whether it opens a sentence, where a capital is no evidence.
        roles: Grammatical roles.
        kin: The relationship it names, or "".
        stops: Whether it means little by itself, in its language: "car" is a thing in English.
    """

    norm: str
    stem: str
    kind: Kind
    value: str
    unit: str
    name: bool
    opens: bool
    roles: frozenset[str]
    kin: str
    stops: bool = False

    @property
    def shown(self) -> str:
        """The word, or the value with its unit, for people."""
        return f"{self.value} {self.unit}".strip() if self.kind in _QUANTITIES else self.norm


def tokens_of(text: str, known: Grammar) -> tuple[Token, ...]:
    """Return the words and values of a statement."""
    words: list[Word] = []
    for word in tokenize(text):
        after_article = bool(words) and bool(known.roles.get(words[-1].norm, _NONE) & _BEFORE_NOUN)
        for number, norm in enumerate(_meant(told_by_accent(word), known, noun=after_article)):
            words.append(word._replace(norm=norm, opens=word.opens and not number))
    found: list[Token] = []
    at = 0
    while at < len(words):
        value = value_at(words, at, known)
        found.append(_token(words[at], value, known))
        at += value.words
    return tuple(found)


def _meant(word: Word, known: Grammar, *, noun: bool) -> tuple[str, ...]:
    """The standard words of one hurried spelling, folded; and of a verb that is done again, unless it is a noun."""
    if word.norm in known.spellings and not (word.capital and not word.opens):
        return known.spellings[word.norm]
    if known.glued and (glued := _GLUED.fullmatch(word.norm)) and glued[1] in known.glued:
        return known.glued[glued[1]], glued[2]
    if not noun and (repeated := known.repeated(word.norm)):
        return known.again, repeated
    return (word.norm,)


def _token(word: Word, value: Found, known: Grammar) -> Token:
    plain = value.kind == "word"
    roles = known.roles.get(word.norm, _NONE)
    if len(word.norm) < _SHORT and not word.surface.isascii():
        roles -= _VERBAL  # "à" folds to the verb "a", "où" to "ou".
    stops = word.norm in STOP_OF[known.language]
    common = bool(roles) or stops or len(word.norm) < 2
    when = word.opens and word.norm in word_classes().times  # "Yesterday I …"
    unit = value.unit if value.kind == "number" else ""
    return Token(
        norm=word.norm,
        stem=plain_stem(word.norm, known.language)
        if plain
        else f"{value.kind} {value.value} {unit}",
        kind=value.kind,
        value=value.value,
        unit=value.unit,
        name=plain and word.capital and not (common or when) and word.norm[0].isalpha(),
        opens=word.opens,
        roles=roles,
        kin=known.kin.get(word.norm, "") if plain else "",
        stops=stops,
    )


def content_of(tokens: Sequence[Token]) -> tuple[int, ...]:
    """Return the positions of the tokens that carry meaning."""
    found = tuple(at for at, token in enumerate(tokens) if _means_something(token))
    return found or tuple(range(len(tokens)))


def _means_something(token: Token) -> bool:
    if token.kind != "word":
        return True
    return not (token.roles or token.stops) and token.norm[0].isalnum()


def first_verb(tokens: Sequence[Token], known: Grammar) -> int:
    """Return the position of the first verb; the subject is before it."""
    for at, token in enumerate(tokens):
        if "auxiliary" in token.roles:
            return at
        plain = at and token.kind == "word" and not token.name and not token.roles
        if plain and token.stem in known.verbs and not tokens[at - 1].roles & _BEFORE_NOUN:
            return at
    return len(tokens) // 2 if len(tokens) >= _SHORT else len(tokens)


def subject_kind(tokens: Sequence[Token]) -> str:
    """Return the kind of subject.

    Returns:
        `definite` ("the dog"), `own` ("my dog"), `other_own` ("his dog"), `indefinite` ("a dog"), `speaker` ("I"),
        `third` ("he"), `name` ("Rex") or `other`.
    """
    at = 0
    while (
        at < len(tokens) - 1
        and not tokens[at].name
        and (
            tokens[at].roles & {"light", "conjunctions"} or tokens[at].norm in word_classes().times
        )
    ):
        at += 1
    first = tokens[at : at + 3]
    owned = any(token.norm == "'s" for token in first)
    if any("user" in token.roles for token in first[:2]):
        return "own" if owned else "speaker"
    for role, subject in _SUBJECT_OF_ROLE:
        if first and role in first[0].roles:
            return subject
    if first and first[0].name:
        return "definite" if owned else "name"
    return "other"


def moods_of(tokens: Sequence[Token], known: Grammar) -> set[str]:
    """Return the signs that something is denied or to come."""
    found = {"negation"} if any("negation" in token.roles for token in tokens) else set[str]()
    words = [token.norm for token in tokens if token.kind == "word" and not token.name]
    if any(len(norm) > _SHORT and norm.endswith(known.future) for norm in words):
        found.add("future")
    return found


def link_of(tokens: Sequence[Token], at: int) -> str:
    """Return the role of the word that governs a word: a preposition or a light verb, across determiners."""
    for before in reversed(tokens[max(0, at - 3) : at]):
        for role in _LINKS:
            if role in before.roles:
                return role
        if not before.roles & _DETERMINING:
            return ""
    return ""
