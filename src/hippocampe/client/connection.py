"""HTTP requests to one server."""

import http.client
import json
import selectors
import shutil
import socket
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import urlencode

from hippocampe.client.caller import Caller, result_of
from hippocampe.client.reaching import Unreached
from hippocampe.client.wire import error_of
from hippocampe.config import web_address
from hippocampe.errors import HippocampeError, InvalidInput, ServerUnavailable
from hippocampe.types import Progress

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 900.0
"""Timeout of an answer: a digest with a slow model takes minutes."""
LINES = "application/x-ndjson"
VERBS = "/api/verbs"
BROKEN = (BrokenPipeError, ConnectionResetError, ConnectionAbortedError)
"""Errors of a connection that the server has closed."""


class Connection(Caller[http.client.HTTPConnection]):
    """A server, at one address. On loopback it may need no key.

    Raises:
        InvalidInput: The address cannot be used.
    """

    def __init__(self, address: str, secret: str | None) -> None:
        parts = web_address(address)
        if parts is None:
            raise InvalidInput(
                "the URL of the server cannot be used: give http:// or https:// with a host, such as "
                "http://127.0.0.1:8765."
            )
        super().__init__(address.rstrip("/"))
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port
        self._path = parts.path.rstrip("/")
        self._headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}

    def greet(self) -> dict[str, Any]:
        with self._sent("GET", VERBS, None, {}) as response:
            return json.loads(response.read())

    def call(
        self,
        verb: str,
        arguments: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Any:
        more = {"Content-Type": "application/json"}
        if progress is not None:
            more["Accept"] = LINES
        content = json.dumps({"arguments": arguments, "named": named or {}}).encode()
        with self._sent("POST", _path(verb, named or {}), content, more) as response:
            if progress is None:
                return json.loads(response.read())["result"]
            result = result_of(cast("BinaryIO", response), progress)
            # Read to the end before the next request.
            response.read()
            return result

    def upload(self, path: str, file: Path) -> Any:
        """Send a file and return the JSON of the answer. Raises as `call`, or OSError if it cannot be read."""
        with file.open("rb") as content:
            size = {"Content-Length": str(file.stat().st_size)}
            with self._sent("POST", path, content, size) as response:
                return json.loads(response.read())

    def download(self, path: str, target: Path) -> None:
        """Write the answer to a file. Raises as `call`, or OSError if it cannot be written."""
        with self._sent("GET", path, None, {}) as response, target.open("wb") as file:
            shutil.copyfileobj(response, file)

    @contextmanager
    def _sent(
        self, method: str, path: str, content: bytes | BinaryIO | None, headers: dict[str, str]
    ) -> Generator[http.client.HTTPResponse]:
        own = self._connected()
        try:
            reused = _is_open(own)
            try:
                response = self._answer(own, method, path, content, headers)
            except BROKEN:
                if not reused:
                    raise
                # The server closed it at the same time. Verbs and imports can be repeated.
                own.close()
                if content is not None and not isinstance(content, bytes):
                    content.seek(0)
                response = self._answer(own, method, path, content, headers)
            with closing(response):
                if response.status >= 400:
                    raise _error(response)
                yield response
        except (OSError, EOFError, http.client.HTTPException, json.JSONDecodeError) as exc:
            self._drop(own)
            raise Unreached(f"{self.address}: {type(exc).__name__}") from exc
        except BaseException:
            # Unread bytes of this answer would be taken for the next one.
            self._drop(own)
            raise

    def _answer(
        self,
        own: http.client.HTTPConnection,
        method: str,
        path: str,
        content: bytes | BinaryIO | None,
        headers: dict[str, str],
    ) -> http.client.HTTPResponse:
        if cast("socket.socket | None", own.sock) is None:
            own.timeout = CONNECT_SECONDS
            own.connect()
            own.sock.settimeout(ANSWER_SECONDS)
        own.request(method, self._path + path, content, self._headers | headers)
        return own.getresponse()

    def _connect(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=CONNECT_SECONDS)

    def _shut(self, connection: http.client.HTTPConnection) -> None:
        connection.close()


def _path(verb: str, named: Mapping[str, Any]) -> str:
    """The path of a verb; it names the space for a router, which cannot read every body."""
    match named.get("scope"):
        case {"space": str(space)}:
            return f"{VERBS}/{verb}?{urlencode({'space': space})}"
        case _:
            return f"{VERBS}/{verb}"


def _is_open(own: http.client.HTTPConnection) -> bool:
    """Return whether a connection can be used again; it is closed if the server has closed it, as it does when idle."""
    if cast("socket.socket | None", own.sock) is None:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(own.sock, selectors.EVENT_READ)
        # No answer is awaited, so what can be read is its end.
        if not selector.select(0):
            return True
    own.close()
    return False


def _error(response: http.client.HTTPResponse) -> HippocampeError:
    try:
        return error_of(json.loads(response.read()))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ServerUnavailable(
            f"the server answered with status {response.status} and no reason: check that the address is that "
            "of a Hippocampe server."
        )
