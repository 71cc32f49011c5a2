"""Web pages of other sites that the owner allows, by exact origin (CORS). They need a key, and no cookie counts."""

from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.server.http.middleware import Middleware

API = ("/api/", "/v1/", "/mcp")
"""Paths that pages of allowed origins may use: never the dashboard."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
HOUR = 3_600


def is_allowed(connection: Connection, headers: Headers, origins: Sequence[str]) -> bool:
    """Return whether a request comes from a page of an allowed origin, for a path that it may use."""
    path: str = connection["path"]
    return headers.get("origin", "") in origins and path.startswith(API)


class Origins(Middleware):
    """Answers preflights of allowed origins, and lets their pages read the answers. Others see no difference."""

    def __init__(self, app: ASGIApp, *, origins: Sequence[str]) -> None:
        super().__init__(app)
        self._origins = origins
        self._open = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=METHODS,
            allow_headers=["*"],
            allow_private_network=True,
            expose_headers=["Retry-After", "X-Request-Id"],
            max_age=HOUR,
        )

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        allowed = is_allowed(connection, Headers(scope=connection), self._origins)
        await (self._open if allowed else self.app)(connection, receive, send)
