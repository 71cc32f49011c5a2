"""The timeline: what was learnt, replaced and forgotten, day by day."""

from typing import Annotated, Any, get_args

from fastapi import Query
from starlette.responses import Response

from hippocampe.server.dashboard.days import by_day
from hippocampe.server.dashboard.routing import address_of, page_router
from hippocampe.server.dashboard.visit import ReadPage
from hippocampe.types import DEFAULT_IMPORTANCE, ChangeKind

router = page_router()
SHOWN = 100
"""Changes of a page."""


@router.get("/timeline")
async def timeline(
    page: ReadPage,
    kind: str = "",
    type: str = "",
    user: str = "",
    subject: str = "",
    number: Annotated[int, Query(alias="page", ge=1, le=1_000_000)] = 1,
) -> Response:
    """The changes that some filters leave, newest first."""
    filters = {"kind": kind, "type": type, "user": user.strip(), "subject": subject.strip()}
    found = await page.hippo.changes(
        scope=page.scope,
        kinds=[kind] if kind else None,
        types=[type] if type else None,
        user=filters["user"] or None,
        subjects=[filters["subject"]] if filters["subject"] else None,
        limit=SHOWN + 1,
        skip=(number - 1) * SHOWN,
    )

    def address(**changes: Any) -> str:
        return address_of("/timeline", {**filters, **changes})

    return page.render(
        "timeline.html",
        section="timeline",
        days=by_day(page, found[:SHOWN]),
        filters=filters,
        kinds=get_args(ChangeKind),
        types=tuple(DEFAULT_IMPORTANCE),
        address=address,
        newer=address(page=number - 1 if number > 2 else None) if number > 1 else None,
        older=address(page=number + 1) if len(found) > SHOWN else None,
    )
