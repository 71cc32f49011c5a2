"""The timeline: what was learnt, replaced and forgotten, day by day."""

from collections.abc import Sequence
from datetime import date
from itertools import groupby
from typing import Annotated, Any, get_args
from urllib.parse import urlencode

from fastapi import Query
from starlette.responses import Response

from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Visit
from hippocampe.types import DEFAULT_IMPORTANCE, Change, ChangeKind

router = page_router()
SHOWN = 100
"""Changes of a page."""
Days = Sequence[tuple[date, Sequence[Change]]]


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
        query = {name: value for name, value in {**filters, **changes}.items() if value}
        return f"/timeline?{urlencode(query)}" if query else "/timeline"

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


def by_day(page: Visit, changes: Sequence[Change]) -> Days:
    """Changes by the day of the reader, in their order."""
    days = groupby(changes, key=lambda each: page.here(each.at).date())
    return [(day, tuple(found)) for day, found in days]
