"""Observed rooms, the messages since the last digest, and the memories of that digest; digests started from a page."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from starlette.responses import Response

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import HippocampeError
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import AdminPage, ReadPage, Visit
from hippocampe.types import Distilled, Memory, Scope, Settings
from hippocampe.validation import MAX_EVIDENCE

router = page_router()


@dataclass(slots=True)
class Digesting:
    """A digest that was started from a page.

    Attributes:
        waiting: The number of live messages at the start.
        ended_at: When it ended; None while it runs.
        task: It, which the event loop alone would not keep.
    """

    started_at: datetime
    waiting: int
    ended_at: datetime | None = None
    done: Distilled | None = None
    error: str | None = None
    task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """True if it has not ended."""
        return self.ended_at is None

    async def run(self, hippo: AsyncHippocampe, scope: Scope) -> None:
        """Digest the live messages of a space, and note the outcome."""
        try:
            self.done = await hippo.digest(scope=scope)
        except HippocampeError as exc:
            self.error = str(exc)
        self.ended_at = await hippo.now()


def next_digest(settings: Settings, now: datetime) -> datetime | None:
    """The next scheduled hour of a digest; None if no hour is set."""
    zone = ZoneInfo(settings.timezone)
    today = now.astimezone(zone).date()
    hours = [
        datetime.combine(today + timedelta(days=later), time(hour), zone)
        for later in (0, 1)
        for hour in settings.digest_hours
    ]
    return min((each for each in hours if each > now), default=None)


@router.get("/digest")
async def digest_state(page: ReadPage, watched: bool = False) -> Response:
    """The state of the digest.

    Args:
        watched: Whether it was running at the last poll of the page.
    """
    latest = _latest(page)
    ended = watched and latest is not None and not latest.running
    stats = await page.hippo.stats(scope=page.scope)
    runs = await page.hippo.jobs(scope=page.scope, job="digest", limit=1)
    run = runs[0] if runs else None
    if latest and run and latest.ended_at and run.ended_at and run.ended_at > latest.ended_at:
        # A run of the schedule ended after the digest by hand.
        latest = None
    return page.part(
        "digest.html",
        changed="digested" if ended else None,
        toast=_outcome(page, latest) if ended and latest is not None else None,
        latest=latest,
        run=run,
        live=stats.live,
        next_at=next_digest(page.settings, page.now),
    )


def _outcome(page: Visit, latest: Digesting) -> str | None:
    if latest.done is None:
        return None
    return page.count(
        "{number} message digested.", "{number} messages digested.", latest.done.messages
    )


@router.post("/digest")
async def start(page: AdminPage) -> Response:
    """Start a digest, and show its progress."""
    stats = await page.hippo.stats(scope=page.scope)
    latest = _latest(page)
    if latest is None or not latest.running:
        begun = page.request.app.state.digests[page.scope.space] = Digesting(page.now, stats.live)
        begun.task = asyncio.create_task(begun.run(page.hippo, page.scope))
    return await digest_state(page)


def _latest(page: Visit) -> Digesting | None:
    """The latest digest of the space that was started from a page."""
    return page.request.app.state.digests.get(page.scope.space)


MOST = 500
"""Most live messages shown; the latest of each room."""
MOST_MADE = 100
SOURCE = "digest"
"""The source of the memories that a digest makes."""


@router.get("/live")
async def live_page(page: ReadPage) -> Response:
    """The page; its parts load later."""
    return page.render("live/page.html")


@router.get("/live/rooms")
async def rooms(page: ReadPage) -> Response:
    """The messages of each room since the last digest."""
    messages = await page.hippo.messages(scope=page.scope, live=True, limit=MOST)
    observed = page.settings.live_rooms
    names = dict.fromkeys((*observed, *(each.channel or "" for each in messages)))
    found = {name: [each for each in messages if (each.channel or "") == name] for name in names}
    return page.part(
        "live/rooms.html", rooms=found, observed=observed, shown=len(messages), most=MOST
    )


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
    shown = [(each, [one for one in sources if one.id in each.evidence]) for each in memories]
    return page.part("live/made.html", made=shown, since=since)


async def _last_digest(page: Visit) -> datetime | None:
    """The start of the last successful digest: scheduled, or from a page."""
    runs = await page.hippo.jobs(scope=page.scope, job="digest", states=["done"], limit=1)
    started = [each.started_at for each in runs if each.started_at is not None]
    latest = _latest(page)
    if latest is not None and latest.done is not None and latest.done.messages:
        started.append(latest.started_at)
    return max(started, default=None)
