"""Lists of pages: their query, which is their address, their days, and the numbers of their pages."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, time, timedelta
from itertools import groupby
from typing import Annotated, Any, ClassVar, Self, TypeVar
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import Query

from hippocampe.errors import InvalidInput
from hippocampe.language.text import fold
from hippocampe.server.dashboard.visit import Visit
from hippocampe.types import Change, Exchange

T = TypeVar("T")
D = TypeVar("D", Change, Exchange)
SHOWN = 100
"""Items of a page."""
AROUND = 2
"""Numbers of pages shown on each side of the open one."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The query of a list; each field is a parameter of its address."""

    path: ClassVar[str] = ""
    q: str = ""
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1

    def address(self, **changes: Any) -> str:
        """The address of the list, with some fields changed; its first page, with nothing open, unless that is given."""
        usual = asdict(type(self)())
        query = asdict(self) | {"page": 1, "open": ""} | changes
        told = {name: each for name, each in query.items() if each and each != usual.get(name)}
        return f"{self.path}?{urlencode(told)}" if told else self.path

    def having_words(self, items: Sequence[T], text: Callable[[T], str]) -> list[T]:
        """The items whose text has all words of the query."""
        words = fold(self.q).split()
        return [each for each in items if all(word in fold(text(each)) for word in words)]

    def cut(self, items: Sequence[T]) -> tuple[Self, Sequence[T]]:
        """The items of the page; the last one has those of a later page too."""
        asked = replace(self, page=min(self.page, max(-(-len(items) // SHOWN), 1)))
        return asked, items[(asked.page - 1) * SHOWN : asked.page * SHOWN]


def numbers(open: int, items: int, size: int = SHOWN) -> Iterator[int | None]:
    """The numbers of pages to choose from: the first, those around the open one, the last; None is a gap."""
    last = -(-items // size)
    if last < 2:
        return
    shown = {1, last, *range(max(open - AROUND, 1), min(open + AROUND, last) + 1)}
    before = 0
    for number in sorted(shown):
        if number - before == 2:
            yield number - 1
        elif number - before > 2:
            yield None
        yield number
        before = number


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
