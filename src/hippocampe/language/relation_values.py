"""Read the value that a wording of a relation states, and whether it certainly is one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import reduce
from itertools import dropwhile
from typing import Final

from hippocampe.language.adverbials import is_time
from hippocampe.language.amounts import value_at
from hippocampe.language.calendar import FULL_MONTHS, NUMBERS, ORDINALS
from hippocampe.language.grammar import grammar
from hippocampe.language.lexicon import load_all, table_of, words_of
from hippocampe.language.statement import Statement, is_name
from hippocampe.language.text import STOP_WORDS, fold
from hippocampe.language.tokenizer import Word
from hippocampe.language.topics import topic, topics_of
from hippocampe.language.values import values_stated
from hippocampe.language.word_classes import word_classes
from hippocampe.language.wordings import ValueKind, Wording

_DETERMINERS: Final = words_of("determiners")
_ARTICLES: Final = _DETERMINERS.union(table_of("merged"))
_INDEFINITE: Final = words_of("indefinite")
_SOMEONE: Final = words_of("someone")
_POSSESSIVES: Final = words_of("possessives")
_IN_NAMES: Final = words_of("in_names")
_COORDINATORS: Final = words_of("coordinators")
_UNION: Final = words_of("union")
_BEFORE_AMOUNT: Final = words_of("before_amount")
_BEFORE_PURPOSE: Final = words_of("before_purpose")
_REASONS_TO_MOVE: Final = sum(
    map(topic, ("job", "study", "partner", "parents", "children", "siblings", "illness", "home"))
)
_BEFORE_NAME: Final = words_of("before_name")
_BEFORE_PLACE: Final = words_of("before_place")
_PREPOSITIONS: Final = words_of("grammar.at")
TRADES: Final = frozenset(fold(trade) for trade in load_all("relations")["macros"]["WORKER"])
"""The known trades, folded."""
_DATE_LINKS: Final = words_of("stated.date_links", file="time")
_DAY: Final = re.compile(rf"(\d{{1,2}})(?:{ORDINALS})?")
_LEAST_WORD: Final = 3
"""Fewer letters are a code, such as a blood type."""
_LENGTHS: Final = ("metre", "centimetre", "foot")
MAX_VALUE_WORDS: Final = 6
"""Words of a value, and of what it is a value for."""
MAX_REST_WORDS: Final = 8
"""Words after a value."""
_MAX_TIME_WORDS: Final = 5


def without_leading(leading: Set[str], words: Sequence[Word]) -> list[Word]:
    """Remove the words of a set from the start."""
    return list(dropwhile(lambda word: word.norm in leading, words))


def split_value(
    words: list[Word], kind: ValueKind, *, lowercase: bool
) -> tuple[list[Word], list[Word]]:
    """Split the value from what follows it: "toulouse | le mois dernier"."""
    at = len(words)
    if kind == "number" and is_time([word.norm for word in words[1:]]):
        at = 1
    elif kind in ("name", "place"):
        starts = (
            start
            for start in range(1, len(words))
            if not words[start].glued and _follows_value(words[start:], lowercase=lowercase)
        )
        at = next(starts, at)
    return words[:at], words[at:]


def _follows_value(words: Sequence[Word], *, lowercase: bool) -> bool:
    """Return whether words no longer belong to the name before them."""
    first = words[0]
    if first.pause:
        return True
    if first.capital:
        return False
    if not lowercase and first.norm not in _IN_NAMES:
        return True
    norms = [word.norm for word in words[:_MAX_TIME_WORDS]]
    time = any(is_time(norms[:length]) for length in range(1, len(norms) + 1))
    return time or first.norm in _COORDINATORS or word_classes().has("adjunct", first.norm)


def value_of(statement: Statement, wording: Wording, head: Sequence[Word]) -> str | None:
    """Return the value in the words, or None if they do not fit the kind of value."""
    norms = [word.norm for word in head]
    text = " ".join(norms)
    match wording.kind:
        case "choice":
            names = (word for word in head if word is not statement.core[0])
            named = any(each.capital and not each.surface.isupper() for each in names)
            named = named and not word_classes().has("peoples", text)
            return None if named else dict(wording.choices).get(text)
        case "number":
            number = str(NUMBERS.get(text, text))
            return number if re.fullmatch(r"\d+(?:\.\d+)?", number) else None
        case "name" | "place":
            fits = _names_value(statement, wording, head)
        case "text":
            fits = len(head) <= MAX_VALUE_WORDS and text not in STOP_WORDS
        case "trade":
            text = " ".join(norms[norms[0] in _SOMEONE :])
            topical = _topics(norms) & _topics((wording.name,))
            fits = len(head) <= MAX_VALUE_WORDS and bool(topical or _is_trade(statement, text))
        case "length":
            length = value_at(head, 0, grammar(statement.language))
            text = f"{length.value} {length.unit}"
            fits = length.words == len(head) and length.unit in _LENGTHS
        case "measure" | "contact" | "code" | "date":
            fits = _is_written_value(norms, wording.kind)
    return text.lower() if fits else None


def _is_written_value(norms: Sequence[str], kind: ValueKind) -> bool:
    """Return whether words are a value that is recognised by its form."""
    if len(norms) > MAX_REST_WORDS or norms[-1] in _IN_NAMES | _UNION:
        return False
    digits = sum(character.isdigit() for norm in norms for character in norm)
    match kind:
        case "measure":
            # Accept "is 800 euros" and "is $800", reject "is due on the 5th".
            amount = norms[norms[0] in _BEFORE_AMOUNT :]
            return any(norm in NUMBERS or norm[:1].isdigit() for norm in amount[:2])
        case "code":
            return len(norms) < 4 and digits > 0
        case "contact":
            written = digits > 3 or any("@" in norm for norm in norms)
            return written and _UNION.isdisjoint(norms)
        case _:
            return date_of(norms) is not None


def _names_value(statement: Statement, wording: Wording, head: Sequence[Word]) -> bool:
    """Return whether the words are a proper name that can be the name of a person, group or place."""
    norms = [word.norm for word in head]
    if len(head) > MAX_VALUE_WORDS or norms[-1] in _IN_NAMES | _UNION or norms[0] in _INDEFINITE:
        return False
    if is_time(norms) or any(norm[:1].isdigit() for norm in norms):
        return False
    perhaps = statement.lowercase and len(head) <= 2
    if not (perhaps or _is_any_name(wording, head)):
        return False
    classes = word_classes()
    if wording.kind == "name" and any(classes.has(name, *norms) for name in _other_names(wording)):
        return classes.has("brands", *norms)
    if wording.kind == "place" and classes.has("brands", norms[0]) and not _is_known(wording, head):
        return False  # "We moved to GitHub Actions"
    excluded = any(classes.has(name, norms[0]) for name in ("not_names", "pronouns"))
    return not excluded and " ".join(norms) not in STOP_WORDS


def _other_names(wording: Wording) -> Iterator[str]:
    """Yield the classes of names that are no value: "je travaille à Lisbonne" names no firm."""
    yield from ("countries", "peoples")
    if wording.known == ("brands",):
        yield "towns"


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


def is_sure(
    statement: Statement,
    wording: Wording,
    written: Sequence[Word],
    head: Sequence[Word],
    rest: Sequence[Word],
    value: str,
) -> bool:
    """Return whether words certainly are a value of the relation, for longer than one occasion.

    Args:
        statement: The statement.
        wording: The wording.
        written: The words in the place of the value.
        head: Those that are the value.
        rest: The words after it.
        value: The value.
    """
    norms = [word.norm for word in rest]
    match wording.kind:
        case "number":
            if statement.unclear or _is_for_doing(statement, rest):
                return False
            return not norms or rest[0].pause or _leaves_number(norms)
        case "name" | "place":
            return _is_sure_name(statement, wording, head, rest)
        case "text":
            return (
                not wording.owned
                or _is_labelled(statement)
                or _can_be_value(statement, wording, written)
            )
        case "trade":
            return _is_trade(statement, value)
        case _:
            return True


def _is_sure_name(
    statement: Statement, wording: Wording, head: Sequence[Word], rest: Sequence[Word]
) -> bool:
    norms = [word.norm for word in rest]
    joined = without_leading(_PREPOSITIONS | _DETERMINERS, rest[1:])
    if norms and norms[0] in _UNION and _is_any_name(wording, joined):
        return False  # one of several
    if not _is_known(wording, head):
        visited = _visits(head, rest) or _is_institution(statement, head)
        if wording.joins or (wording.kind == "place" and visited):
            return False
    if wording.aspect == "end" and norms and norms[0] in _DETERMINERS and not is_time(norms):
        return False  # "Joe and I split up the bill"
    of_person = wording.aspect == "state" and "first_names" in wording.known
    if of_person and norms and not _lasts(norms):
        return False
    return _is_any_name(wording, head) or _is_introduced(statement, head)


def _is_for_doing(statement: Statement, rest: Sequence[Word]) -> bool:
    """Return whether words after a number say what to do with that many, who may not be all: "à garder samedi"."""
    if len(rest) < 2 or rest[0].norm not in _PREPOSITIONS or rest[1].capital:
        return False
    infinitives = words_of("infinitive_endings", language=statement.language)
    return rest[1].surface.endswith(tuple(infinitives))


def _leaves_number(rest: Sequence[str]) -> bool:
    """Return whether the words after a number leave it as it is: not "de plus que moi", "dans ma tête"."""
    classes = word_classes()
    if is_time(rest):
        return True
    # "In my head", not "at her last check-up".
    inner = rest[0] in _BEFORE_PLACE and not _POSSESSIVES.isdisjoint(rest[1:2])
    dated = any(classes.has(name, norm) for norm in rest[2:] for name in ("time", "time_links"))
    return bool(classes.match("adjunct", rest, 0)) and (dated or not inner)


def _lasts(rest: Sequence[str]) -> bool:
    """Return whether the words after a person leave a bond as it is: not "tonight", "en concert"."""
    classes = word_classes()
    lasting = any(classes.match(name, rest, 0) for name in ("beginning", "cause", "instead"))
    return lasting or rest[0] in _UNION


def _visits(place: Sequence[Word], rest: Sequence[Word]) -> bool:
    """Return whether somebody goes to a place, or to a product, for a purpose that makes it no home: "for rehearsals"."""
    if not rest or rest[0].norm not in _BEFORE_PURPOSE:
        return False
    if word_classes().has("brands", *(word.norm for word in place)):
        return True
    norms = [word.norm for word in rest[1:]]
    purpose = _topics(norms)
    of_something = (
        norms[:1] and norms[0] in _DETERMINERS and not (is_time(norms) or rest[-1].capital)
    )
    return bool(purpose or of_something) and not purpose & _REASONS_TO_MOVE


def _is_institution(statement: Statement, head: Sequence[Word]) -> bool:
    """Return whether a place is an acronym with its article, where one works rather than lives: "the BRI", "au CHU"."""
    at = next(at for at, word in enumerate(statement.core) if word is head[0])
    determined = at > 0 and statement.core[at - 1].norm in _ARTICLES
    return determined and len(head) == 1 and len(head[0].surface) > 1 and head[0].surface.isupper()


def _is_any_name(wording: Wording, words: Sequence[Word]) -> bool:
    """Return whether words begin with a capital, or are a name that is known without one."""
    return bool(words) and (is_name(words[0]) or _is_known(wording, words))


def _is_known(wording: Wording, words: Sequence[Word]) -> bool:
    norms = [word.norm.lower() for word in words]
    return any(word_classes().has(name, *norms) for name in wording.known)


def _is_introduced(statement: Statement, head: Sequence[Word]) -> bool:
    """Return whether a word stands behind one that only names follow: "chez", "s'appelle"."""
    at = next(at for at, word in enumerate(statement.core) if word is head[0])
    return len(head) == 1 and at > 0 and statement.core[at - 1].norm in _BEFORE_NAME


def _is_labelled(statement: Statement) -> bool:
    return any(word.norm == "=" for word in statement.core)


def _is_trade(statement: Statement, value: str) -> bool:
    """Return whether a value is certainly a trade: not in "my job is hard work"."""
    return value in TRADES or _is_labelled(statement)


def _can_be_value(statement: Statement, wording: Wording, written: Sequence[Word]) -> bool:
    """Return whether words after "is" name something, rather than say how, where or when it is.

    A bare word does if it shares a topic with what it is the value of: "my favourite food is sushi", not "… is ready".
    """
    norms = [word.norm for word in written]
    around = [word.norm for word in statement.core if word not in written]
    classes = word_classes()
    if any(is_time(norms[:length]) for length in range(1, len(norms) + 1)):
        # "My favourite day is Friday", not "my favourite film is on tonight".
        of_time = is_time(norms) and any(classes.has("time", norm) for norm in around)
        return of_time or wording.name == "deadline"
    if norms[0] in _PREPOSITIONS:
        return False
    text = " ".join(norms)
    if norms[0] in _DETERMINERS or text in TRADES or len(text) < _LEAST_WORD:
        return True
    if any(word.capital or not word.norm.isalpha() for word in written) or values_stated(text):
        return True
    return bool(_topics(norms) & _topics((*around, *wording.name.split())))


def _topics(norms: Iterable[str]) -> int:
    return reduce(int.__or__, map(topics_of, norms), 0)
