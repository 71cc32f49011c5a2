"""Show an injection: its items by part, and its stages in order."""

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar, get_args

from hippocampe.types import Part

STAGES = (
    *("queue", "context", "gather", "analyse", "search", "fuse", "features", "score", "read"),
    *("reader", "choose", "render"),
)
_OF_SEARCH = ("analyse", "search", "fuse", "features", "score", "read", "reader")


class _OfAPart(Protocol):
    @property
    def part(self) -> Part: ...


T = TypeVar("T", bound=_OfAPart)


def parts_of(given: Iterable[T]) -> dict[Part, list[T]]:
    """Group what was given by part, each with a limit of its own; parts without anything are left out."""
    found: dict[Part, list[T]] = {part: [] for part in get_args(Part)}
    for each in given:
        found[each.part].append(each)
    return {part: items for part, items in found.items() if items}


def stages_of(spent: Mapping[str, float]) -> Mapping[str, float]:
    """The stages of a turn in order, with their milliseconds, without overlap.

    The search runs in parallel with the reading of the context, inside the wait for both: each of these two has the
    time that exceeds what it overlaps.
    """
    search = sum(spent.get(name, 0.0) for name in _OF_SEARCH)
    context = max(spent.get("context", 0.0) - search, 0.0)
    gather = max(spent.get("gather", 0.0) - search - context, 0.0)
    alone = {**spent, "context": context, "gather": gather}
    return {name: alone[name] for name in STAGES if name in spent}
