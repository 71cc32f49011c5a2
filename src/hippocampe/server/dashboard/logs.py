"""The log of the server, live."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import FastAPI, Header
from starlette.responses import Response, StreamingResponse

from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import AdminPage, Visit
from hippocampe.server.http.events import EVENTS
from hippocampe.server.http.logs import LogLine, LogTail

LOOK_SECONDS = 0.3
"""Poll interval for new lines."""
SILENT_SECONDS = 15
"""Silence after which a comment keeps the connection alive."""


@asynccontextmanager
async def _listening(app: FastAPI) -> AsyncGenerator[None]:
    tail: LogTail = app.state.log_tail
    tail.attach()
    try:
        yield
    finally:
        tail.detach()


router = page_router(lifespan=_listening)


@router.get("/logs")
async def logs_page(page: AdminPage) -> Response:
    """The page; a script shows the stream."""
    return page.render("logs/page.html", section="logs")


@router.get("/logs/stream")
async def stream(
    page: AdminPage, last_event_id: Annotated[str | None, Header()] = None
) -> StreamingResponse:
    """The buffered lines, then each new one, as server-sent events."""
    after = int(last_event_id) if last_event_id and last_event_id.isdecimal() else 0
    return StreamingResponse(_events(page, after), media_type=EVENTS)


async def _events(page: Visit, after: int) -> AsyncIterator[str]:
    tail: LogTail = page.request.app.state.log_tail
    yield "retry: 2000\n\n"
    silent = 0.0
    while not tail.ended.is_set():
        lines = tail.after(after)
        if lines:
            after, silent = lines[-1].number, 0.0
            yield "".join(_event(page, line) for line in _visible(page, lines))
        elif silent >= SILENT_SECONDS:
            silent = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(LOOK_SECONDS)
        silent += LOOK_SECONDS


def _visible(page: Visit, lines: Sequence[LogLine]) -> list[LogLine]:
    """The lines visible to a reader: with a key, those of its requests and of its space."""
    if page.key is None:
        return list(lines)
    return [line for line in lines if line.is_of(page.scope.space, page.key.id)]


def _event(page: Visit, line: LogLine) -> str:
    shown = {
        "at": f"{page.here(line.at):%H:%M:%S}",
        "level": line.level,
        "logger": line.logger,
        "text": line.text,
    }
    return f"id: {line.number}\ndata: {json.dumps(shown)}\n\n"
