"""The words of time, and the expression that finds them in a sentence.

The words are data (`language/*/time.toml`). Everything is folded: lower case, no accents, straight
apostrophes. The expression finds stretches of time and gives their words the short names that
their readers know; it says nothing of when they are, nor whether a word such as "may" was meant as
one.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from hippocampe.language.lexicon import languages, mapping, of, together, words
from hippocampe.language.text import MONTHS, NUMBERS, fold

_TIME: Final = together("time")


def _roles(table: str) -> dict[str, str]:
    """The role of each name of a table whose keys are roles."""
    found: Mapping[str, Any] = _TIME[table]
    return {
        name: role
        for role, names in found.items()
        for name in (names.split() if isinstance(names, str) else names)
    }


def _of_languages(role: str, trait: str, table: str | None = None) -> set[str]:
    """The folded words of a role in the languages that have a trait."""
    having = [of(each, "time") for each in languages()]
    return {
        fold(word)
        for data in having
        if (data[table] if table else data)[trait]
        for word in " ".join((data[role],) if isinstance(data[role], str) else data[role]).split()
    }


FULL_MONTHS = {
    fold(names.split()[0]) for each in languages() for names in of(each, "time")["months"]
}
VERBS = words("verbs", file="time")
OTHER_SENSES = words("other_senses", file="time")
CAPITAL_MONTHS = mapping("capital_months", file="time")
WEEKDAYS = {
    name: number
    for each in languages()
    for number, name in enumerate(of(each, "time")["weekdays"].split())
}
BARE_WEEKDAYS = _of_languages("weekdays", "bare", "weekday")
HABITS: dict[str, tuple[str, ...]] = {
    name: tuple(of(each, "time")["weekday"]["habits"])
    for each in languages()
    for name in of(each, "time")["weekdays"].split()
}
"""By weekday: what stands before one that is a habit."""
DAYS = {name: int(offset) for name, offset in _roles("days").items()}
PARTS = _roles("parts")
# Local hours, overlapping on purpose: nobody agrees where an evening begins. Past 24 is next day.
HOURS = {
    "morning": (5, 12), "noon": (11, 15), "afternoon": (12, 19), "evening": (17, 26), "night": (18, 30),
}  # fmt: skip
DAY = timedelta(days=1)
_LENGTHS = {
    "minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": DAY, "week": DAY * 7,
    "month": DAY * 30.44, "year": DAY * 365.25,
}  # fmt: skip
UNITS = {name: _LENGTHS[role] for name, role in _roles("units").items()}
PERIODS = {
    name: "year" if role == "last_year" else role for name, role in _roles("periods").items()
}
_BEFORE_UNITS = [name for name, role in _roles("periods").items() if role != "last_year"]
AMOUNTS = {
    **{name: (float(value), float(value)) for name, value in NUMBERS.items() if value},
    **{name: (float(low), float(high)) for name, (low, high) in mapping("amounts", file="time").items()},
}  # fmt: skip
WAYS = _roles("ways_before") | _roles("ways_after")
STEPS = {"last": -1, "this": 0, "next": 1}
# Month and day of both ends: the meteorological and the astronomical season together.
_SEASONS = {
    "spring": ((3, 1), (6, 21)), "summer": ((6, 1), (9, 23)), "autumn": ((9, 1), (12, 21)),
    "winter": ((12, 1), (3, 21)),
}  # fmt: skip
SEASONS = {name: _SEASONS[role] for name, role in _roles("seasons").items()}
EASTER = "easter"
FEASTS: Mapping[str, Any] = mapping("feasts", file="time")
PLACED: dict[str, set[str]] = {kind: set(names) for kind, names in _TIME["placed"].items()}
HABIT: Mapping[str, Any] = _TIME["weekday"]
_EXPRESSIONS: Final[Mapping[str, Any]] = _TIME["expressions"]
FIRST_DAY = words("expressions.first_day", file="time")


def _either(names: Iterable[str]) -> str:
    """One of the names, longest first; grouped by first letter, which matches twice as fast."""
    ordered = sorted(names, key=lambda name: (name[0], -len(name)))
    letters = (
        first + "(?:" + "|".join(name[1:] for name in group) + ")"
        for first, group in groupby(ordered, key=itemgetter(0))
    )
    return "(?:" + "|".join(letters).replace(" ", r"[-\s]+") + ")"


def _any(patterns: Iterable[str]) -> str:
    """One of the expressions; what nothing matches if there is none."""
    return "(?:" + ("|".join(patterns) or "(?!)") + ")"


def _said(role: str) -> str:
    found: str | list[str] = _EXPRESSIONS[role]
    return _any(found.split() if isinstance(found, str) else found)


_PREFIXES: Final[Mapping[str, list[str]]] = _TIME["prefix"]
_LINKS = ("since", "after", "before", "until", "between", "from")
_PORTIONS = ("early", "late", "middle")


@cache
def prefix_role(said: str) -> str:
    """What an expression begins with, as a role: "depuis" is `since`."""
    plain = " ".join(said.split())
    fitting = (
        role
        for role in (*_LINKS, *_PORTIONS)
        if any(re.fullmatch(pattern, plain) for pattern in _PREFIXES[role])
    )
    return next(fitting, "")


_Y = r"(?:19|20)\d\d"
_MONTH_WORD = _either(MONTHS)
_MONTH_FIRST = _either(_of_languages("months", "month_first"))
_WEEKDAY_WORD = _either(WEEKDAYS)
_WEEKEND = r"week[-\s]?end"
_PART_WORD = rf"(?: (?:{_said('part_links')} )?(?P<@part>{_either(PARTS)}))?"
_QUANTITY = rf"(?:\d{{1,3}}(?:[.,]5)?|{_either(AMOUNTS)})"
_AMOUNT = rf"(?P<@low>{_QUANTITY})(?:(?: ?- ?| {_said('amount_ranges')} )(?P<@high>{_QUANTITY}))?"
_UNIT = rf"[- ]?(?P<@unit>{_either(UNITS)})s?(?:(?<=h)\d\d)?"
_HALF = rf"(?P<@half> {_said('halves')})?"
_ROUGHLY = rf"(?:{_said('roughly')} )?"
_STRICT_ORDINAL = _said("ordinals")
_ORDINAL = rf"(?:{_STRICT_ORDINAL}|{_said('loose_ordinals')})?"
_YEAR_AFTER = rf"(?:,? (?:{_said('of')} )?(?P<@year>{_Y})(?!\w|[-/.]\d))?"
_BEFORE = rf"(?P<@way>{_any(_roles('ways_before'))})"
_AFTER = rf"(?P<@way2>{_any(_roles('ways_after'))})"
_PERIOD = _any((_WEEKEND, *_BEFORE_UNITS))
_COUNTED = "|".join(rf"{unit}\b" for unit in (*_EXPRESSIONS["counted"], "km", "kg"))
_NOT_COUNTED = rf"(?! ?(?:€|\$|£|%|{_COUNTED}))"
_FIRST_OR_NUMBER = rf"\d\d?|{_said('first_day')}"
_WEEKDAY_AND_ARTICLE = rf"(?:{_WEEKDAY_WORD},? )?(?:{_said('date_articles')} )?"
# Each atom is a stretch of time; "@" stands for its own name, so that its groups are its own.
_ATOMS = {
    "iso": rf"(?<![-/.,+])(?P<@year>{_Y})[-/](?P<@month>\d\d?)[-/](?P<@day>\d\d?)(?![-/.]?\d)"
    r"(?:t[\d:.]+(?:z|[-+][\d:]+)?)?",
    "full": rf"(?<![-/.,+])(?P<@day>\d\d?)(?P<@by>[-/.])(?P<@month>\d\d?)(?P=@by)(?P<@year>{_Y})(?![-/.]?\d)",
    "short": r"(?P<@day>\d\d?)/(?P<@month>\d\d?)(?:/(?P<@year>\d\d))?(?![-/.,]?\d)",
    "days": rf"(?<![-/.,+])(?P<@first>\d\d?){_ORDINAL}(?: ?[-–] ?| {_said('day_ranges')} )"
    rf"(?P<@day>\d\d?){_ORDINAL}(?: {_said('of')})? (?P<@month>{_MONTH_WORD})\.?{_YEAR_AFTER}",
    "days_after": rf"(?P<@month>{_MONTH_FIRST})\.? (?P<@first>\d\d?){_ORDINAL}"
    rf"(?: ?[-–] ?| {_said('day_ranges_after')} )(?P<@day>\d\d?){_ORDINAL}(?!\d){_YEAR_AFTER}",
    "date": rf"{_WEEKDAY_AND_ARTICLE}(?<![-/.,+])(?P<@day>{_FIRST_OR_NUMBER})"
    rf"(?P<@ordinal>{_ORDINAL})(?: {_said('of')})? (?P<@month>{_MONTH_WORD})\.?{_YEAR_AFTER}"
    rf"(?: {_AFTER})?",
    "date_after": rf"(?:{_WEEKDAY_WORD},? )?(?P<@month>{_MONTH_FIRST})\.? (?:{_said('date_articles')} )?"
    rf"(?P<@day>\d\d?)(?P<@ordinal>{_ORDINAL})(?![\d:]|[.,]\d){_YEAR_AFTER}{_NOT_COUNTED}",
    "month": rf"(?:{_BEFORE} )?(?P<@month>{_MONTH_WORD})\.?(?: {_AFTER})?{_YEAR_AFTER}",
    "dayname": rf"(?:{_BEFORE} )?(?P<@weekday>{_WEEKDAY_WORD})(?: {_AFTER}|(?P<@week> {_any(HABIT['last_week'])}"
    rf"))?{_PART_WORD}(?!{_any(HABIT['not_before'])})",
    "day": rf"(?P<@word>{_either(DAYS)}){_PART_WORD}",
    "part": rf"(?:(?P<@way>{_said('part_ways')}) "
    rf"(?P<@part>{_either(PARTS)})|(?P<@past>{_said('last_night')})|(?P<@tonight>{_said('tonight')}))",
    "rolling": rf"(?:{_said('these')} (?:(?P<@low>{_QUANTITY}) )?{_said('these_last')} "
    rf"(?:(?P<@low2>{_QUANTITY}) )?|{_said('rolling_since')} {_ROUGHLY}(?P<@low3>{_QUANTITY})[- ]?"
    rf"|{_said('rolling_last')} (?P<@low4>{_QUANTITY}) |(?P<@one>{_said('rolling_one')}"
    rf"|(?(article){_said('rolling_one_after_article')}|(?!))) )(?P<@unit>{_either(UNITS)})s?",
    "period": rf"(?:{_BEFORE} (?P<@unit>{_PERIOD})"
    rf"{_said('this_suffixes')}?(?!-la\b)|(?P<@unit2>{_any((_WEEKEND, *PERIODS))})"
    rf" (?:{_AFTER}|(?P<@twice>{_said('twice')}))"
    rf"|(?(portion)(?P<@unit3>{_any(_BEFORE_UNITS)})|(?!)))",
    "season": rf"(?:{_BEFORE} )?(?P<@season>{_either(SEASONS)})(?: {_AFTER})?{_YEAR_AFTER}",
    "feast": rf"(?:{_BEFORE} )?(?P<@feast>{_either(FEASTS)})(?: (?:{_said('feast_suffixes')}|{_AFTER}))?{_YEAR_AFTER}",
    "ago": rf"{_said('ago_before')} {_ROUGHLY}{_AMOUNT}{_UNIT}{_HALF}(?!{_said('not_ago')}|-)",
    "ago_after": rf"{_AMOUNT}{_UNIT}{_HALF}(?: {_said('or_so')})? (?:{_said('ago_after')}|(?P<@ahead>{_said('ahead_after')}))",
    "later": rf"{_said('ahead_before')} {_ROUGHLY}{_AMOUNT}{_UNIT}{_HALF}(?!{_said('not_ahead')})",
    "weekends": rf"(?:{_said('weekends_before')} (?P<@count>{_QUANTITY}) {_WEEKEND}s?"
    rf"|(?P<@count2>{_QUANTITY}) {_WEEKEND}s? {_said('weekends_after')})",
    "lately": _said("lately"),
    "year": rf"(?P<@called>{_any(n for n, role in PERIODS.items() if role == 'year')} )?"
    rf"(?<![-/.,+:])(?P<@year>{_Y})(?![-/.,:]?\d){_NOT_COUNTED}",
}  # fmt: skip
_PREFIX = (
    rf"(?:(?P<link>{_any(pattern for role in _LINKS for pattern in _PREFIXES[role])}) )?"
    rf"(?:(?P<about>{_any(_PREFIXES['about'])}) )?"
    rf"(?:(?:{_any(_PREFIXES['portion_after'])} )?{_any(_PREFIXES['portion_articles'])}?"
    rf"(?P<portion>{_any(pattern for role in _PORTIONS for pattern in _PREFIXES[role])})(?:[-\s]+|(?<=')))?"
    rf"(?:(?:{_any(_PREFIXES['place_after'])} )?(?P<place>{_any(_PREFIXES['places'])}) )?"
    rf"(?P<article>{_any(_PREFIXES['articles'])})?"
)


@cache
def grammar() -> tuple[re.Pattern[str], dict[str, list[tuple[str, str]]]]:
    """The expression, and the groups of each atom under the short name they share.

    Compiled at first use, since it takes tens of milliseconds. A number after a short name is
    only another place for it: ``way2`` is read as ``way``.
    """
    atoms = (f"(?P<{name}>{atom.replace('@', f'{name}_')})" for name, atom in _ATOMS.items())
    source = f"{_PREFIX}(?:{'|'.join(atoms)})(?!\\w)".replace(" ", r"\s+").replace(r"\s+?", r"\s*")
    expression = re.compile(source)
    groups = {
        name: [
            (group.removeprefix(f"{name}_").rstrip("0123456789"), group)
            for group in expression.groupindex
            if group.startswith(f"{name}_")
        ]
        for name in _ATOMS
    }
    return expression, groups


WORD = re.compile(r"\w+")
# Each expression has one of these words, or a number: without one, nothing is tried.
CORE = {
    word
    for names in (MONTHS, WEEKDAYS, DAYS, PARTS, UNITS, SEASONS, FEASTS)
    for name in names
    for word in (*WORD.findall(name), f"{name}s")
}.union(words("search.core", file="time")) - words("search.not_core", file="time")
REACH = 8  # words before that one, as in "since about the end of the month of March"
JOIN = re.compile(rf"\s*(?:{_any(_TIME['joins']['gap'])}|-|–)\s*")
TO = re.compile(rf"{_any(_TIME['joins']['to'])}\b")
