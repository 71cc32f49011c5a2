"""Send a request of a client to a cell, again if that cannot do harm, and never without end."""

import asyncio
from typing import cast

import httpx
from starlette.exceptions import HTTPException
from starlette.types import Scope as Connection

from hippocampe.errors import ServerUnavailable
from hippocampe.server.cells import passing
from hippocampe.server.cells.supervisor import TIMEOUTS, Cell
from hippocampe.server.http.bodies import Body

KEPT_BYTES = 2**20
"""Bodies up to this size are kept: of a request to send it to another cell, of an answer until it is whole."""
SENDS = 2
"""Most attempts at a request that only reads: one that ends its process would end the next one, too."""
MOVE_SECONDS = 60.0
"""Longest wait for the end of a move, and for a cell that is started again."""
POLL_SECONDS = 0.02
HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)
"""RFC 9110, section 7.6.1: headers of one connection, not of the message."""


class Attempts:
    """The attempts at one request: a write has one.

    Args:
        repeatable: Whether it changes nothing, and its body is kept.
    """

    def __init__(self, *, repeatable: bool) -> None:
        self._left = SENDS if repeatable else 1
        self._repeatable = repeatable
        self._renew()

    @property
    def over(self) -> bool:
        """Return whether it has waited for long enough."""
        return asyncio.get_running_loop().time() > self._ends

    def _renew(self) -> None:
        self._ends = asyncio.get_running_loop().time() + MOVE_SECONDS

    async def response(self, cell: Cell, request: httpx.Request) -> httpx.Response | None:
        """Send the request to a cell, once it runs; return None if it can be sent again.

        Raises:
            ServerUnavailable: The cell cannot be reached, or ended while it answered.
            HTTPException: The request cannot be sent to any cell.
        """
        await running(cell)
        try:
            return await sent(cell, request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as exc:
            # It was not sent.
            if self.over:
                raise ServerUnavailable(
                    f"cell {cell.number} cannot be reached: see the log of the server."
                ) from exc
        except httpx.TransportError as exc:
            self._left -= 1
            if self._left == 0:
                raise self._given_up() from exc
            self._renew()
        # The supervisor needs a moment to notice that a process has ended.
        await asyncio.sleep(POLL_SECONDS)
        return None

    def _given_up(self) -> ServerUnavailable:
        if self._repeatable:
            return ServerUnavailable(
                "the process of the space ended each time while it answered this request, which is not sent "
                "again: see the log of the server."
            )
        return ServerUnavailable(
            "the process of the space ended while it answered, and is started again: check what is "
            "stored, or send writes with an Idempotency-Key, which can be repeated."
        )


async def sent(cell: Cell, request: httpx.Request) -> httpx.Response:
    """Send a request once; an answer of a small, known size is read whole, so that its cell cannot end in the middle.

    Raises:
        HTTPException: It cannot be sent to any cell.
        httpx.TransportError: The cell cannot be reached, or ended.
    """
    try:
        response = await cell.transport.handle_async_request(request)
    except httpx.LocalProtocolError as exc:
        raise HTTPException(400, "the request has a header that cannot be used.") from exc
    if int(response.headers.get("content-length", KEPT_BYTES + 1)) <= KEPT_BYTES:
        pieces = cast("httpx.AsyncByteStream", response.stream)
        try:
            response.stream = httpx.ByteStream(b"".join([piece async for piece in pieces]))
        finally:
            await pieces.aclose()
    return response


async def running(cell: Cell) -> None:
    """Wait until a cell runs.

    Raises:
        ServerUnavailable: It does not, for long.
    """
    try:
        async with asyncio.timeout(MOVE_SECONDS):
            await cell.running.wait()
    except TimeoutError as exc:
        raise ServerUnavailable(
            f"cell {cell.number} cannot be started: see the log of the server."
        ) from exc


def target(connection: Connection) -> bytes:
    """The path of a request as its client wrote it."""
    return connection.get("raw_path") or connection["path"].encode()


def passed_on(connection: Connection, body: Body, login: str | None) -> httpx.Request:
    """The request of a client as its cell gets it."""
    server = connection.get("server")
    passed = passing.Passed(connection.get("client"), server, connection["http_version"], login)
    headers = [each for each in passing.without(connection["headers"]) if each[0] not in HOP_BY_HOP]
    names = {name for name, _ in headers}
    if b"host" not in names:
        headers.append((b"host", b""))
    if b"content-length" not in names:
        if body.whole and body.kept:
            headers.append((b"content-length", str(len(body.kept)).encode()))
        elif not body.whole:
            headers.append((b"transfer-encoding", b"chunked"))
    query: bytes = connection["query_string"]
    url = httpx.URL("http://cell", raw_path=target(connection) + (b"?" + query if query else b""))
    return httpx.Request(
        connection["method"],
        url,
        headers=[*headers, passed.header()],
        stream=body,
        extensions={"timeout": TIMEOUTS},
    )
