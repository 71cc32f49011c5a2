"""Conversations: the stored talk by channel, person and day, and each exchange with what became of it."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends
from starlette.responses import Response

from hippocampe.server.dashboard.lists import Listed, by_day, start_of
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Visit

router = page_router(prefix="/conversations")
PAGE_SIZE = 50
CLAMPED = 600
"""Displayed characters of a message in the list; its exchange has all."""


@dataclass(frozen=True, slots=True)
class Chosen(Listed):
    """The filters of the page."""

    path = "/conversations"
    channel: str = ""
    user: str = ""
    day: str = ""


Filters = Annotated[Chosen, Depends()]


@router.get("")
async def conversations_page(
    page: ReadPage, chosen: Filters, cursor: str | None = None
) -> Response:
    """The exchanges that pass the filters, and the choices of these."""
    rows, channels, users = await asyncio.gather(
        _rows(page, chosen, cursor),
        page.hippo.conversations(scope=page.scope),
        page.hippo.users(scope=page.scope),
    )
    spoken = [name for name, counts in users.items() if counts.messages]
    return page.render(
        "conversations/page.html",
        channels=channels,
        users=spoken,
        **rows,
    )


@router.get("/{id}")
async def exchange_page(page: ReadPage, id: str) -> Response:
    """One exchange: its messages, what was learnt from it, and where it was given."""
    history = await page.hippo.exchange(id, scope=page.scope)
    said = history.exchange
    return page.render(
        "conversations/one.html",
        history=history,
        exchange=said,
        near=Chosen(channel=said.channel or "", day=f"{page.here(said.at).date()}"),
    )


async def _rows(page: Visit, chosen: Chosen, cursor: str | None) -> dict[str, Any]:
    found = await page.hippo.exchanges(
        scope=page.scope,
        query=chosen.q.strip() or None,
        user=chosen.user or None,
        channel=chosen.channel or None,
        since=start_of(page, chosen.day),
        until=start_of(page, chosen.day, after=1),
        # A day is read from its beginning.
        order="oldest" if chosen.day else "newest",
        limit=PAGE_SIZE + 1,
        cursor=cursor,
    )
    shown = found[:PAGE_SIZE]
    more = None
    if len(found) > PAGE_SIZE:
        more = chosen.address(cursor=shown[-1].id)
    return {"chosen": chosen, "days": by_day(page, shown), "more": more, "clamped": CLAMPED}
