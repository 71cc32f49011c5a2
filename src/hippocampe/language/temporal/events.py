"""Find when the event of a statement happens, if it is told relative to now.

Wall-clock arithmetic is done in the zone of the speaker, where days begin; returned datetimes are UTC. In all functions
`text` is of any length, `now` is the time of the statement, aware, and `timezone` is the zone of its speaker. A naive
`now` or an unknown timezone raises `InvalidInput`.
"""

from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from hippocampe.language.datetimes import as_utc, as_zone
from hippocampe.language.temporal.expressions import Expression, time_expressions
from hippocampe.language.temporal.grammar import AMOUNTS, DAY, UNITS, WAYS
from hippocampe.language.temporal.resolve import in_utc, start_of_day

LONGEST_EVENT = timedelta(days=10)
"""Longest time of an event: "last month" does not determine a day."""
MAX_EVENT_CHARACTERS = 500
"""Characters of a statement searched for the time of its event. Longer statements tell several events."""
_OF_NOW: Final = frozenset(
    "day ago ago_after later part dayname weekday_and_day period weekends rolling".split()
)
"""The kinds of expressions that name another time on another day."""


def parse_event(text: str, *, now: datetime, timezone: str | ZoneInfo) -> datetime | None:
    """Find the time of a statement's event, if it is relative to now: "yesterday", "next Tuesday".

    A date without a year may be past or future, a bare weekday may be a habit, and the middle of last year is not a
    date: these give None, and so does a statement with several times.

    Returns:
        The middle of the time named, UTC; noon for a day. A night is on the day on which it begins.
    """
    found = _event(text, now, timezone)
    return _middle(found) if found else None


def days_told(
    text: str, *, now: datetime, timezone: str | ZoneInfo, past: bool
) -> list[tuple[datetime, datetime]]:
    """Find the days that a statement gives relative to now: "yesterday", "on Tuesday", "since last week".

    A date that is the same whenever it is told is left out, and so is a habit.

    Args:
        past: Whether it tells of the past, so that a bare weekday is the last one; else it is today or the next one.

    Returns:
        For each expression the start of its first day and the end of its last one, UTC.
    """
    here = as_utc(now, name="now").astimezone(as_zone(timezone))
    days: list[tuple[datetime, datetime]] = []
    for found in time_expressions(text[:MAX_EVENT_CHARACTERS], here):
        if not found.sure or found.name not in _OF_NOW:
            continue
        start, end = found.span if past else found.coming(here)
        last = start_of_day(end - timedelta.resolution)
        days.append(in_utc((start_of_day(start), last + DAY)))
    return days


def days_of_stamp(
    stamp: str, *, now: datetime, timezone: str | ZoneInfo
) -> list[tuple[datetime, datetime]]:
    """Return the start and the end of the day of a date, UTC; none of what is no date: "31/02".

    Args:
        stamp: A date as written: "2026-03-02", "02/03".
        now: The time of the statement, from which a year is completed; aware.
    """
    here = as_utc(now, name="now").astimezone(as_zone(timezone))
    return [in_utc(found.span) for found in time_expressions(stamp, here)]


def is_vague_event(text: str, at: datetime, *, now: datetime, timezone: str | ZoneInfo) -> bool:
    """Return whether a statement dates its event by a longer time than a day: "last week", "a few days ago".

    Args:
        at: The time of the event; False if it is another than the one that `parse_event` finds.
    """
    found = _event(text, now, timezone)
    if found is None or _middle(found) != at:
        return False
    start, end = found.span
    return end - start > DAY and not _counts_days(found)


def _event(text: str, now: datetime, timezone: str | ZoneInfo) -> Expression | None:
    """The only time expression of a statement, if it tells when an event happens."""
    here = as_utc(now, name="now").astimezone(as_zone(timezone))
    found = [each for each in time_expressions(text[:MAX_EVENT_CHARACTERS], here) if each.sure]
    return found[0] if len(found) == 1 and _is_event(found[0]) else None


def _middle(found: Expression) -> datetime:
    start, end = found.span
    if found.kind == "part":
        # The middle of a night is midnight, which is the next day.
        end = min(end, start_of_day(start) + DAY)
    start, end = in_utc((start, end))
    return start + (end - start) / 2


def _counts_days(found: Expression) -> bool:
    """Return whether an expression gives a number of days: "3 days ago", whose window is wider than a day."""
    groups = found.groups
    low, high = AMOUNTS.get(groups.get("low", ""), (0, 0))
    return low == high and "high" not in groups and UNITS.get(groups.get("unit", "")) == DAY


def _is_event(found: Expression) -> bool:
    """Return whether an expression is a short time at a distance from now."""
    start, end = found.span
    if found.link or found.match["portion"] or end - start > LONGEST_EVENT:
        return False
    match found.name:
        case "day" | "ago" | "ago_after" | "later":
            return "within" not in found.groups
        case "part":
            return "past" in found.groups or _is_other(found)
        case "dayname":
            weeks = {"week", "oneweek", "twoweeks"}
            return not weeks.isdisjoint(found.groups) or _is_other(found)
        case "period":
            return _is_other(found)
        case _:
            return False


def _is_other(found: Expression) -> bool:
    return WAYS.get(found.groups.get("way", "")) in ("last", "next")
