"""The speaker in the address of the proxy, for clients that send no headers of ours: `/as/paul/v1/…`."""

import re
from typing import Final
from urllib.parse import unquote

from starlette.types import Receive, Send
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
