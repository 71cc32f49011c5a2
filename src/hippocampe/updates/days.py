"""Compare the days that two statements give relative to when each was told: "tomorrow", or a date in front. Pure."""

from datetime import datetime, timedelta

from hippocampe.language.datetimes import as_zone
from hippocampe.language.statement import parse
from hippocampe.language.temporal.events import days_of_stamp, days_told
from hippocampe.language.temporal.resolve import start_of_day
from hippocampe.language.tense import is_over
from hippocampe.types import Memory


def is_other_occasion(new: Memory, old: Memory, timezone: str) -> bool:
    """Return whether two statements give no common day: "tomorrow", of today and of last week."""
    days, days_before = (_days_of(each, timezone) for each in (new, old))
    return bool(days and days_before) and not any(
        start < end_before and start_before < end
        for start, end in days
        for start_before, end_before in days_before
    )


def has_passed(new: Memory, old: Memory, timezone: str) -> bool:
    """Return whether the days of an old statement are over, and those of one of another occasion to come."""
    days, days_before = (_days_of(each, timezone) for each in (new, old))
    now = new.created_at
    return min(start for start, _ in days) > now >= max(end for _, end in days_before)


def is_older(new: Memory, old: Memory, timezone: str) -> bool:
    """Return whether the date in front of a statement is before that of one which was stored earlier."""
    stamped = parse(new.content).stamp and parse(old.content).stamp
    return bool(stamped) and _days_of(new, timezone) < _days_of(old, timezone)


def adds_date(new: str, old: str) -> bool:
    """Return whether a statement has a date in front of it that the one which it repeats lacks."""
    return bool(parse(new).stamp and not parse(old).stamp)


def _days_of(memory: Memory, timezone: str) -> list[tuple[datetime, datetime]]:
    """The days that a statement gives, in a zone."""
    statement = parse(memory.content)
    if statement.stamp:
        return days_of_stamp(statement.stamp, now=memory.created_at, timezone=timezone)
    past = is_over(statement)
    days = days_told(memory.content, now=memory.created_at, timezone=timezone, past=past)
    if len(days) == 1 and memory.occurred_at is not None:
        # The caller may know better when it happened.
        start = start_of_day(memory.occurred_at.astimezone(as_zone(timezone)))
        return [(start, start + timedelta(days=1))]
    return days
