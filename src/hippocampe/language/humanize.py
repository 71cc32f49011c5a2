"""Times as people write them, in French and English."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

from hippocampe.language.datetimes import as_utc, as_zone
from hippocampe.language.detect import Language
from hippocampe.language.lexicon import of

_NEAR = 21  # days: beyond three weeks a date says more than a count


def relative_time(
    at: datetime, *, now: datetime, timezone: str | ZoneInfo, language: Language
) -> str:
    """Say when something was, as one would in conversation.

    Args:
        at: the moment spoken of; aware.
        now: the moment of speaking; aware.
        timezone: where days begin.
        language: the code of a language with data: ``"fr"``.

    Returns:
        "il y a 3 jours", "hier", "le 28 février"; "3 days ago", "on February 28, 2025".

    Raises:
        InvalidInput: a naive datetime, or an unknown timezone.
    """
    said: Mapping[str, str] = of(language, "time")["said"]
    zone = as_zone(timezone)
    there, here = _local(as_utc(at, name="at"), zone), _local(as_utc(now, name="now"), zone)
    gap = there.astimezone(UTC) - here.astimezone(UTC)
    days = (there.date() - here.date()).days
    if abs(gap) < timedelta(minutes=1):
        return said["now"]
    if days == 0 or abs(gap) < timedelta(hours=1):
        unit = "hour" if abs(gap) >= timedelta(hours=1) else "minute"
        step = timedelta(**{f"{unit}s": 1})
        whole = step * int(gap / step)
    elif abs(days) == 1:
        return said["yesterday" if days < 0 else "tomorrow"]
    elif abs(days) <= _NEAR:
        unit, whole = "day", timedelta(days=days)
    else:
        pattern = said["day" if there.year == here.year else "day_of_year"]
        day = _date(there.date(), pattern, language)
        if there.day == 1 and said["first"]:
            day = day.replace("1 ", f"{said['first']} ", 1)
        return said["on"].format(day=day)
    return _ago(whole, unit, language)


@lru_cache(maxsize=4_096)
def _date(day: date, pattern: str, language: Language) -> str:
    from babel.dates import format_date

    return format_date(day, pattern, locale=language)


@lru_cache(maxsize=1_024)
def _ago(gap: timedelta, unit: Literal["day", "hour", "minute"], language: Language) -> str:
    from babel.dates import format_timedelta

    # The threshold keeps the unit that was chosen: 18 days are not "3 weeks".
    return format_timedelta(gap, unit, threshold=99, add_direction=True, locale=language)


def clock_label(
    at: datetime, timezone: str | ZoneInfo, language: Language = "fr", *, now: datetime
) -> str:
    """The day, month and hour of a moment where it is read: ``"17/01 10:23"``, ``"Jan 17, 10:23"``.

    A moment of another year has its year: ``"17/01/2025 10:23"``, ``"Jan 17, 2025, 10:23"``.

    Raises:
        InvalidInput: a naive datetime, or an unknown timezone.
    """
    there = _local(as_utc(at, name="at"), as_zone(timezone))
    here = _local(as_utc(now, name="now"), as_zone(timezone))
    said = of(language, "time")["said"]
    clock: str = said["clock" if there.year == here.year else "clock_of_another_year"]
    if "MMM" not in clock:
        return there.strftime(clock)
    from babel.dates import format_datetime

    return format_datetime(there, clock, locale=language)


def _local(at: datetime, zone: ZoneInfo) -> datetime:
    try:
        return at.astimezone(zone)
    except OverflowError:  # the first or the last day of the calendar: no zone matters there
        return at
