"""Web pages of other sites that the owner allows, by exact origin (CORS). They need a key, and no cookie counts."""

from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.server.http.middleware import Middleware, at_start

API = ("/api/", "/v1/", "/mcp")
"""Paths that pages of allowed origins may use: never the dashboard."""
METHODS = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
HOUR = "3600"


def is_allowed(connection: Connection, headers: Headers, origins: Sequence[str]) -> bool:
    """Return whether a request comes from a page of an allowed origin, for a path that it may use."""
    path: str = connection["path"]
    return headers.get("origin", "").lower() in origins and path.startswith(API)


class Origins(Middleware):
    """Answers preflights of allowed origins, and lets their pages read the answers. Others see no difference."""

    def __init__(self, app: ASGIApp, *, origins: Sequence[str]) -> None:
        super().__init__(app)
        self._origins = origins

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        headers = Headers(scope=connection)
        if not is_allowed(connection, headers, self._origins):
            await self.app(connection, receive, send)
            return
        origin = headers["origin"]

        def allow(message: Message) -> None:
            added = MutableHeaders(scope=message)
            added["Access-Control-Allow-Origin"] = origin
            added["Access-Control-Expose-Headers"] = "Retry-After, X-Request-Id"
            added.add_vary_header("Origin")

        send = at_start(send, allow)
        asked = headers.get("access-control-request-method")
        if connection["method"] == "OPTIONS" and asked is not None:
            await Response(status_code=204, headers=_preflight(headers))(connection, receive, send)
            return
        await self.app(connection, receive, send)


def _preflight(headers: Headers) -> dict[str, str]:
    named = headers.get("access-control-request-headers", "")
    answer = {
        "Access-Control-Allow-Methods": METHODS,
        "Access-Control-Allow-Headers": named,
        "Access-Control-Max-Age": HOUR,
    }
    if headers.get("access-control-request-private-network") == "true":
        answer["Access-Control-Allow-Private-Network"] = "true"
    return answer
