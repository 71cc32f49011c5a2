"""What a recall may find, checked."""

from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from hippocampe.errors import InvalidInput
from hippocampe.protocols import Filter
from hippocampe.types import DEFAULT_IMPORTANCE, MEMORY_COLLECTIONS, RECALL_COLLECTIONS, Mode, Scope
from hippocampe.validation import check_choice, check_number

MAX_QUERY_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a recall may find. `at_least` of the best are given though they be below `min_score`;
    `ids` are the memories that a filter by metadata leaves."""

    scope: Scope
    limit: int = 10
    collections: tuple[str, ...] = ("memory",)
    types: tuple[str, ...] | None = None
    subjects: tuple[str, ...] | None = None
    category: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    min_score: float | None = None
    mode: Mode = "hybrid"
    user: str | None = None
    channel: str | None = None
    at_least: int = 0
    ids: frozenset[str] | None = None

    def kinds(self) -> dict[str, tuple[str, ...]]:
        """The kinds of points to search, each with the collections wanted in it."""
        of_memory = tuple(name for name in self.collections if name in MEMORY_COLLECTIONS)
        kinds = {"memory": of_memory} if of_memory else {}
        of_memories = (self.types, self.category, self.subjects, self.ids)
        if all(each is None for each in of_memories):
            kinds |= {n: (n,) for n in self.collections if n not in MEMORY_COLLECTIONS}
        return kinds

    def filter(self, collections: tuple[str, ...], now: datetime) -> Filter:
        """The filter of one kind."""
        return Filter(
            space=self.scope.space,
            collections=collections,
            now=now.timestamp(),
            types=self.types,
            subjects=self.subjects,
            category=self.category,
            user=self.user,
            channel=self.channel,
            since=self.since.timestamp() if self.since else None,
            until=self.until.timestamp() if self.until else None,
            ids=self.ids,
        )


def check(wanted: Wanted) -> Wanted:
    for name in wanted.collections:
        check_choice("collection", name, RECALL_COLLECTIONS)
    for name in wanted.types or ():
        check_choice("type", name, DEFAULT_IMPORTANCE)
    check_choice("mode", wanted.mode, get_args(Mode))
    if wanted.min_score is not None:
        check_number("min_score", wanted.min_score, 0, 1)
    if wanted.since and wanted.until and wanted.since >= wanted.until:
        raise InvalidInput("since must be before until.")
    return wanted
