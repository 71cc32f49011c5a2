"""Search in memories, talk and notes; without words, the list of memories. The address of the page is the query."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from markupsafe import Markup, escape

from hippocampe.errors import InvalidInput
from hippocampe.server.dashboard.lists import Listed, numbers, start_of
from hippocampe.server.dashboard.visit import Visit
from hippocampe.types import (
    DEFAULT_IMPORTANCE,
    MEMORY_COLLECTIONS,
    RECALL_COLLECTIONS,
    Memory,
    Mode,
    Order,
    Recollection,
    State,
)

LISTED = 50
"""Rows of a page of the list."""
FOUND = 25
"""Most results of a search."""
LEAST_SCORE = 0.05
"""Results of a hybrid search below it are folded away: hardly one of them answers."""
SNIPPET = 280
"""Displayed characters of a result."""

Place = Literal["all", "memories", "talk", "notes"]
COLLECTIONS: Mapping[Place, tuple[str, ...]] = {
    "all": RECALL_COLLECTIONS,
    "memories": MEMORY_COLLECTIONS,
    "talk": ("turn", "live"),
    "notes": ("note",),
}
STATES: tuple[State, ...] = get_args(State)
CHOICES: Mapping[str, Sequence[str]] = {
    "types": tuple(DEFAULT_IMPORTANCE),
    "modes": ("hybrid", "semantic", "text"),
    "places": get_args(Place),
    "orders": get_args(Order),
}
"""The choices of the search form."""


@dataclass(frozen=True, slots=True)
class Asked(Listed):
    """The query of the page."""

    path = "/memory"
    mode: Mode = "hybrid"
    place: Place = "all"
    type: str = ""
    subject: str = ""
    user: str = ""
    channel: str = ""
    since: str = ""
    until: str = ""
    importance: str = ""
    state: State = "current"
    order: Order = "newest"
    open: str = ""

    @property
    def ranked(self) -> bool:
        """True if results are ranked: the index holds what is current only, the rest is listed by its words."""
        return bool(self.q.strip()) and self.state == "current"

    @property
    def filters(self) -> dict[str, str]:
        """The filters that are set, by name."""
        names = ("place", "type", "subject", "user", "channel", "since", "until", "importance")
        values = {name: getattr(self, name) for name in names}
        return {name: each for name, each in values.items() if each != getattr(_NOTHING, name)}

    def without(self, name: str) -> str:
        """The address of the query without one of its filters."""
        return self.address(**{name: getattr(_NOTHING, name)})


_NOTHING = Asked()


@dataclass(frozen=True, slots=True)
class Found:
    """The results of a query.

    Attributes:
        weak: Results that hardly answer, below the others.
        states: The memories that the filters leave, by state; None is not counted.
        pages: The numbers of the pages to choose from; None is a gap.
    """

    rows: Sequence[Recollection]
    weak: Sequence[Recollection]
    total: int
    states: Mapping[State, int | None]
    page: int = 1
    pages: Sequence[int | None] = ()


async def find(page: Visit, asked: Asked) -> Found:
    """Find what a query asks for; looking counts as no use of a memory."""
    return await (_ranked(page, asked) if asked.ranked else _listed(page, asked))


def _limits(page: Visit, asked: Asked) -> dict[str, Any]:
    subject = asked.subject.strip()
    return {
        "scope": page.scope,
        "types": [asked.type] if asked.type else None,
        "subjects": [subject] if subject else None,
        "user": asked.user.strip() or None,
        "channel": asked.channel.strip() or None,
        "since": start_of(page, asked.since),
        "until": start_of(page, asked.until, after=1),
    }


async def _ranked(page: Visit, asked: Asked) -> Found:
    items = await page.hippo.recall(
        asked.q.strip(),
        **_limits(page, asked),
        collections=COLLECTIONS[asked.place],
        mode=asked.mode,
        limit=FOUND,
        explain=True,
        peek=True,
    )
    least = _share(asked.importance)
    if least is not None:
        items = [each for each in items if each.memory and each.memory.importance >= least]
    bar = LEAST_SCORE if asked.mode == "hybrid" else 0
    good = [each for each in items if each.score >= bar]
    weak = [each for each in items if each.score < bar]
    states: dict[State, int | None] = {
        state: len(good) if state == asked.state else None for state in STATES
    }
    return Found(good, weak, len(good), states)


async def _listed(page: Visit, asked: Asked) -> Found:
    limits: dict[str, Any] = _limits(page, asked) | {
        "min_importance": _share(asked.importance),
        "words": asked.q.strip()[:200] or None,
    }

    listed = await page.hippo.memories(
        **limits,
        state=asked.state,
        order=asked.order,
        skip=(asked.page - 1) * LISTED,
        limit=LISTED,
        count=True,
    )
    states, total = listed.states or {}, listed.total or 0
    last = -(-total // LISTED)
    if 0 < last < asked.page:
        return await _listed(page, replace(asked, page=last))
    rows = [_unranked(each) for each in listed.items]
    return Found(rows, (), total, states, asked.page, tuple(numbers(asked.page, total, LISTED)))


def _unranked(memory: Memory) -> Recollection:
    where, who, at = memory.channel, memory.user, memory.created_at
    return Recollection(memory.id, memory.collection, memory.content, 0, memory, where, who, at)


def _share(text: str) -> float | None:
    """A number from 0 to 1."""
    try:
        return float(text.replace(",", ".")) if text.strip() else None
    except ValueError as exc:
        raise InvalidInput(f"{text[:20]!r} is not a number: write it like 0.8.") from exc


def snippet(content: str, query: str) -> Markup:
    """An excerpt of a text around the first word of a query, with the words of the query marked."""
    words = {word.casefold() for word in query.replace('"', " ").split() if len(word) > 2}
    folded = content.casefold()
    places = [at for word in words if (at := folded.find(word)) >= 0]
    start = max(min(places, default=0) - SNIPPET // 3, 0)
    if start:
        start = content.find(" ", start) + 1 or start
    cut = content[start : start + SNIPPET]
    lead, tail = "…" if start else "", "…" if start + SNIPPET < len(content) else ""
    return Markup(lead) + _with_marks(cut, words) + Markup(tail)


def _with_marks(text: str, words: set[str]) -> Markup:
    shown = Markup()
    for part in re.split(r"(\s+)", text):
        bare = part.casefold().strip(".,;:!?«»\"'()…")
        shown += Markup("<mark>{}</mark>").format(part) if bare in words else escape(part)
    return shown
