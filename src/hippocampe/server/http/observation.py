"""Record each request: an id, a line of the log, a count. Never its content."""

import re
import time
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.server.http import logs
from hippocampe.server.http.metrics import Metrics
from hippocampe.server.http.middleware import Middleware, at_start
from hippocampe.types import ApiKey

ID = "x-request-id"
PLAIN = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""Request ids of clients that are accepted; others could forge lines of a log."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE = "none"
CLOSED = 499
"""Recorded status when the client disconnected before the answer."""


class Observation(Middleware):
    """Records each request of an application."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        super().__init__(app)
        self._metrics = metrics

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        sent = Headers(scope=connection).get(ID, "")
        id = sent if PLAIN.fullmatch(sent) else uuid4().hex
        state = connection.setdefault("state", {})
        state["request_id"] = id
        started, status = time.perf_counter(), CLOSED

        def noted(message: Message) -> None:
            nonlocal status
            status = message["status"]
            MutableHeaders(scope=message).setdefault(ID, id)

        try:
            await self.app(connection, receive, at_start(send, noted))
        except Exception:
            status = 500
            raise
        finally:
            seconds = time.perf_counter() - started
            method = connection["method"] if connection["method"] in METHODS else "other"
            # The template of the matched route: the path itself may contain names of users.
            route = getattr(connection.get("route"), "path", NO_ROUTE)
            key: ApiKey | None = state.get("key")
            self._metrics.request(method, route, status, seconds)
            who = "no key" if key is None else f"key {key.id}"
            logs.request(id, method, route, status, seconds, who)
