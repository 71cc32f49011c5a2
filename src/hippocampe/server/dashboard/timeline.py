"""The timeline: what was learnt, replaced and forgotten, day by day."""

from dataclasses import dataclass
from typing import Annotated, get_args

from fastapi import Depends
from starlette.responses import Response

from hippocampe.server.dashboard.lists import SHOWN, Listed, by_day
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage
from hippocampe.types import DEFAULT_IMPORTANCE, ChangeKind

router = page_router()


@dataclass(frozen=True, slots=True)
class Filters(Listed):
    """The query of the page."""

    path = "/timeline"
    kind: str = ""
    type: str = ""
    user: str = ""
    subject: str = ""


@router.get("/timeline")
async def timeline(page: ReadPage, filters: Annotated[Filters, Depends()]) -> Response:
    """The changes that some filters leave, newest first."""
    subject = filters.subject.strip()
    found = await page.hippo.changes(
        scope=page.scope,
        kinds=[filters.kind] if filters.kind else None,
        types=[filters.type] if filters.type else None,
        user=filters.user.strip() or None,
        subjects=[subject] if subject else None,
        limit=SHOWN + 1,
        skip=(filters.page - 1) * SHOWN,
    )
    return page.render(
        "timeline.html",
        days=by_day(page, found[:SHOWN]),
        filters=filters,
        kinds=get_args(ChangeKind),
        types=tuple(DEFAULT_IMPORTANCE),
        more=len(found) > SHOWN,
    )
