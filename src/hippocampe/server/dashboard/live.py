"""Observed rooms, the messages since the last digest, and the memories of that digest."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from hippocampe.server.dashboard.digesting import digests
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Visit
from hippocampe.types import Memory, Message
from hippocampe.validation import MAX_EVIDENCE

router = page_router()
MOST = 500
"""Most live messages shown; the latest of each room."""
MOST_MADE = 100
SOURCE = "digest"
"""The source of the memories that a digest makes."""


@dataclass(frozen=True, slots=True)
class Room:
    """An observed channel with its live messages, oldest first."""

    name: str
    messages: Sequence[Message]
    observed: bool


@dataclass(frozen=True, slots=True)
class Made:
    """A memory that a digest made, and the messages it is from."""

    memory: Memory
    evidence: Sequence[Message]


@router.get("/live")
async def live_page(page: ReadPage) -> Response:
    """The page; its parts load later."""
    return page.render("live/page.html", section="live")


@router.get("/live/rooms")
async def rooms(page: ReadPage) -> Response:
    """The messages of each room since the last digest."""
    messages = await page.hippo.messages(scope=page.scope, live=True, limit=MOST)
    observed = page.settings.live_rooms
    names = dict.fromkeys((*observed, *(each.channel or "" for each in messages)))
    found = [
        Room(name, [each for each in messages if (each.channel or "") == name], name in observed)
        for name in names
    ]
    return page.part("live/rooms.html", rooms=found, shown=len(messages), most=MOST)


@router.get("/live/made")
async def made(page: ReadPage) -> Response:
    """The memories that the last digest made, each with the messages it comes from."""
    since = await _last_digest(page)
    memories: list[Memory] = []
    if since is not None:
        found = await page.hippo.memories(
            scope=page.scope, since=since, state="all", limit=MOST_MADE
        )
        memories = [each for each in found.items if each.source == SOURCE]
    ids = list({id for each in memories for id in each.evidence})[:MAX_EVIDENCE]
    sources = await page.hippo.messages(scope=page.scope, ids=ids, limit=1_000) if ids else []
    shown = [Made(each, [one for one in sources if one.id in each.evidence]) for each in memories]
    return page.part("live/made.html", made=shown, since=since)


async def _last_digest(page: Visit) -> datetime | None:
    """The start of the last successful digest: scheduled, or from a page."""
    runs = await page.hippo.jobs(scope=page.scope, job="digest", states=["done"], limit=1)
    started = [each.started_at for each in runs if each.started_at is not None]
    latest = digests(page).of(page.scope.space)
    if latest is not None and latest.done is not None and latest.done.messages:
        started.append(latest.started_at)
    return max(started, default=None)
