"""Parse and validate durations, instants and time zones.

Instants without a timezone are refused, never guessed. All returned instants are UTC.
"""

import re
from collections.abc import Collection
from datetime import UTC, date, datetime, time, timedelta
from typing import overload
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hippocampe.errors import TOO_MANY_FILES, InvalidInput, StoreError, shown

_TTL = re.compile(r"([0-9]{1,8})([mhdw])")
_TTL_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MAX_TTL = timedelta(days=36525)  # a century


def parse_ttl(ttl: str | timedelta | None) -> timedelta | None:
    """Parse a time to live.

    Args:
        ttl: ``"30m"``, ``"1h"``, ``"7d"``, ``"2w"``, a timedelta, or None for no expiry.

    Returns:
        The duration, or None for no expiry.

    Raises:
        InvalidInput: The format is unknown, or the duration is not positive or exceeds a century.
    """
    if ttl is None:
        return None
    if isinstance(ttl, timedelta):
        duration = ttl
    elif match := _TTL.fullmatch(str(ttl)):
        duration = timedelta(**{_TTL_UNITS[match[2]]: int(match[1])})
    else:
        raise _unusable(ttl, "is not a time to live")
    if duration <= timedelta(0):
        raise _unusable(ttl, "is not a positive time to live")
    if duration > _MAX_TTL:
        raise _unusable(ttl, "is longer than a century")
    return duration


def _unusable(ttl: object, problem: str) -> InvalidInput:
    return InvalidInput(
        f'ttl {shown(ttl)} {problem}: use "30m", "1h", "7d" or "2w" (minutes, hours, days, weeks),'
        " or none for no expiry."
    )


@overload
def as_utc(value: datetime | str, *, name: str) -> datetime: ...
@overload
def as_utc(value: None, *, name: str) -> None: ...
def as_utc(value: datetime | str | None, *, name: str) -> datetime | None:
    """Convert an instant to UTC.

    Args:
        value: An aware datetime, an ISO 8601 string with an offset, or None.
        name: Name of the argument, for error messages.

    Returns:
        The instant in UTC; None for None.

    Raises:
        InvalidInput: The value has no timezone, is not ISO 8601, or is out of range in UTC.
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as exc:
            raise InvalidInput(
                f"{name} {shown(value)} is not an ISO 8601 instant: write it like"
                " 2026-01-17T10:23:00+01:00."
            ) from exc
    if not isinstance(value, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"{name} must be an aware datetime or ISO 8601 text, not {type(value).__name__}: write it"
            " like 2026-01-17T10:23:00+01:00."
        )
    if value.utcoffset() is None:
        raise InvalidInput(
            f"{name} {value.isoformat()} has no timezone: give a timezone, as in"
            " 2026-01-17T10:23:00+01:00."
        )
    try:
        return value.astimezone(UTC)
    except OverflowError as exc:
        raise InvalidInput(f"{name} {value.isoformat()} is out of range in UTC.") from exc


def as_zone(timezone: str | ZoneInfo) -> ZoneInfo:
    """Look up an IANA time zone.

    Raises:
        InvalidInput: The zone does not exist.
        StoreError: Its file cannot be opened, because too many are open.
    """
    if isinstance(timezone, ZoneInfo):
        return timezone
    if not isinstance(timezone, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"timezone must be text, not {type(timezone).__name__}.")
    try:
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        if isinstance(exc, OSError) and exc.errno in TOO_MANY_FILES:
            raise StoreError(f"cannot read timezone {shown(timezone)}: {exc.strerror}.") from exc
        raise InvalidInput(
            f"unknown timezone {shown(timezone)}: give an IANA name such as 'Europe/Paris'."
        ) from exc


def latest_days(now: datetime, zone: ZoneInfo, days: int) -> list[tuple[date, datetime, datetime]]:
    """The latest days of a zone up to today, oldest first, each with its first instant and its end.

    A day may be 23 or 25 hours long.
    """
    today = now.astimezone(zone).date()
    found = [today - timedelta(days=before) for before in range(days, -2, -1)][1:]
    starts = [datetime.combine(day, time(), zone).astimezone(UTC) for day in found]
    return list(zip(found, starts, starts[1:], strict=False))


def next_hour(hours: Collection[int], timezone: str, *, after: datetime) -> datetime:
    """The first of some hours of the day after a moment, in UTC.

    An hour that a daylight-saving change skips begins at the change; of an hour that occurs twice, only the first
    one counts.

    Args:
        hours: 0 to 23; at least one.
        after: An aware time.
    """
    zone = as_zone(timezone)
    today = after.astimezone(zone).date()
    days = (today, today + timedelta(days=1))
    # Compared in UTC: two times of one zone are compared as clocks show them.
    moments = (
        datetime.combine(day, time(hour), zone).astimezone(UTC) for day in days for hour in hours
    )
    return min(moment for moment in moments if moment > after)
