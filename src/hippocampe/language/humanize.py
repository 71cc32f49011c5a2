"""Format times in natural language.

In all functions `at` and `now` are aware, `timezone` is that of the reader, in which days begin, and `language` is the
code of a language with data, such as "fr". A naive datetime or an unknown timezone raises `InvalidInput`.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

from hippocampe.language.datetimes import as_utc, as_zone
from hippocampe.language.detect import Language
from hippocampe.language.lexicon import load

_MAX_DAYS_COUNTED = 21  # Beyond three weeks a date is clearer than a count.


def relative_time(
    at: datetime, *, now: datetime, timezone: str | ZoneInfo, language: Language
) -> str:
    """Describe an instant relative to now: "il y a 3 jours", "hier", "le 28 février"; "on February 28, 2025"."""
    forms: Mapping[str, str] = load(language, "time")["said"]
    there, here = _local(at, timezone), _local(now, timezone, "now")
    gap = there.astimezone(UTC) - here.astimezone(UTC)
    days = (there.date() - here.date()).days
    if abs(gap) < timedelta(minutes=1):
        return forms["now"]
    if days == 0 or abs(gap) < timedelta(hours=1):
        unit = "hour" if abs(gap) >= timedelta(hours=1) else "minute"
        step = timedelta(**{f"{unit}s": 1})
        whole = step * int(gap / step)
    elif abs(days) == 1:
        return forms["yesterday" if days < 0 else "tomorrow"]
    elif abs(days) <= _MAX_DAYS_COUNTED:
        unit, whole = "day", timedelta(days=days)
    else:
        return forms["on"].format(day=_day(there.date(), here.date(), language))
    return _ago(whole, unit, language)


def day_label(at: datetime, *, now: datetime, timezone: str | ZoneInfo, language: Language) -> str:
    """Format the day of an instant: ``"hier"``, ``"4 septembre"``; ``"tomorrow"``, ``"September 4, 2025"``."""
    forms: Mapping[str, str] = load(language, "time")["said"]
    there, here = _local(at, timezone).date(), _local(now, timezone, "now").date()
    near = {-1: "yesterday", 0: "today", 1: "tomorrow"}.get((there - here).days)
    return forms[near] if near else _day(there, here, language)


def _day(there: date, here: date, language: Language) -> str:
    """A day, with its year if it is another one than here."""
    forms: Mapping[str, str] = load(language, "time")["said"]
    day = _date(there, forms["day" if there.year == here.year else "day_of_year"], language)
    return day.replace("1 ", f"{forms['first']} ", 1) if there.day == 1 and forms["first"] else day


@lru_cache(maxsize=4_096)
def _date(day: date, pattern: str, language: Language) -> str:
    from babel.dates import format_date

    return format_date(day, pattern, locale=language)


@lru_cache(maxsize=1_024)
def _ago(gap: timedelta, unit: Literal["day", "hour", "minute"], language: Language) -> str:
    from babel.dates import format_timedelta

    # The threshold keeps the chosen unit: 18 days must not become "3 weeks".
    return format_timedelta(gap, unit, threshold=99, add_direction=True, locale=language)


def clock_label(
    at: datetime, timezone: str | ZoneInfo, language: Language = "fr", *, now: datetime
) -> str:
    """Format an instant as day, month and time: ``"17/01 10:23"``, ``"Jan 17, 10:23"``.

    The year is added when it differs from the current one: ``"17/01/2025 10:23"``.
    """
    there, here = _local(at, timezone), _local(now, timezone, "now")
    forms = load(language, "time")["said"]
    clock: str = forms["clock" if there.year == here.year else "clock_of_another_year"]
    if "MMM" not in clock:
        return there.strftime(clock)
    from babel.dates import format_datetime

    return format_datetime(there, clock, locale=language)


def day(at: datetime, *, timezone: str | ZoneInfo, language: Language) -> str:
    """Format the day of an instant, with its year: ``"17 janvier 2026"``, ``"January 17, 2026"``."""
    from babel.dates import format_date

    return format_date(_local(at, timezone), "long", locale=language)


def date_and_time(at: datetime, *, timezone: str | ZoneInfo, language: Language) -> str:
    """Format an instant with its weekday: ``"sam. 17 janv. 2026, 22:19"``."""
    from babel.dates import format_datetime

    return format_datetime(_local(at, timezone), "EEE d MMM y, HH:mm", locale=language)


def _local(at: datetime, timezone: str | ZoneInfo, name: str = "at") -> datetime:
    instant = as_utc(at, name=name)
    try:
        return instant.astimezone(as_zone(timezone))
    except OverflowError:  # datetime.min and datetime.max cannot be converted
        return instant
