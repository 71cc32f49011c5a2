"""The checked arguments of a recall."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from math import inf
from typing import get_args

from hippocampe.errors import InvalidInput
from hippocampe.language.subjects import fold_subjects
from hippocampe.protocols import Filter
from hippocampe.types import (
    CATEGORIES,
    DEFAULT_IMPORTANCE,
    MEMORY_COLLECTIONS,
    RECALL_COLLECTIONS,
    Mode,
    Recollection,
    Scope,
)
from hippocampe.validation import (
    MAX_CHOICES,
    check_choice,
    check_list,
    check_share,
    check_subject_names,
)

MAX_QUERY_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """The checked arguments of a recall; None filters nothing.

    Attributes:
        min_score: Results below it are dropped, except the best `min_results`.
        ids: The memories that match a metadata filter.
        read: How many of the first results the reader reads with the query, at most.
        read_within: It first reads those whose log-odds are not lower than the best by more than this, and the others if
            none of these is likely.
        typed: Whether somebody typed the query: it is spelled as the texts are, and its questions are searched for.
        follows: Whether the query may refer to the last turn of its channel: "and where does she live?".
        without: The ids of turns that are no candidates: with them, others would rank lower.
        admits: Whether a loaded item may be a result; others are dropped before the first ones are read.
    """

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
    min_results: int = 0
    ids: frozenset[str] | None = None
    read: int = 0
    read_within: float = inf
    typed: bool = False
    follows: bool = False
    without: frozenset[str] = frozenset()
    admits: Callable[[Recollection], bool] | None = None

    @property
    def is_filtered(self) -> bool:
        """Return whether only some items of its collections may be results."""
        filters = (self.types, self.subjects, self.category, self.since, self.until)
        more = (self.user, self.channel, self.ids)
        return any(each is not None for each in (*filters, *more))

    def kinds(self) -> dict[str, tuple[str, ...]]:
        """The kinds of points to search, each with its collections.

        Filters that only memories can match exclude all other kinds.
        """
        of_memory = tuple(name for name in self.collections if name in MEMORY_COLLECTIONS)
        kinds = {"memory": of_memory} if of_memory else {}
        memory_filters = (self.types, self.category, self.subjects, self.ids)
        if all(each is None for each in memory_filters):
            kinds |= {n: (n,) for n in self.collections if n not in MEMORY_COLLECTIONS}
        return kinds

    def filter(self, collections: tuple[str, ...], now: datetime) -> Filter:
        """The index filter of one kind."""
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


def check_types(types: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the types of memories to filter by; None for all.

    Raises:
        InvalidInput: There is no such type.
    """
    if types is None:
        return None
    return tuple(
        check_choice("type", name, DEFAULT_IMPORTANCE)
        for name in check_list("types", types, most=MAX_CHOICES)
    )


def check_category(category: str | None) -> str | None:
    """Return the category to filter by; None for all.

    Raises:
        InvalidInput: No collection has it.
    """
    if category is None:
        return None
    return check_choice("category", category, sorted({*chain(*CATEGORIES.values())}))


def check_subjects(subjects: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the folded subjects to filter by; None for all.

    Raises:
        InvalidInput: They are not a list of texts.
    """
    return None if subjects is None else fold_subjects(check_subject_names(subjects))


def check_request(request: RecallRequest) -> RecallRequest:
    """Return a request whose values are allowed.

    Raises:
        InvalidInput: A value is not allowed.
    """
    for name in request.collections:
        check_choice("collection", name, RECALL_COLLECTIONS)
    check_choice("mode", request.mode, get_args(Mode))
    if request.min_score is not None:
        check_share("min_score", request.min_score)
    if request.since and request.until and request.since >= request.until:
        raise InvalidInput("since must be before until.")
    return request
