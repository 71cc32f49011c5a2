"""Requests in other forms: HEAD for every GET, the version of the API in the path, the speaker in the path of the proxy."""

import re
from typing import Final
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.server.http.access import LABELS
from hippocampe.server.http.middleware import Middleware

_NAMED: Final = re.compile(rb"/as/([^/]+)(/v1(?:/.*)?)")
_HEADER: Final = LABELS["user"][0].encode()


class SpeakerPath(Middleware):
    """Serves `/as/SPEAKER/v1/…` as `/v1/…` with the header of the speaker, unless the request has one."""

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        if found := _NAMED.fullmatch(connection["raw_path"]):
            speaker, path = found.groups()
            headers = connection["headers"]
            if not any(name == _HEADER for name, _ in headers):
                headers = [*headers, (_HEADER, speaker)]
            shown = unquote(path.decode("ascii"))
            connection = {**connection, "path": shown, "raw_path": path, "headers": headers}
        await self.app(connection, receive, send)


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


VERSION = "1"
VERSIONED = f"/api/v{VERSION}/"


class Versions(Middleware):
    """Serves `/api/v1/...` as `/api/...`."""

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        path: str = connection["path"]
        if path.startswith(VERSIONED):
            connection = {
                **connection,
                "path": "/api/" + path.removeprefix(VERSIONED),
                "raw_path": b"/api/" + connection["raw_path"].removeprefix(VERSIONED.encode()),
            }
        await self.app(connection, receive, send)
