"""Search in memories, talk and notes; without words, the list of memories."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any, Literal, get_args
from zoneinfo import ZoneInfo

from fastapi import Depends
from markupsafe import Markup, escape
from starlette.responses import Response

from hippocampe.errors import InvalidInput
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Visit
from hippocampe.types import (
    DEFAULT_IMPORTANCE,
    MEMORY_COLLECTIONS,
    RECALL_COLLECTIONS,
    Mode,
    Order,
    State,
)

router = page_router()
RESULTS = 20
LISTED = 10
LEAST_SCORE = 0.01
"""Results below this score are shown only if there are no better ones."""
SNIPPET = 280
"""Displayed characters of a result."""

MOST_SUBJECTS = 500

Place = Literal["all", "memories", "talk", "notes"]
COLLECTIONS: Mapping[Place, tuple[str, ...]] = {
    "all": RECALL_COLLECTIONS,
    "memories": MEMORY_COLLECTIONS,
    "talk": ("turn", "live"),
    "notes": ("note",),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """The query of the search form."""

    q: str = ""
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

    @property
    def filtered(self) -> bool:
        """True if a filter is set, so that the filters are shown."""
        return self != Asked(q=self.q, mode=self.mode)


async def form(page: Visit) -> dict[str, Sequence[str]]:
    """The choices of the search form, with the users and the subjects of the space."""
    return {
        "users": tuple(await page.hippo.users(scope=page.scope)),
        "subjects": tuple(await page.hippo.subjects(scope=page.scope))[:MOST_SUBJECTS],
        "types": tuple(DEFAULT_IMPORTANCE),
        "modes": ("semantic", "text", "hybrid"),
        "places": get_args(Place),
        "states": get_args(State),
        "orders": get_args(Order),
    }


@router.get("/memory/search")
async def search(
    page: ReadPage, asked: Annotated[Asked, Depends()], cursor: str | None = None
) -> Response:
    """The results of a search; without words, a page of the list of memories."""
    query, subject = asked.q.strip(), asked.subject.strip()
    limits: dict[str, Any] = {
        "scope": page.scope,
        "types": [asked.type] if asked.type else None,
        "subjects": [subject] if subject else None,
        "user": asked.user or None,
        "channel": asked.channel.strip() or None,
        "since": _day(page, asked.since),
        "until": _day(page, asked.until, after=1),
    }
    if not query:
        listed = await page.hippo.memories(
            **limits,
            min_importance=_share(asked.importance),
            state=asked.state,
            order=asked.order,
            cursor=cursor,
            limit=LISTED,
        )
        return page.part(
            "memory/listed.html", asked=asked, listed=listed, more=_more(page, listed.next_cursor)
        )
    items = await page.hippo.recall(
        query,
        **limits,
        collections=COLLECTIONS[asked.place],
        mode=asked.mode,
        limit=RESULTS,
        explain=True,
    )
    items = [item for item in items if item.score >= LEAST_SCORE] or items[:3]
    return page.part(
        "memory/found.html",
        asked=asked,
        found=items,
        snippet=snippet,
        threshold=page.settings.auto_retrieve_min_score,
    )


def _more(page: Visit, cursor: str | None) -> str | None:
    """The address of the next page of the list."""
    if cursor is None:
        return None
    return str(page.request.url.include_query_params(cursor=cursor).replace(scheme="", netloc=""))


def _share(text: str) -> float | None:
    """A number from 0 to 1."""
    try:
        return float(text.replace(",", ".")) if text.strip() else None
    except ValueError as exc:
        raise InvalidInput(f"{text[:20]!r} is not a number: write it like 0.8.") from exc


def _day(page: Visit, text: str, after: int = 0) -> datetime | None:
    """The start of a day in the timezone of the space."""
    if not text:
        return None
    try:
        day = date.fromisoformat(text) + timedelta(days=after)
    except (ValueError, OverflowError) as exc:
        raise InvalidInput(f"{text[:20]!r} is not a date: write it like 2026-01-17.") from exc
    return datetime.combine(day, time(), ZoneInfo(page.settings.timezone))


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


def asked_of(page: Visit) -> Asked:
    """Parse the query in the address of the page, unchecked: the search checks it."""
    names = {each.name for each in fields(Asked)}
    values: dict[str, Any] = dict(page.request.query_params)
    return Asked(**{name: value for name, value in values.items() if name in names})
