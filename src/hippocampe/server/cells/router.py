"""The application in front of the cells: sends each request to the cell of its space, or asks all and merges the answers.

It decides nothing about keys and rights: the cell does, by the same rules as a single process.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, cast
from urllib.parse import parse_qs, unquote_to_bytes

import httpx
from prometheus_client import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from starlette.datastructures import Headers, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from hippocampe.cells import Divided
from hippocampe.client.wire import encode
from hippocampe.errors import InvalidInput, Overloaded, ServerUnavailable
from hippocampe.hippocampe import KeyRegister
from hippocampe.server.api.operation import DOWN
from hippocampe.server.cells import passing, sending
from hippocampe.server.cells.moves import Mover
from hippocampe.server.cells.sending import (
    HOP_BY_HOP,
    KEPT_BYTES,
    POLL_SECONDS,
    Attempts,
    passed_on,
)
from hippocampe.server.cells.supervisor import Supervisor
from hippocampe.server.dashboard.visit import chosen_space
from hippocampe.server.http import problems
from hippocampe.server.http.access import (
    LOGIN,
    PROXY,
    decoded,
    foreign_to_loopback,
    forwarded,
    secret_of,
    session_of,
)
from hippocampe.server.http.bodies import Body
from hippocampe.server.http.sessions import COOKIE, SAFE_METHODS, Sessions
from hippocampe.types import Scope

log = logging.getLogger("hippocampe.cells")
LOGOUT = "/logout"
PROGRAMS = ("/api/", "/mcp", "/admin/", PROXY)
"""Paths of programs: the space that a reader of pages chose is not theirs."""
METRICS = "/metrics"
TEXT = {"content-type": "text/plain; version=0.0.4"}
"""The format of Prometheus."""
READING = frozenset({"/api/before_turn", "/api/recall"})
"""Requests that change nothing that a client waits for: they are repeated if a cell ends while it answers."""
READY_SECONDS = 2.0
"""Longest wait for the readiness of a cell, shorter than that of `hippocampe doctor` and of the image for Docker."""
METRICS_SECONDS = 5.0
"""Longest wait for the numbers of a cell, shorter than that of Prometheus."""


class Router:
    """The application."""

    def __init__(
        self,
        divided: Divided,
        supervisor: Supervisor,
        keys: KeyRegister,
        sessions: Sessions,
        notes_space: str | None,
        *,
        keyless: bool = False,
    ) -> None:
        self._keyless = keyless
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
        except problems.EXPECTED as exc:
            # A client that stays connected would take a connection from the other cells.
            close = {"Connection": "close"} if isinstance(exc, Overloaded) else None
            await problems.of_expected(exc, close)(connection, receive, send)

    async def _answer(self, connection: Connection, receive: Receive, send: Send) -> None:
        path: str = connection["path"]
        segments = sending.target(connection).split(b"/")
        if any(unquote_to_bytes(each) in (b".", b"..") for each in segments):
            # httpx removes them: a cell would get another path than the one that is tested here.
            raise HTTPException(404, "there is no endpoint at this path.")
        if path.startswith(passing.INTERNAL):
            response = await self._controlled(connection, receive)
        elif (own := {"/healthz": self._health, "/readyz": self._readiness}.get(path)) is not None:
            response = self._refusal(connection) or await own()
        else:
            body = await Body.of(receive, KEPT_BYTES)
            with suppress(ClientDisconnect):
                await body.while_connected(self._pass_on(connection, body, send))
            return
        await response(connection, receive, send)

    async def _controlled(self, connection: Connection, receive: Receive) -> Response:
        """A request of a program of the same user, over the socket of the router."""
        server = connection.get("server")
        if (server is None or server[1] is not None) or connection["method"] != "POST":
            return problems.response(problems.of_status(404, "there is no endpoint at this path."))
        if connection["path"] == f"{passing.INTERNAL}spread":
            return JSONResponse(encode(await self.mover.spread()))
        body = await Body.of(receive, KEPT_BYTES)
        try:
            order = json.loads(body.kept)
            space, target = Scope(space=order["space"]).space, int(order["target"])
        except (ValueError, LookupError, TypeError) as exc:
            raise InvalidInput("a move needs a space and the number of a cell.") from exc
        return JSONResponse(encode(await self.mover.move(space, target)))

    async def ending(self) -> None:
        """Let the cells end their streams of log lines, which would go on for ever."""
        await asyncio.gather(
            *(_soon(each.ask("ending", {}), READY_SECONDS) for each in self._cells)
        )

    def _refusal(self, connection: Connection) -> Response | None:
        """The answer to a request of a web page of another site, as a cell gives it; None for others."""
        local = self._keyless and not forwarded(connection)
        problem = foreign_to_loopback(Headers(scope=connection)) if local else None
        return None if problem is None else problems.response(problem)

    async def _health(self) -> Response:
        return JSONResponse({"status": "ok"})

    async def _readiness(self) -> Response:
        asked = (_soon(each.ask("ready"), READY_SECONDS) for each in self._cells)
        answers = await asyncio.gather(*asked)
        found = _merged_readiness(
            [each.json() if each is not None and each.is_success else None for each in answers]
        )
        return JSONResponse(found, 200 if found["ready"] else 503)

    async def _ask(
        self, cell: int, name: str, arguments: dict[str, Any] | None = None
    ) -> httpx.Response:
        """Send a request of the router itself to a cell, once it runs."""
        at = self._cells[cell]
        await sending.running(at)
        return await at.ask(name, arguments)

    async def _pass_on(self, connection: Connection, body: Body, send: Send) -> None:
        """Send a request to its cell; if that does not have the space, or ends, to the cell that has it by then."""
        path, headers = connection["path"], Headers(scope=connection)
        session = session_of(headers)
        login = self._sessions.secret(session) if session else None
        if path == METRICS:
            await _relay(await self._metrics(lambda: passed_on(connection, body, login)), send)
            return
        space = self._space(connection, headers, login, body)
        reading = connection["method"] in SAFE_METHODS or path in READING
        attempts = Attempts(repeatable=reading and body.whole)
        while True:
            cell = self._cells[self._divided.read().cell_of(space)]
            with cell.place():
                response = await attempts.response(cell, passed_on(connection, body, login))
                if response is None:
                    continue
                elsewhere = passing.misplaced_in(response.headers.raw)
                if elsewhere is None:
                    self._note_login(path, session, login, response, body)
                    # It has the form of its provider already, or is the provider's own.
                    connection.setdefault("state", {})["passed_on"] = True
                    await _relay(response, send)
                    return
                await response.aclose()
                space = elsewhere
                if not body.whole or attempts.over:
                    raise ServerUnavailable(
                        f"space {elsewhere!r} is being moved: try again in a moment."
                    )
                await self._moved(space, attempts)

    def _space(
        self, connection: Connection, headers: Headers, login: str | None, body: Body
    ) -> str:
        """The space of a request: that of its key, else the one that it names, else the default."""
        path: str = connection["path"]
        secret = secret_of(headers, path) or login
        if path == LOGIN and connection["method"] == "POST":
            secret = _typed_key(body)
        if secret and (found := self._keys.space_of(secret)) is not None:
            return found
        query = QueryParams(connection["query_string"])
        named = query.get("space")
        if path.startswith(PROXY):
            header = headers.get("x-hippocampe-space")
            named = None if header is None else decoded(header)
        elif not path.startswith(PROGRAMS):
            named = chosen_space(headers, query)
        with suppress(InvalidInput):
            return Scope().space if named is None else Scope(space=named).space
        return Scope().space

    async def _moved(self, space: str, attempts: Attempts) -> None:
        """Wait until a space is not being moved."""
        while space in self._divided.read().moving and not attempts.over:
            await asyncio.sleep(POLL_SECONDS)

    async def _metrics(self, request: Callable[[], httpx.Request]) -> httpx.Response:
        """Ask all cells, since each checks the key, and merge the numbers of those that answer."""
        asked = (_soon(sending.sent(cell, request()), METRICS_SECONDS) for cell in self._cells)
        answers = await asyncio.gather(*asked)
        found = {
            number: each.text
            for number, each in enumerate(answers)
            if each is not None and each.status_code == 200
        }
        if found:
            return httpx.Response(200, headers=TEXT, content=generate_latest(_Metrics(found)))
        refusal = next((each for each in answers if each is not None), None)
        if refusal is None:
            raise ServerUnavailable("no cell answers: see the log of the server.")
        # Its stream has been read.
        return httpx.Response(refusal.status_code, headers=refusal.headers, content=refusal.content)

    def _note_login(
        self,
        path: str,
        session: str,
        login: str | None,
        response: httpx.Response,
        body: Body,
    ) -> None:
        """Follow logins and logouts, so that they hold in all cells."""
        if response.status_code >= 400:
            return
        if path == LOGOUT or (path == LOGIN and login is not None):
            self._sessions.close(session)
        if path == LOGIN:
            key = _typed_key(body)
            for value in response.headers.get_list("set-cookie"):
                opened = cookie_parser(value).get(COOKIE)
                if opened and key:
                    self._sessions.adopt(opened, key)


def _typed_key(body: Body) -> str:
    """The key in the form of a login."""
    return parse_qs(body.kept.decode("latin-1")).get("key", [""])[0].strip()


async def _soon(asked: Awaitable[httpx.Response], seconds: float) -> httpx.Response | None:
    """Wait for a short time for the answer of a cell; return None if there is none."""
    with suppress(httpx.TransportError, TimeoutError):
        async with asyncio.timeout(seconds):
            response = await asked
            await response.aread()
            return response
    return None


async def _relay(response: httpx.Response, send: Send) -> None:
    """Send a response on, piece by piece; one that breaks off closes the connection, so that the client sees it."""
    headers = [each for each in response.headers.raw if each[0].lower() not in HOP_BY_HOP]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    try:
        async for piece in cast("httpx.AsyncByteStream", response.stream):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    except httpx.TransportError:
        log.warning("a cell ended during an answer")
    finally:
        await response.aclose()


class _Metrics(Collector):
    """The metrics of all cells, each with the label `cell`."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._texts = texts

    def collect(self) -> Iterator[Metric]:
        """Families of the same name are one."""
        families: dict[str, Metric] = {}
        for cell, text in self._texts.items():
            for family in text_string_to_metric_families(text):
                merged = families.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                for sample in family.samples:
                    merged.samples.append(
                        sample._replace(labels={**sample.labels, "cell": str(cell)})
                    )
        yield from families.values()


def _merged_readiness(states: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    """Merge the readiness of cells: a dependency has its worst state.

    Args:
        states: What each cell says; None for one that does not answer, which is named.
    """
    silent = [number for number, state in enumerate(states) if state is None]
    known = [asdict(DOWN) if state is None else state for state in states]
    parts = [name for name in known[0] if name != "ready"]
    return {
        "ready": all(state["ready"] for state in known),
        **{part: _worst([state[part] for state in known]) for part in parts},
        "silent_cells": silent,
    }


def _worst(states: Sequence[str]) -> str:
    return next((each for each in ("down", "loading") if each in states), "ok")
