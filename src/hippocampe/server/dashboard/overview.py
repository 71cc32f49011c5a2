"""The overview: the latest injections, the latest memories, the pairs to review; and what waits on each page."""

import asyncio
from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from hippocampe.hippocampe import IMPORT_FORMATS
from hippocampe.server.dashboard import drawing
from hippocampe.server.dashboard.chat import former_of
from hippocampe.server.dashboard.connect import doors
from hippocampe.server.dashboard.menu import MENU
from hippocampe.server.dashboard.reviews import pair_of
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Visit
from hippocampe.types import Day

router = page_router()
INJECTIONS = 6
LEARNT = 6
WAITING = 3
DAYS = 7


@router.get("/overview")
async def overview(page: ReadPage) -> Response:
    """The first page; for an empty space, three ways to start."""
    stats, injections, days = await asyncio.gather(
        page.hippo.stats(scope=page.scope),
        page.hippo.retrievals(scope=page.scope, limit=INJECTIONS),
        page.hippo.activity(scope=page.scope, days=DAYS),
    )
    stored = sum(stats.memories.values()) + stats.superseded + stats.forgotten + stats.messages
    if not stored and not injections:
        return page.render(
            "begin.html",
            programs=", ".join(dict.fromkeys(IMPORT_FORMATS.values())),
            **doors(page),
        )
    return page.render(
        "overview.html",
        stats=stats,
        retrievals=injections,
        volume=_week(
            page,
            days,
            (page.say("messages"), page.say("injections")),
            [(day.messages, day.injections) for day in days],
            digits=0,
        ),
        latency=_week(
            page,
            days,
            (page.say("median"), page.say("95th percentile")),
            [(day.took_ms_p50, day.took_ms_p95) for day in days],
            digits=1,
        ),
        learnt_by_day=[day.memories for day in days],
        given_by_day=[day.injections for day in days],
        medians=[day.took_ms_p50 for day in days],
        line=drawing.line,
        **await _lists(page),
    )


def _week(
    page: Visit,
    days: Sequence[Day],
    names: Sequence[str],
    values: Sequence[Sequence[float | None]],
    digits: int,
) -> drawing.Chart:
    """The lines of some days."""
    shown = [
        ["–" if each is None else page.number(each, digits) for each in numbers]
        for numbers in values
    ]
    titles = [page.day(day.date) for day in days]
    labels = [page.day(day.date, "EEE") for day in days]
    return drawing.chart(names, titles, values, shown, labels=labels)


async def _lists(page: Visit) -> dict[str, Any]:
    recent, waiting, parked = await asyncio.gather(
        page.hippo.recent(LEARNT, scope=page.scope),
        page.hippo.reviews(scope=page.scope),
        page.hippo.jobs(scope=page.scope, states=("failed", "parked"), limit=100),
    )
    former = await asyncio.gather(*(former_of(page, memory) for memory in recent))
    return {
        "learnt": [
            (each, old[-1] if old else None) for each, old in zip(recent, former, strict=True)
        ],
        "pairs": [pair_of(each) for each in waiting[:WAITING]],
        "waiting": len(waiting),
        "stuck": len(parked),
    }


@router.get("/menu/badges")
async def badges(page: ReadPage) -> Response:
    """Count what waits on each page; loaded after the page, since counts of a large space take longer."""
    stats = await page.hippo.stats(scope=page.scope)
    waiting = {each.name: each.badge(stats) for each in MENU if each.badge and page.may(each.role)}
    return page.part("badges.html", waiting=waiting)
