"""Find the typed values among the words of a statement: amounts, dates, times, ranks.

"14 h 30" is one time; "2 400 euros" is one amount; "deux" is 2. Values of one kind
can be compared across wordings and languages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from hippocampe.language.calendar import MONTHS, ORDINALS, WEEKDAYS
from hippocampe.language.grammar import Grammar
from hippocampe.language.lexicon import words_of
from hippocampe.language.tokenizer import Word

Kind = Literal[
    "word", "number", "money", "time", "date", "weekday", "month", "year", "rank"
]  # fmt: skip
_CURRENCIES: Final = frozenset({"euro", "dollar", "pound"})
_WEEKDAYS: Final = {
    name + plural: str(number) for name, number in WEEKDAYS.items() for plural in ("", "s")
}
_UNION: Final = words_of("union")
_NOT_MONTHS: Final = words_of("stated.not_dates", file="time")
_NUMBER: Final = re.compile(r"([-+]?\d+(?:\.\d+)?)([a-z²€$£%]*)")
_CLOCK: Final = re.compile(r"(\d{1,2})(?:h|:)(\d\d)?(am|pm)?")
_HALF_DAY: Final = re.compile(r"(\d{1,2})(am|pm)")
_RANK: Final = re.compile(rf"(\d{{1,3}})(?:{ORDINALS}|e|eme|st|nd|rd|th)")
_DATE: Final = re.compile(r"(\d{1,2})/(\d{1,2})(?:/\d{2,4})?")
_ISO_DATE: Final = re.compile(r"\d{4}-(\d{1,2})-(\d{1,2})")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_HEIGHT: Final = re.compile(r"(\d{1,2})(m|')(\d{1,2})")
_PARTS: Final = {"metre": "centimetre", "foot": "inch"}
"""The unit of the number that follows one in another unit, usually left out: "1 m 80", "5 foot 11"."""
_MOST_PARTS: Final = 99
_SCORE: Final = 20
"""From this number on, the smaller ones before it multiply it: "two hundred", "quatre-vingts"."""


@dataclass(frozen=True, slots=True)
class Found:
    """One word, or the words that make one value.

    Attributes:
        kind: Kind of value, or "word".
        value: The value, in one form for all wordings; "" for a word.
        unit: Unit of a number or an amount.
        words: The number of its words.
    """

    kind: Kind
    value: str = ""
    unit: str = ""
    words: int = 1


_WORD: Final = Found("word")


def value_at(words: Sequence[Word], at: int, known: Grammar) -> Found:
    """The value that begins at a word, or that word alone."""
    norm = words[at].norm
    if norm[:1].isdigit() or norm[:1] in "-+":
        return _with_parts(_written_in_digits(words, at, known), words, at, known)
    if norm in known.numbers:
        return _with_parts(_spelled_out(words, at, known), words, at, known)
    if norm in known.ordinals:
        return Found("rank", str(known.ordinals[norm]))
    if norm in _WEEKDAYS:
        return Found("weekday", _WEEKDAYS[norm])
    if _is_month(words, at):
        month, day = MONTHS[norm], _day_number(_norm(words, at + 1))
        if day is None:
            return Found("month", str(month))
        return Found("date", f"{day}/{month}", words=2)
    for name, hour in (("noon", "12:00"), ("midnight", "0:00")):
        if norm in known.clock[name]:
            return Found("time", hour)
    sign = known.units.get(norm) in _CURRENCIES and not norm.isalpha()
    if sign and (amount := _NUMBER.fullmatch(_norm(words, at + 1))):
        return Found("money", _plain(amount[1]), known.units[norm], 2)
    return _WORD


def _norm(words: Sequence[Word], at: int) -> str:
    """Return the folded word at a place; "" after the last one."""
    return words[at].norm if at < len(words) else ""


def _is_month(words: Sequence[Word], at: int) -> bool:
    norm = _norm(words, at)
    return norm in MONTHS and (norm not in _NOT_MONTHS or words[at].capital)


def _day_number(norm: str) -> int | None:
    day = _RANK.fullmatch(norm) or re.fullmatch(r"(\d{1,2})", norm)
    return int(day[1]) if day else None


def _written_in_digits(words: Sequence[Word], at: int, known: Grammar) -> Found:
    if found := _clock_time(words, at, known) or _date_in_digits(words, at):
        return found
    if rank := _RANK.fullmatch(words[at].norm):
        return Found("rank", rank[1])
    if height := _HEIGHT.fullmatch(words[at].norm):
        unit = "metre" if height[2] == "m" else "foot"
        return _height(height[1], unit, int(height[3]), 1)
    return _amount(words, at, known)


def _with_parts(found: Found, words: Sequence[Word], at: int, known: Grammar) -> Found:
    """Join a number with the smaller unit that follows it: "5 foot 11"."""
    norm = _norm(words, at + found.words)
    parts = int(norm) if norm.isdigit() else known.numbers.get(norm, _MOST_PARTS + 1)
    if found.unit not in _PARTS or not found.value.isdigit() or parts > _MOST_PARTS:
        return found
    taken = found.words + 1
    unit = known.units.get(_norm(words, at + taken), "")
    if unit and unit != _PARTS[found.unit]:
        return found
    return _height(found.value, found.unit, parts, taken + bool(unit))


def _height(whole: str, unit: str, parts: int, taken: int) -> Found:
    value = f"{whole}'{parts}" if unit == "foot" else f"{int(whole) + parts / 100:g}"
    return Found("number", value, unit, taken)


def _clock_time(words: Sequence[Word], at: int, known: Grammar) -> Found | None:
    norm, after = words[at].norm, _norm(words, at + 1)
    if clock := _CLOCK.fullmatch(norm):
        return _time(int(clock[1]), clock[2] or "00", clock[3] or after, known)
    if half := _HALF_DAY.fullmatch(norm):
        return _time(int(half[1]), "00", half[2], known)
    if not norm.isdigit():
        return None
    if after in known.clock["hours"] and int(norm) <= 24:
        minutes = _norm(words, at + 2)
        if re.fullmatch(r"[0-5]\d", minutes):
            return Found("time", f"{int(norm)}:{minutes}", words=3)
        if after == "h" or _says_when(words, at, known):
            return Found("time", f"{int(norm)}:00", words=2)
    if after in known.clock["after_noon"] | known.clock["before_noon"]:
        return _time(int(norm), "00", after, known)
    return None


def _date_in_digits(words: Sequence[Word], at: int) -> Found | None:
    norm = words[at].norm
    if date := _DATE.fullmatch(norm):
        return Found("date", f"{int(date[1])}/{int(date[2])}")
    if date := _ISO_DATE.fullmatch(norm):
        return Found("date", f"{int(date[2])}/{int(date[1])}")
    day = _day_number(norm)
    if day is None or not _is_month(words, at + 1):
        return None
    return Found("date", f"{day}/{MONTHS[words[at + 1].norm]}", words=2)


def _says_when(words: Sequence[Word], at: int, known: Grammar) -> bool:
    """Return whether a preposition before "9 heures" makes it a time, not a duration."""
    return at > 0 and "at" in known.roles.get(words[at - 1].norm, ())


def _time(hour: int, minutes: str, half: str, known: Grammar) -> Found:
    if half in known.clock["after_noon"] and hour < 12:
        hour += 12
    apart = half in known.clock["after_noon"] | known.clock["before_noon"]
    return Found("time", f"{hour}:{minutes}", words=1 + apart)


def _amount(words: Sequence[Word], at: int, known: Grammar) -> Found:
    norm = words[at].norm
    taken = 1
    digits, glued = norm, ""
    if parts := _NUMBER.fullmatch(norm):
        digits, glued = parts[1], parts[2]
    while not glued and _continues(digits, _norm(words, at + taken)):
        digits += words[at + taken].norm
        taken += 1
    if _YEAR.fullmatch(digits) and not glued and _norm(words, at + taken) not in known.units:
        return Found("year", digits)
    if glued == "k":
        digits, glued = str(float(digits) * 1000), ""
    if glued and glued not in known.units:
        # A code or a name: "4412B", "box 12a".
        return Found("number", norm, words=taken)
    unit = known.units.get(glued, "")
    if not unit and (unit := known.units.get(_norm(words, at + taken), "")):
        taken += 1
    return Found("money" if unit in _CURRENCIES else "number", _plain(digits), unit, taken)


def _continues(digits: str, following: str) -> bool:
    """Return whether three digits after a space belong to the number: "2 400"."""
    return digits.isdigit() and len(digits) <= 3 and re.fullmatch(r"\d{3}", following) is not None


def _plain(digits: str) -> str:
    try:
        return f"{float(digits):g}"
    except ValueError:
        return digits


def _spelled_out(words: Sequence[Word], at: int, known: Grammar) -> Found:
    parts: list[int] = []
    taken = 0
    while more := known.numbers.get(_norm(words, at + taken)):
        smaller = sum(part for part in parts if part < more) if more >= _SCORE else 0
        parts = [part for part in parts if not smaller or part >= more] + [more * (smaller or 1)]
        taken += 1
        # "Two hundred and fifty", "soixante et onze".
        joined = parts[-1] >= _SCORE and _norm(words, at + taken) in _UNION
        if joined and known.numbers.get(_norm(words, at + taken + 1), parts[-1]) < parts[-1]:
            taken += 1
    value = sum(parts)
    following = _norm(words, at + taken)
    if following in known.clock["hours"] and value <= 24 and _says_when(words, at, known):
        return Found("time", f"{value}:00", words=taken + 1)
    if _is_month(words, at + taken):
        return Found("date", f"{value}/{MONTHS[following]}", words=taken + 1)
    unit = known.units.get(following, "")
    kind: Kind = "money" if unit in _CURRENCIES else "number"
    return Found(kind, f"{value:g}", unit, taken + bool(unit))
