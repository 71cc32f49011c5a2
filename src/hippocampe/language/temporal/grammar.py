"""The regular expression that finds time expressions in a sentence, built from the language data.

The words are data (`language/*/time.toml`), folded: lower case, no accents, straight apostrophes. The
expression only finds candidates and names their parts. `resolve` computes the dates, and `window` rejects words
that are not a time expression ("may", the verb).
"""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from hippocampe.language.calendar import MONTHS, NUMBERS, WEEKDAYS
from hippocampe.language.lexicon import any_of, languages, load, load_all, table_of, words_of
from hippocampe.language.text import fold

_TIME: Final = load_all("time")


def _roles(table: str) -> dict[str, str]:
    """Invert a table of words by role: the role of each word."""
    found: Mapping[str, Any] = _TIME[table]
    return {
        name: role
        for role, names in found.items()
        for name in (names.split() if isinstance(names, str) else names)
    }


def _of_languages(role: str, trait: str, table: str | None = None) -> set[str]:
    """Return the folded words of a role, from the languages whose data sets `trait`."""
    having = [load(each, "time") for each in languages()]
    return {
        fold(word)
        for data in having
        if (data[table] if table else data)[trait]
        for word in " ".join((data[role],) if isinstance(data[role], str) else data[role]).split()
    }


VERBS = words_of("verbs", file="time")
OTHER_SENSES = words_of("other_senses", file="time")
CAPITAL_MONTHS = table_of("capital_months", file="time")
SHORT_WEEKDAYS = {
    name: number
    for each in languages()
    for number, names in enumerate(load(each, "time")["short_weekdays"])
    for name in names.split()
}
"""Number of a day of the week by its abbreviation."""
BARE_WEEKDAYS = _of_languages("weekdays", "bare", "weekday")
HABITS: dict[str, tuple[str, ...]] = {
    name: (*data["weekday"]["each"], *data["weekday"]["habits"])
    for data in (load(each, "time") for each in languages())
    for name in data["weekdays"].split()
}
"""Weekday → the words before it that make it a habit ("every Monday")."""
DAYS = {name: int(offset) for name, offset in _roles("days").items()}
PARTS = _roles("parts")
# Local hours; past 24 is the next day. They overlap because usage of these words varies.
HOURS = {
    "morning": (5, 12), "noon": (11, 15), "afternoon": (12, 19), "evening": (17, 26), "night": (18, 30),
}  # fmt: skip
DAY = timedelta(days=1)
_LENGTHS = {
    "minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": DAY, "week": DAY * 7,
    "fortnight": DAY * 14, "month": DAY * 30.44, "year": DAY * 365.25,
}  # fmt: skip
UNITS = {name: _LENGTHS[role] for name, role in _roles("units").items()}
PERIODS: Mapping[str, Any] = {
    name: "year" if role == "last_year" else role for name, role in _roles("periods").items()
}
_BEFORE_UNITS = [name for name, role in _roles("periods").items() if role != "last_year"]
AMOUNTS = {
    **{name: (float(value), float(value)) for name, value in NUMBERS.items() if value},
    **{name: (float(low), float(high)) for name, (low, high) in table_of("amounts", file="time").items()},
}  # fmt: skip
WAYS = _roles("ways_before") | _roles("ways_after")
STEPS = {"last": -1, "this": 0, "next": 1}
# (month, day) of both ends: union of the meteorological and the astronomical season.
_SEASONS = {
    "spring": ((3, 1), (6, 21)), "summer": ((6, 1), (9, 23)), "autumn": ((9, 1), (12, 21)),
    "winter": ((12, 1), (3, 21)),
}  # fmt: skip
SEASONS = {name: _SEASONS[role] for name, role in _roles("seasons").items()}
EASTER = "easter"
FEASTS: Mapping[str, Any] = table_of("feasts", file="time")
PLACED: dict[str, set[str]] = {kind: set(names) for kind, names in _TIME["placed"].items()}
HABIT: Mapping[str, Any] = _TIME["weekday"]
_EXPRESSIONS: Final[Mapping[str, Any]] = _TIME["expressions"]
FIRST_DAY = words_of("expressions.first_day", file="time")


def _any_name(names: Iterable[str]) -> str:
    """Match one of the names, longest first. Grouping by first letter doubles the speed."""
    ordered = sorted(names, key=lambda name: (name[0], -len(name)))
    letters = (
        first + "(?:" + "|".join(name[1:] for name in group) + ")"
        for first, group in groupby(ordered, key=itemgetter(0))
    )
    return "(?:" + "|".join(letters).replace(" ", r"[-\s]+") + ")"


def _phrases(role: str) -> str:
    return any_of(_EXPRESSIONS[role])


_PREFIXES: Final[Mapping[str, list[str]]] = _TIME["prefix"]
_LINKS = ("since", "after", "before", "until", "deadline", "between", "from")
_PORTIONS = ("early", "late", "middle")


@cache
def prefix_role(prefix: str) -> str:
    """Return the role of the prefix of an expression: "depuis" → `since`; "" for none."""
    plain = " ".join(prefix.split())
    fitting = (
        role
        for role in (*_LINKS, *_PORTIONS)
        if any(re.fullmatch(pattern, plain) for pattern in _PREFIXES[role])
    )
    return next(fitting, "")


_Y = r"(?:19|20)\d\d"
_MONTH_WORD = _any_name(MONTHS)
_MONTH_FIRST = _any_name(_of_languages("months", "month_first"))
_WEEKDAY_WORD = _any_name(WEEKDAYS)
_SHORT_OR_FULL_WEEKDAY = _any_name(WEEKDAYS | SHORT_WEEKDAYS)
WEEKEND: tuple[str, ...] = tuple(_EXPRESSIONS["weekend"])
_WEEKEND = _phrases("weekend")
_PART_WORD = rf"(?: (?:{_phrases('part_links')} )?(?P<@part>{_any_name(PARTS)}))?"
_QUANTITY = rf"(?:\d{{1,3}}(?:[.,]5)?|{_any_name(AMOUNTS)})"
_AMOUNT = (
    rf"(?P<@low>{_QUANTITY})(?:(?: ?- ?| {_phrases('amount_ranges')} )(?P<@high>{_QUANTITY}))?"
)
_UNIT = rf"[- ]?(?P<@unit>{_any_name(UNITS)})s?(?:(?<=h)\d\d)?"
_HALF = rf"(?P<@half> {_phrases('halves')})?"
_ROUGHLY = rf"(?:{_phrases('roughly')} )?"
_STRICT_ORDINAL = _phrases("ordinals")
_ORDINAL = rf"(?:{_STRICT_ORDINAL}|{_phrases('loose_ordinals')})?"
_YEAR_AFTER = rf"(?:,? (?:{_phrases('of')} )?(?P<@year>{_Y})(?!\w|[-/.]\d))?"
_BEFORE = rf"(?P<@way>{any_of(_roles('ways_before'))})"
_AFTER = rf"(?P<@way2>{any_of(_roles('ways_after'))})"
_PERIOD = any_of((_WEEKEND, *_BEFORE_UNITS))
_COUNTED = "|".join(rf"{unit}\b" for unit in (*_EXPRESSIONS["counted"], "km", "kg"))
_NOT_COUNTED = rf"(?! ?(?:€|\$|£|%|{_COUNTED}))"
_FIRST_OR_NUMBER = rf"\d\d?|{_phrases('first_day')}"
_DATE_ARTICLE = rf"(?:{_phrases('date_articles')} )?"
_WEEKDAY = rf"(?:(?P<@weekday>{_WEEKDAY_WORD}),? )"


def _ahead(suffix: str = "") -> str:
    """Match one or two weeks after a day, said after it, or with the suffix `_of` before it."""
    week, fortnight = (any_of(HABIT[f"{unit}_ahead{suffix}"]) for unit in ("week", "fortnight"))
    number = "2" if suffix else ""
    return rf"(?:(?P<@oneweek{number}>{week})|(?P<@twoweeks{number}>{fortnight}))"


# One pattern per kind of expression. "@" is replaced by its name, to make group names unique.
_ATOMS = {
    "part_of": rf"(?:{_phrases('these')} )?(?:(?P<@low>{_QUANTITY}) )?(?:(?P<@first>{_phrases('first_of')})|{_phrases('last_of')}) "
    rf"(?:(?P<@low2>{_QUANTITY}) )?(?P<@unit>{any_of((_WEEKEND, *UNITS))})s? {_phrases('part_of')}"
    rf"(?P<@month>{_MONTH_WORD})\.?{_YEAR_AFTER}",
    "iso": rf"(?<![-/.,+])(?P<@year>{_Y})[-/](?P<@month>\d\d?)[-/](?P<@day>\d\d?)(?![-/.]?\d)"
    r"(?:t[\d:.]+(?:z|[-+][\d:]+)?)?",
    "full": rf"(?<![-/.,+])(?P<@day>\d\d?)(?P<@by>[-/.])(?P<@month>\d\d?)(?P=@by)(?P<@year>{_Y})(?![-/.]?\d)",
    "short": rf"{_WEEKDAY}?(?P<@day>\d\d?)/(?P<@month>\d\d?)(?:/(?P<@year>\d\d))?(?![-/.,]?\d)",
    "days": rf"(?<![-/.,+])(?P<@first>\d\d?){_ORDINAL}(?: ?[-–] ?| {_phrases('day_ranges')} )"
    rf"(?P<@day>\d\d?){_ORDINAL}(?: {_phrases('of')})? (?P<@month>{_MONTH_WORD})\.?{_YEAR_AFTER}",
    "days_after": rf"(?P<@month>{_MONTH_FIRST})\.? (?P<@first>\d\d?){_ORDINAL}"
    rf"(?: ?[-–] ?| {_phrases('day_ranges_after')} )(?P<@day>\d\d?){_ORDINAL}(?!\d){_YEAR_AFTER}",
    "date": rf"{_WEEKDAY}?{_DATE_ARTICLE}(?<![-/.,+])(?P<@day>{_FIRST_OR_NUMBER})"
    rf"(?P<@ordinal>{_ORDINAL})(?: {_phrases('of')})? (?P<@month>{_MONTH_WORD})\.?{_YEAR_AFTER}"
    rf"(?: {_AFTER})?",
    "date_after": rf"{_WEEKDAY}?(?P<@month>{_MONTH_FIRST})\.? {_DATE_ARTICLE}"
    rf"(?P<@day>\d\d?)(?P<@ordinal>{_ORDINAL})(?![\d:]|[.,]\d){_YEAR_AFTER}{_NOT_COUNTED}",
    "weekday_and_day": rf"{_WEEKDAY}{_DATE_ARTICLE}(?P<@day>{_FIRST_OR_NUMBER})(?P<@ordinal>{_ORDINAL})"
    rf"(?![\d:]|[-–/.,]\d){_NOT_COUNTED}(?! ?{_any_name(UNITS)}s?(?!\w))",
    "month": rf"(?:{_BEFORE} )?(?P<@month>{_MONTH_WORD})\.?(?: {_AFTER})?{_YEAR_AFTER}",
    "dayname": rf"(?:{_BEFORE} |{_ahead('_of')} )?(?P<@weekday>{_SHORT_OR_FULL_WEEKDAY})"
    rf"(?: {_AFTER}|(?P<@week> {any_of(HABIT['last_week'])})| {_ahead()})?{_PART_WORD}(?!{any_of(HABIT['not_before'])}| {_any_name(PARTS)}s\b)",
    "day": rf"(?P<@word>{_any_name(DAYS)}){_PART_WORD}",
    "part": rf"(?:(?P<@way>{_phrases('part_ways')}) "
    rf"(?P<@part>{_any_name(PARTS)})|(?P<@past>{_phrases('last_night')})|(?P<@tonight>{_phrases('tonight')})"
    rf"|(?(article)(?P<@part2>{_any_name(PARTS)})|(?!)))",
    "rolling": rf"(?:{_phrases('these')} (?:(?P<@low>{_QUANTITY}) )?{_phrases('these_last')} "
    rf"(?:(?P<@low2>{_QUANTITY}) )?|{_phrases('rolling_since')} {_ROUGHLY}(?P<@low3>{_QUANTITY})[- ]?"
    rf"|{_phrases('rolling_last')} (?P<@low4>{_QUANTITY}) |(?P<@one>{_phrases('rolling_one')}"
    rf"|(?(article){_phrases('rolling_one_after_article')}|(?!))) )(?P<@unit>{_any_name(UNITS)})s?",
    "period": rf"(?:{_BEFORE} (?P<@unit>{_PERIOD})"
    rf"{_phrases('this_suffixes')}?(?!-la\b)|(?P<@unit2>{any_of((_WEEKEND, *PERIODS))})"
    rf" (?:{_AFTER}|(?P<@twice>{_phrases('twice')}))"
    rf"|(?(portion)(?P<@unit3>{any_of(_BEFORE_UNITS)})|(?!)))",
    "weekend": rf"(?P<@unit>{_WEEKEND})",
    "season": rf"(?:{_BEFORE} )?(?P<@season>{_any_name(SEASONS)})(?: {_AFTER})?{_YEAR_AFTER}",
    "feast": rf"(?:{_BEFORE} )?(?P<@feast>{_any_name(FEASTS)})(?: (?:{_phrases('feast_suffixes')}|{_AFTER}))?{_YEAR_AFTER}",
    "ago": rf"{_phrases('ago_before')} {_ROUGHLY}{_AMOUNT}{_UNIT}{_HALF}(?!{_phrases('not_ago')}|-)",
    "ago_after": rf"{_AMOUNT}{_UNIT}{_HALF}(?: {_phrases('or_so')})? (?:{_phrases('ago_after')}|(?P<@ahead>{_phrases('ahead_after')}))",
    "later": rf"(?:(?P<@within>{_phrases('within')})|(?P<@lasts>{_phrases('lasts_or_ahead')})|{_phrases('ahead_before')}) {_ROUGHLY}{_AMOUNT}{_UNIT}{_HALF}(?!{_phrases('not_ahead')})",
    "weekends": rf"(?:{_phrases('weekends_before')} (?P<@count>{_QUANTITY}) {_WEEKEND}s?"
    rf"|(?P<@count2>{_QUANTITY}) {_WEEKEND}s? {_phrases('weekends_after')})",
    "lately": _phrases("lately"),
    "day_of_month": rf"(?(article)|(?!))(?P<@day>{_FIRST_OR_NUMBER})(?P<@ordinal>{_STRICT_ORDINAL})?"
    rf"(?![\d:]|[-–/.,]\d| \d){_NOT_COUNTED}(?! ?{_any_name(UNITS)}s?(?!\w))",
    "year": rf"(?P<@called>{any_of(n for n, role in PERIODS.items() if role == 'year')} )?"
    rf"(?<![-/.,+:])(?P<@year>{_Y})(?![-/.,:]?\d){_NOT_COUNTED}",
}  # fmt: skip
_PREFIX = (
    rf"(?:(?P<link>{any_of(pattern for role in _LINKS for pattern in _PREFIXES[role])}) )?"
    rf"(?:(?P<about>{any_of(_PREFIXES['about'])}) )?"
    rf"(?:(?:{any_of(_PREFIXES['portion_after'])} )?{any_of(_PREFIXES['portion_articles'])}?"
    rf"(?P<portion>{any_of(pattern for role in _PORTIONS for pattern in _PREFIXES[role])})(?:[-\s]+|(?<=')))?"
    rf"(?:(?:{any_of(_PREFIXES['place_after'])} )?(?P<place>{any_of(_PREFIXES['places'])}) )?"
    rf"(?P<article>{any_of(_PREFIXES['articles'])})?"
)


@cache
def grammar() -> tuple[re.Pattern[str], dict[str, list[tuple[str, str]]]]:
    """Compile the grammar. Cached, because compiling takes tens of milliseconds.

    Returns:
        The expression; and for each kind of expression its groups, as (short name, group name).
        A trailing digit is dropped from short names: ``way2`` is another position of ``way``.
    """
    atoms = (f"(?P<{name}>{atom.replace('@', f'{name}_')})" for name, atom in _ATOMS.items())
    source = f"{_PREFIX}{any_of(atoms)}(?!\\w)".replace(" ", r"\s+").replace(r"\s+?", r"\s*")
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
# Pre-filter: every expression contains one of these words or a number.
CORE = {
    word
    for names in (MONTHS, WEEKDAYS, SHORT_WEEKDAYS, DAYS, PARTS, UNITS, SEASONS, FEASTS)
    for name in names
    for word in (*WORD.findall(name), f"{name}s")
}.union(words_of("search.core", file="time")) - words_of("search.not_core", file="time")
MAX_WORDS_BEFORE_CORE = 8  # "since about the end of the month of March"
JOIN = re.compile(rf"\s*(?:{any_of(_TIME['joins']['gap'])}|-|–)\s*")
TO = re.compile(rf"{any_of(_TIME['joins']['to'])}\b")
