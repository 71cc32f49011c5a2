"""A shallow parse of one statement: subject, verb, values and signs of change.

The subject is what precedes the first verb; each word is labelled by its preposition or determiner. That is
enough to align two statements and find their difference.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hippocampe.language.questions import is_question
from hippocampe.language.reading.lexis import Lexis, lexis, plain_stem
from hippocampe.language.reading.values import Found, Kind, value_at
from hippocampe.language.sentence import language_of
from hippocampe.language.text import STOP_WORDS
from hippocampe.language.tokenizer import Word, tokenize

SUBJECTS: Final = (
    "definite",
    "own",
    "other_own",
    "indefinite",
    "speaker",
    "third",
    "name",
    "other",
)
"""Kinds of subject: "the dog", "my dog", "his dog", "a dog", "I", "he", "Rex"."""
PREDICATES: Final = ("single", "several", "wish", "have", "be", "event", "other")
"""Kinds of predicate, by the number of values that the verb takes: "lives", "likes", "wants", "has", "is",
"bought"."""
_SUBJECT_OF_ROLE: Final = (
    ("definite", "definite"), ("own", "own"), ("others_own", "other_own"), ("indefinite", "indefinite"),
    ("first_person", "speaker"), ("third_person", "third"),
)  # fmt: skip
_DETERMINING: Final = {
    "definite": "definite", "own": "own", "others_own": "own", "indefinite": "indefinite",
}  # fmt: skip
_BEFORE_NOUN: Final = frozenset({"definite", "indefinite", "own", "others_own", "of", "at"})
_LINKS: Final = ("of", "at", "be", "have")
_VERBAL: Final = frozenset({"have", "auxiliary", "conjunctions"})
_QUANTITIES: Final = frozenset({"number", "money", "date", "time"})
_NEAR: Final = 4  # Span of words after an auxiliary in which a participle may follow
_SHORT: Final = 4
_GLUED: Final = re.compile(r"([a-z])([bcdfghklmnpqrstvz]\w{2,})")
_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Token:
    """A word, or the words of one value.

    Attributes:
        norm: The folded word in standard spelling ("je suis" for "jsuis").
        written: The folded word as written, the key of its vector.
        stem: The key for comparison: the stem of a word; kind, value and unit of a value.
        kind: Kind of value, or "word".
        value: The value; "" for a word.
        unit: Its unit.
        name: Whether it is a proper name.
        opens: Whether it opens a sentence, where a capital is no evidence.
        roles: Grammatical roles.
        kin: The relationship it names, or "".
    """

    norm: str
    written: str
    stem: str
    kind: Kind
    value: str
    unit: str
    name: bool
    opens: bool
    roles: frozenset[str]
    kin: str

    @property
    def shown(self) -> str:
        """The word, or the value with its unit, for people."""
        return f"{self.value} {self.unit}".strip() if self.kind in _QUANTITIES else self.norm


# Compared by identity, because parses are cached by text.
@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The shallow parse of a statement.

    Attributes:
        text: The statement as written.
        language: Its guessed language.
        tokens: Its words and values.
        content: Positions of the tokens that carry meaning.
        verb: Position of the first verb; the subject is before it.
        subject: One of `SUBJECTS`.
        predicate: One of `PREDICATES`.
        signs: The signs of change, and "negation", "conditional", "future", "imperfect", "first_person",
            "second_person", "listing", "capitalised".
        links: For each token the role of its preposition or light verb: "of", "at", "be", "have" or "".
        determiners: For each token its determiner: "definite", "own", "indefinite" or "".
        names: Its proper names.
        kin: The relationships it names.
        stems: The stems of all its tokens.
        verbs: The stems of its verbs, without auxiliaries.
        before: The changes that it may precede.
        after: The changes that end in it.
        question: Whether it asks.
    """

    text: str
    language: str
    tokens: tuple[Token, ...]
    content: tuple[int, ...]
    verb: int
    subject: str
    predicate: str
    signs: frozenset[str]
    links: tuple[str, ...]
    determiners: tuple[str, ...]
    names: frozenset[str]
    kin: frozenset[str]
    stems: frozenset[str]
    verbs: frozenset[str]
    before: frozenset[str]
    after: frozenset[str]
    question: bool

    @property
    def words(self) -> list[str]:
        """The written form of each content token, the key of its vector."""
        return [self.tokens[at].written for at in self.content]


@lru_cache(maxsize=2048)
def read(text: str) -> Reading:
    """Parse a statement; results are cached."""
    language = language_of(text)
    known = lexis(language)
    tokens = tuple(_tokens(text, known))
    norms = [token.norm for token in tokens]
    stems = [token.stem for token in tokens]
    verb = _first_verb(tokens, stems, known)
    signs = known.signs(norms, stems) | _moods(tokens, norms, known)
    if "," in text:
        signs |= {"listing"}
    return Reading(
        text=text,
        language=language,
        tokens=tokens,
        content=_content(tokens),
        verb=verb,
        subject=_subject(tokens),
        predicate=_predicate(tokens, stems, verb, known),
        signs=signs,
        links=tuple(_link(tokens, at) for at in range(len(tokens))),
        determiners=tuple(_determiner(tokens, at) for at in range(len(tokens))),
        names=frozenset(token.norm for token in tokens if token.name),
        kin=frozenset(token.kin for token in tokens if token.kin),
        stems=frozenset(token.stem for token in tokens),
        verbs=frozenset(each for each in stems if each in known.verbs),
        before=known.changes_before(stems),
        after=known.changes_after(stems),
        question=is_question(text),
    )


def clear_caches() -> None:
    """Drop cached statements, so that erased text does not stay in memory."""
    read.cache_clear()


def _tokens(text: str, known: Lexis) -> list[Token]:
    words: list[Word] = []
    written: list[str] = []
    for word in tokenize(text):
        for number, norm in enumerate(_meant(word, known)):
            words.append(word._replace(norm=norm, opens=word.opens and not number))
            written.append(word.norm)
    found: list[Token] = []
    at = 0
    while at < len(words):
        value = value_at(words, at, known)
        found.append(_token(words[at], written[at], value, known))
        at += value.words
    return found


def _meant(word: Word, known: Lexis) -> tuple[str, ...]:
    """The standard words of one hurried spelling, folded."""
    if word.norm in known.spellings and not (word.capital and not word.opens):
        return known.spellings[word.norm]
    if known.glued and (glued := _GLUED.fullmatch(word.norm)) and glued[1] in known.glued:
        return known.glued[glued[1]], glued[2]
    return (word.norm,)


def _token(word: Word, written: str, value: Found, known: Lexis) -> Token:
    plain = value.kind == "word"
    roles = known.grammar.get(word.norm, _NONE)
    if len(word.norm) < _SHORT and not word.surface.isascii():
        roles -= _VERBAL  # "à" folds to the verb "a", "où" to "ou".
    common = bool(roles) or word.norm in STOP_WORDS or len(word.norm) < 2
    unit = value.unit if value.kind == "number" else ""
    return Token(
        norm=word.norm,
        written=written,
        stem=plain_stem(word.norm, known.language)
        if plain
        else f"{value.kind} {value.value} {unit}",
        kind=value.kind,
        value=value.value,
        unit=value.unit,
        name=plain and word.capital and not common and word.norm[0].isalpha(),
        opens=word.opens,
        roles=roles,
        kin=known.kin.get(word.norm, "") if plain else "",
    )


def _content(tokens: Sequence[Token]) -> tuple[int, ...]:
    found = tuple(at for at, token in enumerate(tokens) if _means_something(token))
    return found or tuple(range(len(tokens)))


def _means_something(token: Token) -> bool:
    if token.kind != "word":
        return True
    return not token.roles and token.norm not in STOP_WORDS and token.norm[0].isalnum()


def _first_verb(tokens: Sequence[Token], stems: Sequence[str], known: Lexis) -> int:
    for at, token in enumerate(tokens):
        if "auxiliary" in token.roles:
            return at
        plain = at and token.kind == "word" and not token.name and not token.roles
        if plain and stems[at] in known.verbs and not tokens[at - 1].roles & _BEFORE_NOUN:
            return at
    return len(tokens) // 2 if len(tokens) >= _SHORT else len(tokens)


def _subject(tokens: Sequence[Token]) -> str:
    at = 0
    while (
        at < len(tokens) - 1
        and not tokens[at].name
        and tokens[at].roles & {"light", "conjunctions"}
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


def _predicate(tokens: Sequence[Token], stems: Sequence[str], verb: int, known: Lexis) -> str:
    past = known.endings["past"]
    for at in range(verb, min(verb + _NEAR, len(tokens))):
        token = tokens[at]
        if token.roles & {"have", "be"}:
            if _is_event(tokens[at + 1 : at + 1 + _NEAR], "have" in token.roles, known):
                return "event"
            return "have" if "have" in token.roles else "be"
        if token.stem in known.moved:
            return "event"
        if not token.roles and (kind := known.verbs.get(stems[at])):
            return "event" if token.norm.endswith(past) else kind
    return "other"


def _is_event(following: Sequence[Token], has: bool, known: Lexis) -> bool:
    """Return whether a past participle follows an auxiliary: "a acheté", "est partie"."""
    for token in following:
        if token.stem in known.moved:
            return True
        if token.roles & _BEFORE_NOUN:
            return False
        if not token.roles and token.kind == "word" and token.norm not in STOP_WORDS:
            return has and token.norm.endswith(known.endings["participles"])
    return False


def _moods(tokens: Sequence[Token], norms: Sequence[str], known: Lexis) -> frozenset[str]:
    """Persons and moods, from single words and endings."""
    roles = _NONE.union(*(token.roles for token in tokens))
    found = {role for role in ("first_person", "second_person", "negation") if role in roles}
    if roles & {"conjunctions"}:
        found.add("listing")
    long = [
        norm
        for norm, token in zip(norms, tokens, strict=True)
        if token.kind == "word" and not token.name and len(norm) > _SHORT
    ]
    for mood in ("conditional", "future"):
        if any(norm.endswith(known.endings[mood]) for norm in long):
            found.add(mood)
    past = [norm for norm in long if norm.endswith(known.endings["imperfect"])]
    if "conditional" not in found and not known.not_imperfect.issuperset(past):
        found.add("imperfect")
    return frozenset(found)


def _link(tokens: Sequence[Token], at: int) -> str:
    """The word that governs a word: a preposition or a light verb, across determiners."""
    for before in reversed(tokens[max(0, at - 3) : at]):
        for role in _LINKS:
            if role in before.roles:
                return role
        if not before.roles & _DETERMINING.keys():
            return ""
    return ""


def _determiner(tokens: Sequence[Token], at: int) -> str:
    """The determiner of a word, across an adjective."""
    for before in reversed(tokens[max(0, at - 3) : at]):
        for role, determiner in _DETERMINING.items():
            if role in before.roles or before.norm == "'s":
                return "own" if before.norm == "'s" else determiner
        if before.kind in ("number", "rank"):
            return "indefinite"
        if before.roles:
            return ""
    return ""
