"""The entrance of a cell: takes what the router passed on, answers the router itself, and refuses misplaced requests."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.cells import MISPLACED, Fence
from hippocampe.client.wire import encode
from hippocampe.errors import HippocampeError
from hippocampe.hippocampe import Hippocampe
from hippocampe.server.api.operation import Probe
from hippocampe.server.cells import passing
from hippocampe.server.http import problems
from hippocampe.server.http.access import session_of
from hippocampe.server.http.middleware import Middleware
from hippocampe.server.http.sessions import Sessions

SETTLE_SECONDS = 30.0
"""Time for the writes under way of a space that is to be moved."""


class Door(Middleware):
    """Stands in front of the application of a cell.

    Args:
        sessions: Its logins; those that the router knows are in force.
    """

    def __init__(self, app: ASGIApp, sessions: Sessions, internal: ASGIApp) -> None:
        super().__init__(app)
        self._sessions = sessions
        self._internal = internal

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        if passing.is_internal(connection):
            await self._internal(connection, receive, send)
            return
        own, passed = passing.split(connection["headers"])
        connection = {
            **connection,
            "headers": own,
            "client": passed.client,
            "server": passed.server,
            "http_version": passed.http,
        }
        if session := session_of(Headers(scope=connection)):
            if passed.login is None:
                self._sessions.close(session)
            else:
                self._sessions.adopt(session, passed.login)
        await self._guarded(connection, receive, send)

    async def _guarded(self, connection: Connection, receive: Receive, send: Send) -> None:
        """Serve a request; replace the response by 421 if the request needed a space of another cell."""
        found: list[str] = []
        refused = False

        async def sent(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start" and found:
                refused = True
                problem = problems.of_status(421, "another cell has the space.")
                response = problems.response(problem)
                response.raw_headers.append(passing.misplaced(found[0]))
                await response(connection, receive, send)
            if not refused:
                await send(message)

        token = MISPLACED.set(found)
        try:
            await self.app(connection, receive, sent)
        finally:
            MISPLACED.reset(token)


def internal(
    hippo: Hippocampe, fence: Fence, probe: Probe, ending: Callable[[], None]
) -> Starlette:
    """The application that answers the router itself.

    Args:
        probe: Checks what the cell depends on.
        ending: Called when the router begins to stop.
    """

    async def spaces(request: Request) -> Response:
        found = await asyncio.to_thread(hippo.spaces)
        return JSONResponse(encode(found))

    async def ready(request: Request) -> Response:
        return JSONResponse(encode(await probe.readiness()))

    async def alive(request: Request) -> Response:
        return Response()

    def copy_out(space: str, path: str) -> int:
        # Writes that began before the move was announced are part of the copy.
        fence.settle(space, SETTLE_SECONDS)
        return hippo.relocation.copy_out(space, Path(path))

    def copy_in(space: str, path: str) -> int:
        return hippo.relocation.copy_in(space, Path(path))

    def endpoint(step: Callable[..., Any]) -> Any:
        async def answer(request: Request) -> Response:
            try:
                return JSONResponse(await asyncio.to_thread(step, **await request.json()))
            except HippocampeError as exc:
                return problems.response(problems.of_error(exc))

        return answer

    routes = [
        Route(f"{passing.INTERNAL}spaces", spaces),
        Route(f"{passing.INTERNAL}ready", ready),
        Route(f"{passing.INTERNAL}alive", alive),
        *(
            Route(f"{passing.INTERNAL}{name}", endpoint(step), methods=["POST"])
            for name, step in (
                ("copy-out", copy_out),
                ("copy-in", copy_in),
                ("remove", hippo.relocation.remove),
                ("ending", ending),
            )
        ),
    ]
    return Starlette(routes=routes)
