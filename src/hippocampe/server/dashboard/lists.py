"""Lists of pages: their query, which is their address, and the numbers of their pages."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar, Self, TypeVar
from urllib.parse import urlencode

from fastapi import Query

from hippocampe.language.text import fold

T = TypeVar("T")
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
