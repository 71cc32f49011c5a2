"""Observed rooms, the messages since the last digest, and the memories of that digest; digests started from a page."""

import asyncio
from datetime import datetime

from starlette.responses import Response

from hippocampe.language.datetimes import next_hour
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import AdminPage, ReadPage, Visit
from hippocampe.types import JobRun, Memory
from hippocampe.validation import MAX_EVIDENCE

router = page_router()
Begun = dict[str, "asyncio.Task[list[JobRun]]"]
"""The digests that were started from a page, by space."""


@router.get("/digest")
async def digest_state(page: ReadPage, of: int = 0) -> Response:
    """The state of the digest.

    Args:
        of: The number of live messages at the start of one that the page watches.
    """
    task = _begun(page).get(page.scope.space)
    begun = task is not None and not task.done()  # before what it records is read
    stats = await page.hippo.stats(scope=page.scope)
    runs = await page.hippo.jobs(scope=page.scope, job="digest", limit=1)
    run = runs[0] if runs else None
    running = begun or (run is not None and run.state == "running")
    ended = bool(of) and not running
    hours, zone = page.settings.digest_hours, page.settings.timezone
    return page.part(
        "digest.html",
        changed="digested" if ended else None,
        toast=page.recorded(run.outcome) if ended and run and run.outcome else None,
        run=run,
        running=running,
        of=max(of, stats.live),
        live=stats.live,
        next_at=next_hour(hours, zone, after=page.now) if hours else None,
    )


@router.post("/digest")
async def start(page: AdminPage) -> Response:
    """Run the job now, and show its progress."""
    begun, space = _begun(page), page.scope.space
    before = await page.hippo.stats(scope=page.scope)
    if space not in begun or begun[space].done():
        running = page.hippo.run_jobs(scope=page.scope, job="digest")
        begun[space] = asyncio.create_task(running)
    # A short one may end before its state is read.
    return await digest_state(page, before.live)


def _begun(page: Visit) -> Begun:
    return page.request.app.state.digests


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
    messages, stats = await asyncio.gather(
        page.hippo.messages(scope=page.scope, live=True, limit=MOST),
        page.hippo.stats(scope=page.scope),
    )
    observed = page.settings.live_rooms
    names = dict.fromkeys((*observed, *(each.channel or "" for each in messages)))
    found = {name: [each for each in messages if (each.channel or "") == name] for name in names}
    return page.part(
        "live/rooms.html",
        rooms=found,
        observed=observed,
        shown=len(messages),
        total=max(stats.live, len(messages)),
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
    """The start of the last successful digest."""
    runs = await page.hippo.jobs(scope=page.scope, job="digest", states=["done"], limit=1)
    return runs[0].started_at if runs else None
