"""The overview: the latest injections, the latest memories, the pairs to review."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Form
from starlette.responses import Response

from hippocampe.hippocampe import IMPORT_FORMATS
from hippocampe.server.dashboard.charts import Series, chart
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Toast, Visit, WritePage
from hippocampe.types import Memory, Stats

router = page_router()
GIVEN = 6
LEARNT = 6
WAITING = 3
DAYS = 7


@dataclass(frozen=True, slots=True)
class Learnt:
    """A memory, and its previous text, if it is a correction."""

    memory: Memory
    before: Memory | None


@router.get("/overview")
async def overview(page: ReadPage) -> Response:
    """The first page; for an empty space, three ways to start."""
    stats, given, days = await asyncio.gather(
        page.hippo.stats(scope=page.scope),
        page.hippo.retrievals(scope=page.scope, limit=GIVEN),
        page.hippo.activity(scope=page.scope, days=DAYS),
    )
    if _empty(stats) and not given:
        return page.render(
            "begin.html",
            section="overview",
            address=page.address,
            programs=", ".join(IMPORT_FORMATS.values()),
        )
    volume = chart(
        days,
        (
            Series(page.say("messages"), "hollow", lambda day: day.messages),
            Series(page.say("injections"), "solid", lambda day: day.injections),
        ),
    )
    latency = chart(
        days,
        (
            Series(page.say("median"), "solid", lambda day: day.took_ms_p50),
            Series(page.say("95th percentile"), "hollow", lambda day: day.took_ms_p95),
        ),
    )
    medians = [day.took_ms_p50 for day in days if day.took_ms_p50 is not None]
    return page.render(
        "overview.html",
        section="overview",
        stats=stats,
        given=given,
        volume=volume,
        latency=latency,
        median=medians[-1] if medians else None,
        **await _lists(page),
    )


@router.get("/overview/lists")
async def lists(page: ReadPage) -> Response:
    """The latest memories and the pairs to review, after a change."""
    return page.part("overview/lists.html", **await _lists(page))


@router.post("/overview/settle")
async def settle(
    page: WritePage,
    id: Annotated[str, Form()],
    other: Annotated[str, Form()],
    keep: Annotated[str, Form()] = "",
) -> Response:
    """Settle a pair: keep one memory, or both."""
    await page.hippo.settle(id, other, scope=page.scope, keep=keep or None)
    if not keep:
        return page.part(toast=Toast(page.say("Both are kept.")), changed="memory-changed")
    replaced = other if keep == id else id
    toast = Toast(page.say("The other one is history now."), f"/memory/{replaced}/restore")
    return page.part(toast=toast, changed="memory-changed")


async def _lists(page: Visit) -> dict[str, Any]:
    recent, waiting, parked = await asyncio.gather(
        page.hippo.recent(LEARNT, scope=page.scope),
        page.hippo.reviews(scope=page.scope),
        page.hippo.jobs(scope=page.scope, states=("failed", "parked"), limit=100),
    )
    learnt = await asyncio.gather(*(_learnt(page, memory) for memory in recent))
    return {
        "learnt": learnt,
        "pairs": waiting[:WAITING],
        "waiting": len(waiting),
        "stuck": len(parked),
    }


async def _learnt(page: Visit, memory: Memory) -> Learnt:
    versions = (await page.hippo.history(memory.id, scope=page.scope)).versions
    before = [each for each in versions if each.superseded_by == memory.id]
    return Learnt(memory, before[-1] if before else None)


def _empty(stats: Stats) -> bool:
    kept = sum(stats.memories.values()) + stats.superseded + stats.forgotten
    return kept == 0 and stats.messages == 0
