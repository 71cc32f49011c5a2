"""The log of the server, live."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from fastapi import Header
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import AdminPage, Visit
from hippocampe.server.http.logs import LogLine, LogTail

LOOK_SECONDS = 0.3
"""Poll interval for new lines."""
CHECK_SECONDS = 15.0
"""Time without new lines after which the key of the reader is checked again."""
RETRY_MILLISECONDS = 2_000

router = page_router()


@router.get("/logs")
async def logs_page(page: AdminPage) -> Response:
    """The page; a script shows the stream."""
    return page.render("logs/page.html")


@router.get("/logs/stream", response_class=EventSourceResponse)
async def stream(
    page: AdminPage, last_event_id: Annotated[str | None, Header()] = None
) -> AsyncGenerator[ServerSentEvent]:
    """The buffered lines, then each new one, as server-sent events."""
    tail: LogTail = page.request.app.state.log_tail
    after = int(last_event_id) if last_event_id and last_event_id.isdecimal() else 0
    unchecked = 0.0
    while not tail.ended.is_set():
        lines = tail.after(after)
        if (lines or unchecked >= CHECK_SECONDS) and not await page.is_still_open():
            return
        for line in _visible(page, lines):
            shown = {
                "at": f"{page.here(line.at):%H:%M:%S}",
                "level": line.level,
                "logger": line.logger,
                "text": line.text,
            }
            yield ServerSentEvent(data=shown, id=str(line.number), retry=RETRY_MILLISECONDS)
        after = lines[-1].number if lines else after
        unchecked = 0.0 if lines or unchecked >= CHECK_SECONDS else unchecked + LOOK_SECONDS
        await asyncio.sleep(LOOK_SECONDS)


def _visible(page: Visit, lines: Sequence[LogLine]) -> list[LogLine]:
    """The lines visible to a reader: with a key, those of its requests and of its space."""
    if page.key is None:
        return list(lines)
    return [line for line in lines if line.is_of(page.scope.space, page.key.id)]
