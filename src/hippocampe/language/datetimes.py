"""Durations, instants and zones as callers give them, and times as people say them.

Pure: the clock is always given. An instant without a timezone is refused, never guessed, and every
instant that leaves is UTC.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import overload
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hippocampe.errors import InvalidInput

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
