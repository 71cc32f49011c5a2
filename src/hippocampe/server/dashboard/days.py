"""Days of a page, which begin in the timezone of its space."""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from itertools import groupby
from typing import Protocol, TypeVar
from zoneinfo import ZoneInfo

from hippocampe.errors import InvalidInput
from hippocampe.server.dashboard.visit import Visit


class Dated(Protocol):
    """A value with a time."""

    @property
    def at(self) -> datetime:
        """Its time."""
        ...


D = TypeVar("D", bound=Dated)


def start_of(page: Visit, text: str, *, after: int = 0) -> datetime | None:
    """The start of a day, or of one so many days after it; None without a text.

    Raises:
        InvalidInput: The text is not a date.
    """
    if not text:
        return None
    try:
        day = date.fromisoformat(text) + timedelta(days=after)
    except (ValueError, OverflowError) as exc:
        raise InvalidInput(f"{text[:20]!r} is not a date: write it like 2026-01-17.") from exc
    return datetime.combine(day, time(), ZoneInfo(page.timezone))


def by_day(page: Visit, dated: Iterable[D]) -> list[tuple[date, tuple[D, ...]]]:
    """Values by their day, in their order."""
    days = groupby(dated, key=lambda each: page.here(each.at).date())
    return [(day, tuple(found)) for day, found in days]
