"""HTTP requests to one server, over one keep-alive connection per thread."""

import http.client
import json
import shutil
import socket
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import SplitResult, urlsplit

from hippocampe.client.problems import error_of
from hippocampe.client.reaching import Unreached
from hippocampe.errors import HippocampeError, InvalidInput, ServerUnavailable
from hippocampe.types import Progress

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 900.0
"""Timeout of an answer: a digest with a slow model takes minutes."""
LINES = "application/x-ndjson"
VERBS = "/api/verbs"


class Connection:
    """A server, at one address.

    Args:
        address: Its base URL.
        secret: Its key; None on loopback.

    Raises:
        InvalidInput: The address cannot be used.
    """

    def __init__(self, address: str, secret: str | None) -> None:
        parts = _checked(address)
        self.address = address.rstrip("/")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port
        self._path = parts.path.rstrip("/")
        self._headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        self._own = threading.local()
        self._open: set[http.client.HTTPConnection] = set()
        self._opening = threading.Lock()

    def greet(self) -> dict[str, Any]:
        """Return the server's version, and the space of the key. Raises as `call`."""
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
        """Execute a verb on the server and return its result as JSON.

        Args:
            verb: Its name.
            arguments: Positional arguments as JSON.
            named: Named arguments as JSON.
            progress: Called while the server works; the answer is then streamed line by line.

        Raises:
            Unreached: The request may have been executed.
            HippocampeError: The one that the server raised.
        """
        more = {"Content-Type": "application/json"}
        if progress is not None:
            more["Accept"] = LINES
        content = json.dumps({"arguments": arguments, "named": named or {}}).encode()
        with self._sent("POST", f"{VERBS}/{verb}", content, more) as response:
            if progress is None:
                return json.loads(response.read())["result"]
            return _last_line(response, progress)

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

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._opening:
            for each in self._open:
                each.close()
            self._open.clear()

    @contextmanager
    def _sent(
        self, method: str, path: str, content: bytes | BinaryIO | None, headers: dict[str, str]
    ) -> Generator[http.client.HTTPResponse]:
        own = self._connected()
        try:
            own.request(method, self._path + path, content, self._headers | headers)
            response = own.getresponse()
            with closing(response):
                if response.status >= 400:
                    raise _error(response)
                yield response
        except (OSError, http.client.HTTPException, json.JSONDecodeError) as exc:
            own.close()
            raise Unreached(f"{self.address}: {type(exc).__name__}") from exc
        except BaseException:
            # Unread bytes of this answer would be taken for the next one.
            own.close()
            raise

    def _connected(self) -> http.client.HTTPConnection:
        """The connection of this thread, open."""
        own = cast("http.client.HTTPConnection | None", getattr(self._own, "connection", None))
        if own is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            own = kind(self._host, self._port, timeout=CONNECT_SECONDS)
            self._own.connection = own
            with self._opening:
                self._open.add(own)
        if getattr(own, "sock", None) is None:
            own.timeout = CONNECT_SECONDS
            try:
                own.connect()
            except OSError as exc:
                raise Unreached(f"{self.address}: {type(exc).__name__}") from exc
            cast("socket.socket", own.sock).settimeout(ANSWER_SECONDS)
        return own


def _checked(address: str) -> SplitResult:
    with suppress(ValueError):
        parts = urlsplit(address)
        # Accessing the port checks it.
        plain = parts.port != 0 and not (parts.username or parts.query or parts.fragment)
        if parts.scheme in ("http", "https") and parts.hostname and plain:
            return parts
    raise InvalidInput(
        "the URL of the server cannot be used: give http:// or https:// with a host, such as "
        "http://127.0.0.1:8765."
    )


def _last_line(response: http.client.HTTPResponse, progress: Progress) -> Any:
    for line in response:
        told = json.loads(line)
        if "result" in told:
            # Read to the end before the next request.
            response.read()
            return told["result"]
        if "problem" in told:
            raise error_of(told["problem"])
        progress(*told["progress"])
    raise http.client.IncompleteRead(b"")


def _error(response: http.client.HTTPResponse) -> HippocampeError:
    try:
        return error_of(json.loads(response.read()))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ServerUnavailable(
            f"the server answered with status {response.status} and no reason: check that the address is that "
            "of a Hippocampe server."
        )
