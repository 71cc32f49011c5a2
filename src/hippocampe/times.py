"""Durations, instants and zones as callers give them, and times as people say them.

Pure: the clock is always given. An instant without a timezone is refused, never guessed, and every
instant that leaves is UTC.
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Literal, overload
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hippocampe.errors import InvalidInput
from hippocampe.language.lexicon import of
from hippocampe.text import Language

_TTL = re.compile(r"([0-9]{1,8})([mhdw])")
_TTL_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST_TTL = timedelta(days=36525)  # a century: beyond it, None says "for ever" better


def parse_ttl(ttl: str | timedelta | None) -> timedelta | None:
    """Read a time to live.

    Args:
        ttl: ``"30m"``, ``"1h"``, ``"7d"``, ``"2w"``, a timedelta, or None for ever.

    Returns:
        The duration, or None for ever.

    Raises:
        InvalidInput: another form, a duration that is not positive, or one over a century.
    """
    if ttl is None:
        return None
    if isinstance(ttl, timedelta):
        duration = ttl
    elif match := _TTL.fullmatch(str(ttl)):
        duration = timedelta(**{_TTL_UNITS[match[2]]: int(match[1])})
    else:
        raise InvalidInput(_ttl_message(ttl, "is not a time to live"))
    if duration <= timedelta(0):
        raise InvalidInput(_ttl_message(ttl, "is not a positive time to live"))
    if duration > _LONGEST_TTL:
        raise InvalidInput(_ttl_message(ttl, "is longer than a century"))
    return duration


def _ttl_message(ttl: object, problem: str) -> str:
    return (
        f'ttl {ttl!r} {problem}: use "30m", "1h", "7d" or "2w" (minutes, hours, days, weeks),'
        " a timedelta, or None for ever"
    )


@overload
def as_utc(value: datetime | str, *, name: str) -> datetime: ...
@overload
def as_utc(value: None, *, name: str) -> None: ...
def as_utc(value: datetime | str | None, *, name: str) -> datetime | None:
    """Bring an instant to UTC.

    Args:
        value: an aware datetime, an ISO 8601 string with an offset, or None.
        name: what the value is, for the message.

    Returns:
        The instant in UTC; None for None.

    Raises:
        InvalidInput: no timezone, not an ISO 8601 instant, or out of the calendar.
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as exc:
            raise InvalidInput(
                f"{name} {value!r} is not an ISO 8601 instant: write it like"
                " 2026-01-17T10:23:00+01:00"
            ) from exc
    if not isinstance(value, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"{name} must be an aware datetime or ISO 8601 text, not {type(value).__name__}: write it"
            " like 2026-01-17T10:23:00+01:00"
        )
    if value.utcoffset() is None:
        raise InvalidInput(
            f"{name} {value.isoformat()} has no timezone: give a timezone, as in"
            " 2026-01-17T10:23:00+01:00"
        )
    try:
        return value.astimezone(UTC)
    except OverflowError as exc:
        raise InvalidInput(f"{name} {value.isoformat()} is out of the calendar in UTC") from exc


def as_zone(timezone: str | ZoneInfo) -> ZoneInfo:
    """The zone of that name.

    Raises:
        InvalidInput: no zone has that name.
    """
    if isinstance(timezone, ZoneInfo):
        return timezone
    if not isinstance(timezone, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"timezone must be text, not {type(timezone).__name__}.")
    try:
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise InvalidInput(
            f"unknown timezone {timezone!r}: give an IANA name such as 'Europe/Paris'"
        ) from exc


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
    zone = as_zone(timezone)
    there, here = _local(as_utc(at, name="at"), zone), _local(as_utc(now, name="now"), zone)
    said: Mapping[str, str] = of(language, "time")["said"]
    clock = said["clock" if there.year == here.year else "clock_of_year"]
    if "%" in clock:
        return there.strftime(clock.format(year=f"{there.year:04}"))
    from babel.dates import format_datetime

    return format_datetime(there, clock, locale=language)


def _local(at: datetime, zone: ZoneInfo) -> datetime:
    try:
        return at.astimezone(zone)
    except OverflowError:  # the first or the last day of the calendar: no zone matters there
        return at
