"""The version of the API: in the path of requests, and in a header of every answer."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe import __version__

VERSION = "1"
VERSIONED = f"/api/v{VERSION}/"
HEADER = "Hippocampe-Version"


class Versions:
    """Serves `/api/v1/...` as `/api/...`, and adds the version of the package to each answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        if connection["type"] != "http":
            await self._app(connection, receive, send)
            return
        path: str = connection["path"]
        if path.startswith(VERSIONED):
            connection = {
                **connection,
                "path": "/api/" + path.removeprefix(VERSIONED),
                "raw_path": b"/api/" + connection["raw_path"].removeprefix(VERSIONED.encode()),
            }

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = __version__
            await send(message)

        await self._app(connection, receive, named)
