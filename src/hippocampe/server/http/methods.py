"""HTTP methods: HEAD for every GET, and the allowed methods of a path."""

from starlette.requests import Request
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.server.http.middleware import Middleware

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class HeadRequests(Middleware):
    """Answers HEAD like GET, without the body. A stream ends with its head.

    Args:
        except_below: Prefix of paths whose HEAD is passed on unchanged.
    """

    def __init__(self, app: ASGIApp, *, except_below: str) -> None:
        super().__init__(app)
        self._except = except_below

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        if connection["method"] != "HEAD" or connection["path"].startswith(self._except):
            await self.app(connection, receive, send)
            return

        async def head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                # Simulates a disconnect of the client, which ends the response.
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self.app({**connection, "method": "GET"}, receive, head)


def allowed(request: Request) -> list[str]:
    """The methods that the path of a request allows, over all routes."""
    routes: list[BaseRoute] = request.app.routes
    found = [
        method
        for method in METHODS
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes
        )
    ]
    return ["HEAD", *found] if "GET" in found else found
