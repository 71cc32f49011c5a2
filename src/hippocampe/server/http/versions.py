"""The version of the API: in the path of requests, and in a header of every answer."""

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe import __version__
from hippocampe.server.http.middleware import Middleware, at_start

VERSION = "1"
VERSIONED = f"/api/v{VERSION}/"
HEADER = "Hippocampe-Version"


class Versions(Middleware):
    """Serves `/api/v1/...` as `/api/...`, and adds the version of the package to each answer."""

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        path: str = connection["path"]
        if path.startswith(VERSIONED):
            connection = {
                **connection,
                "path": "/api/" + path.removeprefix(VERSIONED),
                "raw_path": b"/api/" + connection["raw_path"].removeprefix(VERSIONED.encode()),
            }

        def named(message: Message) -> None:
            MutableHeaders(scope=message)[HEADER] = __version__

        await self.app(connection, receive, at_start(send, named))
