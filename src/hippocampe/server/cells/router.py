"""The application in front of the cells: sends each request to the cell of its space.

It decides nothing about keys and rights: the cell does, by the same rules as a single process.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any, cast
from urllib.parse import parse_qs, unquote_to_bytes

import httpx
from starlette.datastructures import Headers, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.cells import Divided
from hippocampe.client.wire import encode
from hippocampe.errors import HippocampeError, InvalidInput, ServerUnavailable
from hippocampe.hippocampe import KeyRegister
from hippocampe.server.api.operation import DOWN
from hippocampe.server.cells import merging, passing
from hippocampe.server.cells.moves import Mover
from hippocampe.server.cells.supervisor import Cell, Supervisor
from hippocampe.server.dashboard.visit import chosen_space
from hippocampe.server.http import problems
from hippocampe.server.http.access import LOGIN, PROXY, secret_of, session_of
from hippocampe.server.http.sessions import COOKIE, SAFE_METHODS, Sessions
from hippocampe.types import Scope

LOGOUT = "/logout"
PROGRAMS = ("/api/", "/mcp", "/admin/", PROXY)
"""Paths of programs: the space that a reader of pages chose is not theirs."""
READING = frozenset({"/api/before_turn", "/api/recall"})
"""Requests that change nothing that a client waits for: they are repeated if a cell ends while it answers."""
KEPT_BYTES = 2**20
"""Bodies up to this size are kept until the answer, to send the request to another cell."""
MOVE_SECONDS = 60.0
"""Longest wait for the end of a move, and for a cell that is started again."""
POLL_SECONDS = 0.02
HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)
"""RFC 9110, section 7.6.1: headers of one connection, not of the message."""
TIMEOUTS = {"connect": 5.0, "read": None, "write": None, "pool": None}


class _Body(httpx.AsyncByteStream):
    """The body of a request: kept, if it is small."""

    def __init__(self, kept: bytes, rest: Receive | None) -> None:
        self.kept = kept
        self._rest = rest

    @property
    def whole(self) -> bool:
        """Return whether it can be sent again."""
        return self._rest is None

    @classmethod
    async def of(cls, receive: Receive) -> "_Body":
        """Receive a body, up to `KEPT_BYTES`; the rest follows while it is sent."""
        pieces, size = list[bytes](), 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise HTTPException(400, "the body is not complete.")
            piece = message.get("body", b"")
            pieces.append(piece)
            size += len(piece)
            if not message.get("more_body", False):
                return cls(b"".join(pieces), None)
            if size > KEPT_BYTES:
                return cls(b"".join(pieces), receive)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.kept
        while self._rest is not None:
            message = await self._rest()
            if message["type"] == "http.disconnect":
                raise HTTPException(400, "the body is not complete.")
            yield message.get("body", b"")
            if not message.get("more_body", False):
                return


class Router:
    """The application.

    Args:
        divided: The folder.
        supervisor: The cells.
        keys: The keys of the folder.
        sessions: The logins of all cells.
        notes_space: The space of the notes; None without notes.
    """

    def __init__(
        self,
        divided: Divided,
        supervisor: Supervisor,
        keys: KeyRegister,
        sessions: Sessions,
        notes_space: str | None,
    ) -> None:
        self._divided = divided
        self._cells = supervisor.cells
        self._keys = keys
        self._sessions = sessions
        self.mover = Mover(divided, self._ask, notes_space)

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        if connection["type"] != "http":
            raise RuntimeError("the router answers HTTP only")
        try:
            await self._answer(connection, receive, send)
        except HTTPException as exc:
            problem = problems.of_status(exc.status_code, exc.detail)
            await problems.response(problem, exc.headers)(connection, receive, send)
        except HippocampeError as exc:
            await problems.response(problems.of_error(exc))(connection, receive, send)

    async def _answer(self, connection: Connection, receive: Receive, send: Send) -> None:
        path: str = connection["path"]
        segments = _target(connection).split(b"/")
        if any(unquote_to_bytes(each) in (b".", b"..") for each in segments):
            # httpx removes them: a cell would get another path than the one that is tested here.
            raise HTTPException(404, "there is no endpoint at this path.")
        if path.startswith(passing.INTERNAL):
            response = await self._controlled(connection, receive)
        elif path == "/healthz":
            response = JSONResponse({"status": "ok"})
        elif path == "/readyz":
            response = await self._readiness()
        else:
            await self._route(connection, receive, send)
            return
        await response(connection, receive, send)

    async def _controlled(self, connection: Connection, receive: Receive) -> Response:
        """A request of a program of the same user, over the socket of the router."""
        server = connection.get("server")
        if (server is None or server[1] is not None) or connection["method"] != "POST":
            return problems.response(problems.of_status(404, "there is no endpoint at this path."))
        if connection["path"] == f"{passing.INTERNAL}spread":
            return JSONResponse(encode(await self.mover.spread()))
        body = await _Body.of(receive)
        try:
            order = json.loads(body.kept)
            space, target = Scope(space=order["space"]).space, int(order["target"])
        except (ValueError, LookupError, TypeError) as exc:
            raise InvalidInput("a move needs a space and the number of a cell.") from exc
        return JSONResponse(encode(await self.mover.move(space, target)))

    async def ending(self) -> None:
        """Let the cells end their streams of log lines, which would go on for ever."""
        for cell in self._cells:
            if cell.running.is_set():
                with suppress(httpx.HTTPError):
                    await (await self._ask(cell.number, "ending", {})).aread()

    async def _readiness(self) -> Response:
        async def of(cell: Cell) -> dict[str, Any]:
            if cell.running.is_set():
                with suppress(httpx.HTTPError, ValueError):
                    return json.loads(await (await self._ask(cell.number, "ready")).aread())
            return asdict(DOWN)

        found = merging.readiness(await asyncio.gather(*map(of, self._cells)))
        return JSONResponse(found, 200 if found["ready"] else 503)

    async def _ask(
        self, cell: int, name: str, arguments: dict[str, Any] | None = None
    ) -> httpx.Response:
        """Send a request of the router itself to a cell, once it runs."""
        at = self._cells[cell]
        await _running(at)
        method = "GET" if arguments is None else "POST"
        request = httpx.Request(
            method,
            f"http://cell{passing.INTERNAL}{name}",
            json=arguments,
            extensions={"timeout": TIMEOUTS},
        )
        return await at.transport.handle_async_request(request)

    async def _route(self, connection: Connection, receive: Receive, send: Send) -> None:
        """Send a request to its cell; if that does not have the space, or ends, to the cell that has it by then."""
        body = await _Body.of(receive)
        headers = Headers(scope=connection)
        session = session_of(headers)
        login = self._sessions.secret(session) if session else None
        space = self._space(connection, headers, login, body)
        repeatable = connection["method"] in SAFE_METHODS or connection["path"] in READING
        ends = asyncio.get_running_loop().time() + MOVE_SECONDS
        while True:
            cell = self._cells[self._divided.read().cell_of(space)]
            await _running(cell)
            request = _request(connection, body, login)
            try:
                response = await cell.transport.handle_async_request(request)
            except httpx.ConnectError:
                # It was not sent.
                await _ended(cell)
                continue
            except httpx.LocalProtocolError as exc:
                raise HTTPException(400, "the request has a header that cannot be used.") from exc
            except httpx.TransportError as exc:
                if repeatable and body.whole:
                    await _ended(cell)
                    continue
                raise ServerUnavailable(
                    "the process of the space ended while it answered, and is started again: check what is "
                    "stored, or send writes with an Idempotency-Key, which can be repeated."
                ) from exc
            elsewhere = passing.misplaced_in(response.headers.raw)
            if elsewhere is None:
                break
            await response.aclose()
            if not body.whole or asyncio.get_running_loop().time() > ends:
                raise ServerUnavailable(
                    f"space {elsewhere!r} is being moved: try again in a moment."
                )
            space = elsewhere
            await self._moved(space, ends)
        if connection["path"] == "/metrics" and response.status_code == 200:
            await response.aclose()
            await (await self._metrics())(connection, receive, send)
            return
        self._note_login(connection["path"], session, login, response, body)
        await _relay(response, receive, send)

    def _space(
        self, connection: Connection, headers: Headers, login: str | None, body: _Body
    ) -> str:
        """The space of a request: that of its key, else the one that it names, else the default."""
        path: str = connection["path"]
        secret = secret_of(headers, path) or login
        if path == LOGIN and connection["method"] == "POST":
            fields = parse_qs(body.kept.decode("latin-1"))
            secret = fields.get("key", [""])[0].strip()
        if secret and (found := self._keys.space_of(secret)) is not None:
            return found
        named = QueryParams(connection["query_string"]).get("space")
        if path.startswith(PROXY):
            named = headers.get("x-hippocampe-space")
        elif not path.startswith(PROGRAMS):
            named = chosen_space(cookie_parser(headers.get("cookie", "")))
        with suppress(InvalidInput):
            return Scope().space if named is None else Scope(space=named).space
        return Scope().space

    async def _moved(self, space: str, ends: float) -> None:
        """Wait until a space is not being moved."""
        while space in self._divided.read().moving and asyncio.get_running_loop().time() < ends:
            await asyncio.sleep(POLL_SECONDS)

    async def _metrics(self) -> Response:
        async def of(cell: Cell) -> str:
            if cell.running.is_set():
                with suppress(httpx.HTTPError):
                    return (await (await self._ask(cell.number, "metrics")).aread()).decode()
            return ""

        texts = dict(enumerate(await asyncio.gather(*map(of, self._cells))))
        return Response(merging.metrics(texts), media_type="text/plain; version=0.0.4")

    def _note_login(
        self,
        path: str,
        session: str,
        login: str | None,
        response: httpx.Response,
        body: _Body,
    ) -> None:
        """Follow logins and logouts, so that they hold in all cells."""
        if response.status_code >= 400:
            return
        if path == LOGOUT or (path == LOGIN and login is not None):
            self._sessions.close(session)
        if path == LOGIN:
            key = parse_qs(body.kept.decode("latin-1")).get("key", [""])[0].strip()
            for value in response.headers.get_list("set-cookie"):
                opened = cookie_parser(value).get(COOKIE)
                if opened and key:
                    self._sessions.adopt(opened, key)


def _target(connection: Connection) -> bytes:
    """The path of a request as its client wrote it."""
    return connection.get("raw_path") or connection["path"].encode()


def _request(connection: Connection, body: _Body, login: str | None) -> httpx.Request:
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
    url = httpx.URL("http://cell", raw_path=_target(connection) + (b"?" + query if query else b""))
    return httpx.Request(
        connection["method"],
        url,
        headers=[*headers, passed.header()],
        stream=body,
        extensions={"timeout": TIMEOUTS},
    )


async def _running(cell: Cell) -> None:
    """Wait until a cell runs.

    Raises:
        ServerUnavailable: It does not, for long.
    """
    if cell.running.is_set():
        return
    try:
        async with asyncio.timeout(MOVE_SECONDS):
            await cell.running.wait()
    except TimeoutError as exc:
        raise ServerUnavailable(
            f"cell {cell.number} cannot be started: see the log of the server."
        ) from exc


async def _ended(cell: Cell) -> None:
    """Give the supervisor time to notice that a process has ended."""
    if cell.running.is_set():
        await asyncio.sleep(POLL_SECONDS)


async def _relay(response: httpx.Response, receive: Receive, send: Send) -> None:
    """Send a response on, piece by piece, until its end or until the client leaves."""
    headers = [each for each in response.headers.raw if each[0].lower() not in HOP_BY_HOP]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    try:
        if "content-length" in response.headers:
            await _pieces(response, send)
            return
        # A stream may be silent for long: the cell has to know that nobody listens any more.
        sending = asyncio.create_task(_pieces(response, send))
        leaving = asyncio.create_task(_left(receive))
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        for each in (sending, leaving):
            each.cancel()
        results = await asyncio.gather(sending, leaving, return_exceptions=True)
        if isinstance(results[0], Exception):
            raise results[0]
    finally:
        await response.aclose()


async def _pieces(response: httpx.Response, send: Send) -> None:
    async for piece in cast("httpx.AsyncByteStream", response.stream):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    message: Message = await receive()
    while message["type"] != "http.disconnect":
        message = await receive()
