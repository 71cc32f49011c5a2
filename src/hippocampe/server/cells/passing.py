"""Internal headers between the router and its cells; no client can send them.

Cells listen on Unix sockets in a folder that only their user can read; the router removes these headers from requests
of clients.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from urllib.parse import quote, unquote

from starlette.types import Scope as Connection

from hippocampe.client.wire import decode

INTERNAL = "/.cell/"
"""The paths of requests of the router to a cell, and to the router of its own user."""
PASSED = b"x-hippocampe-cell"
MISPLACED = b"x-hippocampe-elsewhere"
"""Names the space, in a response, that the request needs and that its cell does not have."""
Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Passed:
    """The connection of a client, as the router sees it.

    Attributes:
        client: Its address and port.
        server: The address and port that it reached.
        http: Its version of HTTP: reverse proxies are recognised by an old one.
        login: The key of its login, if its cookie is that of one.
    """

    client: tuple[str, int] | None
    server: tuple[str, int | None] | None
    http: str
    login: str | None = None

    def header(self) -> tuple[bytes, bytes]:
        """The header that carries it."""
        return PASSED, json.dumps(asdict(self)).encode()


def is_internal(connection: Connection) -> bool:
    """Return whether a cell got a request of the router itself: every request of a client carries `PASSED`."""
    passed = any(name == PASSED for name, _ in connection["headers"])
    return connection["path"].startswith(INTERNAL) and not passed


def split(headers: Iterable[tuple[bytes, bytes]]) -> tuple[Headers, Passed]:
    """Take a request's own headers, and what the router added, apart."""
    found = next(value for name, value in headers if name == PASSED)
    return without(headers), decode(Passed, json.loads(found))


def without(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers of a client, without those that only the router may send."""
    return [each for each in headers if each[0] != PASSED]


def misplaced(space: str) -> tuple[bytes, bytes]:
    """The header of a response that names a space of another cell."""
    return MISPLACED, quote(space, safe="").encode()


def misplaced_in(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The space that a response names, if any."""
    return next(
        (unquote(value.decode()) for name, value in headers if name.lower() == MISPLACED), None
    )
