"""Find the days on which a habit of a statement recurs: "yoga is every Wednesday", "le mardi soir", "on weekends".

In all functions `timezone` is the zone of the speaker, in which days begin; an unknown one raises `InvalidInput`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from hippocampe.language.calendar import WEEKDAYS
from hippocampe.language.datetimes import as_zone
from hippocampe.language.lexicon import any_of, words_of
from hippocampe.language.temporal.grammar import DAY, HABIT, HOURS, PARTS, UNITS, WAYS, WEEKEND
from hippocampe.language.temporal.resolve import start_of_day
from hippocampe.language.temporal.window import TimeWindow
from hippocampe.language.text import fold


def _any_name(names: Iterable[str]) -> str:
    return any_of(sorted(names, key=len, reverse=True))


_BEFORE: Final = 16  # characters that may make a weekday a habit
_WEEKEND: Final = (5, 6)
_HOURS: Final = _any_name(name for name, length in UNITS.items() if length == timedelta(hours=1))
_DAY: Final = re.compile(
    rf"(?<!\w)(?:(?P<name>{_any_name(WEEKDAYS)})|{any_of(WEEKEND)})"
    rf"(?P<several>s?)(?: (?P<part>{_any_name(PARTS)})(?P<often>s?))?(?!\w)"
    rf"(?! (?:\d|{_any_name((*WAYS, *HABIT['week_ahead'], *HABIT['fortnight_ahead']))})(?!\w))"
    # "Le week-end du 21 mars", but "le mercredi de 14h à 16h" and "le samedi d'habitude".
    rf"(?! {_any_name(words_of('grammar.of'))}(?![\w'])(?! ?\d+ ?(?:{_HOURS})))"
)
_ARTICLE: Final = re.compile(rf"(?<!\w){_any_name(HABIT['habit_articles'])} $")
_EACH: Final = tuple(HABIT["each"])
_ALTERNATING: Final = re.compile(rf" {any_of(HABIT['alternating'])}(?!\w)")
LONGEST: Final = 8 * DAY
"""Longest time whose habits are found: those of a month are not what is planned in it."""


def recurring(statement: str, within: TimeWindow, *, timezone: str | ZoneInfo) -> list[TimeWindow]:
    """Find the times within a window at which a habit recurs: each Wednesday, or the evening of it.

    Returns:
        A window for each day, or for the part of it that the statement names; none if `within` is longer than `LONGEST`.
    """
    folded = fold(statement)
    habits = list(_habits(folded))
    found: list[TimeWindow] = []
    for day in _days(within, timezone) if habits else ():
        for weekdays, part, span in habits:
            if day.weekday() in weekdays:
                first, last = HOURS[part] if part else (0, 24)
                start, end = (day + timedelta(hours=each) for each in (first, last))
                kind = "part" if part else "day"
                found.append(TimeWindow(start, end, folded[slice(*span)], span, kind))
    return found


def next_time(question: str, *, now: datetime, timezone: str | ZoneInfo) -> TimeWindow | None:
    """Find the next time of the habits that a question asks for: "what do I do on Saturdays?"; None if it names none."""
    week = TimeWindow(now, now + 7 * DAY, "", (0, 0), "day")
    found = next(iter(recurring(question, week, timezone=timezone)), None)
    if found is None or len(fold(question)) != len(question):
        return found
    return replace(found, text=question[slice(*found.span)])


def names_of_days(within: TimeWindow, *, timezone: str | ZoneInfo) -> frozenset[str]:
    """Return the folded words for the days of a window, by which a habit may name them; none if it is longer than `LONGEST`."""
    days = {day.weekday() for day in _days(within, timezone)}
    names = frozenset(name for name, number in WEEKDAYS.items() if number in days)
    return names if days.isdisjoint(_WEEKEND) else names | words_of("weekday.weekend", file="time")


def _days(within: TimeWindow, timezone: str | ZoneInfo) -> Iterator[datetime]:
    """The days of a window, each by its start; none if it is longer than `LONGEST`."""
    day = start_of_day(within.start.astimezone(as_zone(timezone)))
    while day < within.end and within.end - within.start <= LONGEST:
        yield day
        day += DAY


def _habits(folded: str) -> Iterator[tuple[tuple[int, ...], str | None, tuple[int, int]]]:
    """The weekdays of habits, each with the part of the day and its place in the text."""
    for found in _DAY.finditer(folded):
        before = f" {folded[max(0, found.start() - _BEFORE) : found.start()]}"
        name, part = found["name"], found["part"]
        habit = found["several"] or found["often"] or before.endswith(_EACH)
        if habit or _ARTICLE.search(before) or _ALTERNATING.match(folded, found.end()):
            days = (WEEKDAYS[name],) if name else _WEEKEND
            yield days, PARTS[part] if part else None, found.span()
