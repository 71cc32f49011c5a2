"""Show an injection by its parts. Each part has its own limit."""

from collections.abc import Iterable
from typing import Protocol, TypeVar, get_args

from hippocampe.types import Part


class _OfAPart(Protocol):
    @property
    def part(self) -> Part: ...


T = TypeVar("T", bound=_OfAPart)


def parts_of(given: Iterable[T]) -> dict[Part, list[T]]:
    """Group what was given by part; parts without anything are left out."""
    found: dict[Part, list[T]] = {part: [] for part in get_args(Part)}
    for each in given:
        found[each.part].append(each)
    return {part: items for part, items in found.items() if items}
