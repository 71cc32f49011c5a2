"""The form of the middlewares: each serves HTTP requests, and passes on the rest."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection


class Middleware(ABC):
    """A part of the application that every request passes."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        """Serve a request; pass on the start and the stop of the application."""
        serve = self.serve if connection["type"] == "http" else self.app
        await serve(connection, receive, send)

    @abstractmethod
    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        """Serve an HTTP request."""


def at_start(send: Send, step: Callable[[Message], None]) -> Send:
    """Execute a step on the start of a response, which has the status and the headers, before it is sent."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            step(message)
        await send(message)

    return sent
