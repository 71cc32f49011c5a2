"""The speaker in the address of the proxy, for clients that send no headers of ours: `/as/paul/v1/…`."""

import re
from typing import Final
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.server.http.access import LABELS

_NAMED: Final = re.compile(rb"/as/([^/]+)(/v1(?:/.*)?)")
_HEADER: Final = LABELS["user"][0].encode()


class SpeakerPath:
    """Serves `/as/SPEAKER/v1/…` as `/v1/…` with the header of the speaker, unless the request has one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        if connection["type"] == "http" and (found := _NAMED.fullmatch(connection["raw_path"])):
            speaker, path = found.groups()
            headers = connection["headers"]
            if not any(name == _HEADER for name, _ in headers):
                headers = [*headers, (_HEADER, speaker)]
            shown = unquote(path.decode("ascii"))
            connection = {**connection, "path": shown, "raw_path": path, "headers": headers}
        await self._app(connection, receive, send)
