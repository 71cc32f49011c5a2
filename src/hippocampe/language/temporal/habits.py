"""Find the days on which a habit of a statement recurs: "yoga is every Wednesday", "le mardi soir"."""

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final
from zoneinfo import ZoneInfo

from hippocampe.language.calendar import WEEKDAYS
from hippocampe.language.datetimes import as_zone
from hippocampe.language.temporal.grammar import DAY, HABIT, HOURS, PARTS, WAYS
from hippocampe.language.temporal.resolve import start_of_day
from hippocampe.language.temporal.window import TimeWindow
from hippocampe.language.text import fold


def _any_of(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


_BEFORE: Final = 12  # characters that may make a weekday a habit
_DAY: Final = re.compile(
    rf"(?<!\w)(?P<name>{_any_of(WEEKDAYS)})(?P<several>s?)(?: (?P<part>{_any_of(PARTS)})(?P<often>s?))?(?!\w)"
    rf"(?! (?:\d|{_any_of((*WAYS, *HABIT['week_ahead'], *HABIT['fortnight_ahead']))})(?!\w))"
)
_ARTICLE: Final = re.compile(rf"(?<!\w)(?:{_any_of(HABIT['habit_articles'])}) $")
_EACH: Final = tuple(HABIT["each"])
LONGEST: Final = 8 * DAY
"""Longest time whose habits are found: those of a month are not what is planned in it."""


def recurring(statement: str, within: TimeWindow, *, timezone: str | ZoneInfo) -> list[TimeWindow]:
    """Find the times within a window at which a habit recurs: each Wednesday, or the evening of it.

    Args:
        statement: A statement, of any length.
        within: The window.
        timezone: Zone of the speaker: days begin there.

    Returns:
        A window for each day, or for the part of it that the statement names; none if `within` is longer than `LONGEST`.

    Raises:
        InvalidInput: `timezone` is unknown.
    """
    folded = fold(statement)
    days = list(_habits(folded))
    if not days or within.end - within.start > LONGEST:
        return []
    found: list[TimeWindow] = []
    day = start_of_day(within.start.astimezone(as_zone(timezone)))
    while day < within.end:
        for weekday, part, span in days:
            if day.weekday() == weekday:
                first, last = HOURS[part] if part else (0, 24)
                start, end = (day + timedelta(hours=each) for each in (first, last))
                kind = "part" if part else "day"
                found.append(TimeWindow(start, end, folded[slice(*span)], span, kind))
        day += DAY
    return found


def _habits(folded: str) -> Iterator[tuple[int, str | None, tuple[int, int]]]:
    """The weekdays of habits, each with the part of the day and its place in the text."""
    for found in _DAY.finditer(folded):
        before = f" {folded[max(0, found.start() - _BEFORE) : found.start()]}"
        name, part = found["name"], found["part"]
        habit = found["several"] or found["often"] or before.endswith(_EACH)
        if habit or _ARTICLE.search(before):
            yield WEEKDAYS[name], PARTS[part] if part else None, found.span()
