"""Extract the single-valued relations of a statement: "David habite à Pau" → home of david: pau.

The wordings are data (`language/*/relations.toml`). A relation is extracted only when the whole
statement matches its wording. Past tenses, wishes, guesses and other people's opinions match none, so
they can replace nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hippocampe.language.calendar import FULL_MONTHS, NUMBERS, ORDINALS
from hippocampe.language.lexicon import words_of
from hippocampe.language.sentence import Statement, is_hedged, is_name, is_time, parse
from hippocampe.language.text import STOP_WORDS
from hippocampe.language.tokenizer import Word
from hippocampe.language.word_classes import word_classes
from hippocampe.language.wordings import Aspect, ValueKind, Wording, candidate_wordings

_DETERMINERS: Final = words_of("determiners")
_INDEFINITE: Final = words_of("indefinite")
_HOLDERS: Final = (
    (words_of("speaker"), "user"), (words_of("group"), "we"), (words_of("others"), "they"),
)  # fmt: skip
_SOMEONE: Final = words_of("someone")
_POSSESSIVES: Final = words_of("possessives")
_OWNER_LINKS: Final = words_of("owner_links")
_OPEN_LINKS: Final = words_of("open_links")
_IN_NAMES: Final = words_of("in_names")
_COORDINATORS: Final = words_of("coordinators")
_CONTRAST: Final = words_of("contrast")
_UNION: Final = words_of("union")
_AFTER_CHOICE: Final = words_of("after_choice")
_BEFORE_AMOUNT: Final = words_of("before_amount")
_DATE_LINKS: Final = words_of("stated.date_links", file="time")
_NO_OWNERS: Final = ("not_owners", "hedges", "not_names", "pronouns", "also", "time", "adjunct")
_DAY: Final = re.compile(rf"(\d{{1,2}})(?:{ORDINALS})?")
_MAX_VALUE_WORDS: Final = 6
_MAX_REST_WORDS: Final = 8
_MAX_WORDS: Final = 30


@dataclass(frozen=True, slots=True)
class Relation:
    """A single-valued relation.

    Attributes:
        name: Name of the relation: "home".
        subject: The subject; "user" for the first person, "we" for its plural, "" if not named.
        value: The value, folded.
        slot: Distinguishes relations of one name: the thing liked, the purpose of a tool.
        leaving: The previous value, if the statement names it.
        rest: The remaining words of the statement.
        aspect: Whether the wording states a state ("lives in") or an event ("moved to").
        kind: Kind of value.
        negated: Whether the statement denies the relation.
    """

    name: str
    subject: str
    value: str
    slot: str = ""
    leaving: str = ""
    rest: tuple[str, ...] = ()
    aspect: Aspect = "state"
    kind: ValueKind = "text"
    negated: bool = False


def relation_of(text: str) -> Relation | None:
    """Return the first relation of `text`, used to nominate memories by subject and relation."""
    return next(iter(relations(parse(text))), None)


@lru_cache(maxsize=256)
def relations(statement: Statement) -> tuple[Relation, ...]:
    """Return every relation whose wording matches the whole statement."""
    return tuple(_relations(statement))


def clear_caches() -> None:
    """Drop cached statements, so that erased text does not stay in memory."""
    relations.cache_clear()


def _relations(statement: Statement) -> Iterator[Relation]:
    if statement.question or statement.unclear or not 0 < len(statement.core) <= _MAX_WORDS:
        return
    if any(word.opens for word in statement.core[1:]):  # more than one sentence
        return
    text = "".join(f"{word.norm.replace(' ', '_')} " for word in statement.core)
    present = frozenset(word.norm for word in statement.core)
    seen: set[str] = set()
    for wording in candidate_wordings(present):
        if wording.name in seen or any(present.isdisjoint(need) for need in wording.needs):
            continue
        match = wording.pattern().fullmatch(text)
        if match and (relation := _relation(statement, wording, match)):
            seen.add(wording.name)
            yield relation


def _relation(statement: Statement, wording: Wording, match: re.Match[str]) -> Relation | None:
    groups = match.groupdict()
    owner = _owner(statement, _words(statement, match, "owner" if "owner" in groups else "mine"))
    held = _words(statement, match, "value")
    while held and wording.kind != "number" and held[0].norm in _DETERMINERS - _INDEFINITE:
        held = held[1:]
    if owner is None or not held or (wording.owned and not owner):
        return None
    if wording.shared_owner and owner in ("", "we", "user"):
        owner = "we"
    head, rest = _split_value(held, wording.kind, lowercase=statement.lowercase)
    if "rest" in groups:
        rest = [*rest, *_words(statement, match, "rest")]
    value = _value(statement, wording, head)
    slot = _words(statement, match, "slot") if "slot" in groups else []
    extra = tuple(word.norm for word in rest)
    around = [*held, *rest, *slot]
    if value is None or len(extra) > _MAX_REST_WORDS or len(slot) > _MAX_VALUE_WORDS:
        return None
    if is_hedged(around) or any(word.norm in _CONTRAST for word in around):
        return None
    if extra and not _may_follow(extra, wording.kind):
        return None
    while slot and slot[0].norm in _DETERMINERS:
        slot = slot[1:]
    if not slot and groups.get("slot"):
        return None
    leaving = _words(statement, match, "from") if "from" in groups else []
    aspect: Aspect = "state" if wording.aspect == "end" else wording.aspect
    negated = bool(statement.negations) != (wording.aspect == "end")
    return Relation(
        name=wording.name,
        subject=owner,
        value=value,
        slot=" ".join(word.norm for word in slot),
        leaving=" ".join(word.norm for word in leaving),
        rest=extra,
        aspect=aspect,
        kind=wording.kind,
        negated=negated,
    )


def _may_follow(extra: Sequence[str], kind: ValueKind) -> bool:
    """Return whether the words after a value leave it intact.

    They do not in "a trois ans de moins que moi" and "works for Acme's rival".
    """
    if extra[0] == "'s":
        return False
    if kind == "number":
        return is_time(extra) or bool(word_classes().match("adjunct", extra, 0))
    return kind != "choice" or is_time(extra) or extra[0] in _AFTER_CHOICE


def _words(statement: Statement, match: re.Match[str], group: str) -> list[Word]:
    start, end = match.span(group)
    text = match.string
    return list(statement.core[text.count(" ", 0, start) : text.count(" ", 0, end)])


def _owner(statement: Statement, words: Sequence[Word]) -> str | None:
    """Return the subject, or None when the words are more than that ("David pense que …")."""
    if len(words) > 1 and words[0].norm in _SOMEONE:
        return None  # "a man" may be another man next time
    determined = bool(words) and words[0].norm in _DETERMINERS
    while words and words[0].norm in _DETERMINERS:
        words = words[1:]
    norms = [word.norm for word in words]
    if len(norms) < 2:
        for class_, name in _HOLDERS:
            if norms and norms[0] in class_:
                return name
    possessed = norms[:1] != [] and norms[0] in _POSSESSIVES
    links = [norm for norm in norms if norm in _OWNER_LINKS]
    plain = [w for w in words[possessed:] if w.norm not in links and not is_name(statement, w)]
    classes = word_classes()
    if any(classes.has(name, w.norm) for w in plain for name in _NO_OWNERS):
        return None
    titled = determined and plain == list(words[:1])  # "le projet Atlas"
    named = len(plain) + len(links) < len(words) - possessed
    if (
        len(plain) > 2
        or (plain and named and not (links or titled))
        or not _OPEN_LINKS.isdisjoint(norms[-1:])
    ):
        return None
    if len(plain) == 2 and not (possessed or links):
        return None
    return " ".join(norm for norm in norms if norm not in _DETERMINERS)


def _split_value(
    words: Sequence[Word], kind: ValueKind, *, lowercase: bool
) -> tuple[list[Word], list[Word]]:
    """Split the value from what follows it: "toulouse | le mois dernier"."""
    if kind == "number" and is_time([word.norm for word in words[1:]]):
        return list(words[:1]), list(words[1:])
    if kind not in ("name", "place"):
        return list(words), []
    classes = word_classes()
    for at, word in enumerate(words):
        norms = [w.norm for w in words[at : at + 5]]
        time = any(is_time(norms[:length]) for length in range(1, len(norms) + 1))
        starts = classes.has("adjunct", word.norm) or word.norm in _COORDINATORS or time
        common = not lowercase and not word.capital and word.norm not in _IN_NAMES
        if at and not word.glued and (word.pause or common or (starts and not word.capital)):
            return list(words[:at]), list(words[at:])
    return list(words), []


def _value(statement: Statement, wording: Wording, head: Sequence[Word]) -> str | None:
    """Return the value in the words, or None if they do not fit the kind of value."""
    kind = wording.kind
    norms = [word.norm for word in head]
    text = " ".join(norms)
    if kind == "choice":
        if any(word.capital for word in head if word is not statement.core[0]):
            return None
        return dict(wording.choices).get(text)
    if kind == "number":
        number = str(NUMBERS.get(text, text))
        return number if re.fullmatch(r"\d+(?:\.\d+)?", number) else None
    if len(head) > _MAX_REST_WORDS or (kind != "text" and norms[-1] in _IN_NAMES | _UNION):
        return None
    match kind:
        case "measure":
            # Accept "is 800 euros" and "is $800", reject "is due on the 5th".
            amount = norms[norms[0] in _BEFORE_AMOUNT :]
            fits = any(n in NUMBERS or n[:1].isdigit() for n in amount[:2])
        case "code":
            fits = len(norms) < 4 and any(map(str.isdigit, text))
        case "contact":
            digits = sum(character.isdigit() for character in text)
            fits = _UNION.isdisjoint(norms) and (digits > 3 or "@" in text)
        case "date":
            fits = date_of(norms) is not None
        case "name" | "place":
            fits = norms[0] not in _INDEFINITE and _names_value(statement, head, kind)
        case "text":
            fits = True
    if kind in ("name", "place", "text"):
        fits = fits and len(head) <= _MAX_VALUE_WORDS and text not in STOP_WORDS
    return text if fits else None


def _names_value(statement: Statement, head: Sequence[Word], kind: ValueKind) -> bool:
    """Return whether the words are a proper name that can be the name of a person, group or place."""
    norms = [word.norm for word in head]
    if is_time(norms) or any(norm[:1].isdigit() for norm in norms):
        return False
    if not (is_name(statement, head[0]) or (statement.lowercase and len(head) <= 2)):
        return False
    classes = word_classes()
    if kind == "name" and (classes.has("countries", *norms) or classes.has("peoples", *norms)):
        return False
    return not any(classes.has(name, norms[0]) for name in ("not_names", "pronouns"))


def date_of(norms: Sequence[str]) -> tuple[int | None, int | None, int | None] | None:
    """Parse a date as (year, month, day), with None for missing parts; None if it is not a date."""
    year = month = day = None
    for norm in norms:
        if found := re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", norm):
            year, month, day = (int(part) for part in found.groups())
        elif found := re.fullmatch(r"(\d{1,2})[/.](\d{1,2})(?:[/.](\d{4}))?", norm):
            day, month = int(found[1]), int(found[2])
            year = int(found[3]) if found[3] else None
        elif norm in FULL_MONTHS:
            month = FULL_MONTHS[norm]
        elif found := _DAY.fullmatch(norm):
            day = int(found[1])
        elif re.fullmatch(r"\d{4}", norm):
            year = int(norm)
        elif norm not in _DATE_LINKS:
            return None
    return (year, month, day) if year or month else None
