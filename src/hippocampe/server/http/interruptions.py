"""Answer the requests that a stop of the server interrupts, so that their clients send them again."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.server.http import problems

STOPPED = "the server stopped before its answer: send the request again."


class Interruptions:
    """Turns the cancellation of a request into an answer, or into the end of one that has begun.

    Only for a server that runs each request in a task of its own, which nothing but its stop cancels.

    Args:
        app: The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        begun = connection["type"] != "http"

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(connection, receive, noted)
        except asyncio.CancelledError:
            if not begun:
                problem = problems.of_status(503, STOPPED)
                await problems.response(problem)(connection, receive, send)
