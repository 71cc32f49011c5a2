"""Idempotent writes: a repeated `Idempotency-Key` does not repeat the write."""

import asyncio
import hashlib
import re

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.aio import AsyncHippocampe
from hippocampe.server.http import problems
from hippocampe.server.http.access import scope_of
from hippocampe.server.http.bodies import received_again
from hippocampe.server.http.middleware import Middleware
from hippocampe.types import ApiKey

HEADER = "idempotency-key"
MAX_CHARACTERS = 200
WRITES = frozenset({"POST", "PATCH", "DELETE"})
WITHOUT = re.compile(r"/api/(chat|erase|import|keys|verbs/.*)")
"""Endpoints whose replies are not stored: they are streams, quote erased text, or show a secret."""
DESCRIPTION = (
    "The idempotency key of the write: a retry with the same key within 24 hours is not executed again, "
    "and gets the first reply."
)


def taken(path: str) -> bool:
    """Return whether an endpoint accepts an `Idempotency-Key`."""
    return WITHOUT.fullmatch(path) is None


class Idempotency(Middleware):
    """Answers a repeated write with the stored reply, without executing it again."""

    def __init__(self, app: ASGIApp, hippo: AsyncHippocampe) -> None:
        super().__init__(app)
        self._replies = hippo.sync.replies
        self._under_way: set[tuple[str, str]] = set()

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        if (
            connection["method"] not in WRITES
            or not connection["path"].startswith("/api/")
            or (key := Headers(scope=connection).get(HEADER)) is None
        ):
            await self.app(connection, receive, send)
            return
        try:
            _check(connection["path"], key)
            body = await Request(connection, receive).body()
            response = await self._once(connection, key, body, receive)
        except problems.EXPECTED as exc:
            response = problems.of_expected(exc)
        await response(connection, receive, send)

    async def _once(
        self, connection: Connection, key: str, body: bytes, receive: Receive
    ) -> Response:
        named = QueryParams(connection["query_string"]).get("space")
        space = scope_of(connection["state"]["key"], "read", named).space
        request = _digest(connection, body)
        if (space, key) in self._under_way:
            raise _under_way()
        self._under_way.add((space, key))
        try:
            known = await asyncio.to_thread(self._replies.find, space, key)
            if known is not None:
                if known.request != request:
                    raise HTTPException(
                        422,
                        "this Idempotency-Key was used with another request: take a new one for each write.",
                    )
                if self._replies.is_under_way(known):
                    raise _under_way()
                return _replayed(known.status, known.body)
            reply = _Reply()
            with self._replies.claiming(space, key, request) as claim:
                await self.app(connection, received_again(body, receive), reply.take)
            if claim.committed:
                await asyncio.to_thread(self._replies.keep, claim, reply.status, reply.body)
            return reply.response()
        finally:
            self._under_way.discard((space, key))


def _under_way() -> HTTPException:
    return HTTPException(
        409,
        "a write with this Idempotency-Key is under way: wait, and send it again for its reply.",
        {"Retry-After": problems.RETRY_SECONDS},
    )


class _Reply:
    """Records a reply while it is sent."""

    def __init__(self) -> None:
        self._start: Message = {}
        self.body = b""

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
        else:
            self.body += message.get("body", b"")

    @property
    def status(self) -> int:
        return self._start["status"]

    def response(self) -> Response:
        response = Response(self.body, self.status)
        response.raw_headers = self._start["headers"]
        return response


def _check(path: str, key: str) -> None:
    if not (0 < len(key) <= MAX_CHARACTERS and key.isascii() and key.isprintable()):
        raise HTTPException(
            422, f"an Idempotency-Key has 1 to {MAX_CHARACTERS} printable ASCII characters."
        )
    if not taken(path):
        raise HTTPException(
            422,
            "this endpoint takes no Idempotency-Key, because its reply is not kept: leave it out.",
        )


def _digest(connection: Connection, body: bytes) -> str:
    key: ApiKey | None = connection["state"]["key"]
    parts = (
        # Another API key, which may have another role, has its own replies.
        "" if key is None else key.id,
        connection["method"],
        connection["path"],
        connection["query_string"].decode("latin-1"),
    )
    return hashlib.sha256("\n".join(parts).encode() + b"\n" + body).hexdigest()


def _replayed(status: int | None, body: bytes | None) -> Response:
    """A stored reply; its status is None if the server stopped before it was known."""
    if status is None:
        raise HTTPException(
            409,
            "the server stopped during the first attempt of this write: check what is stored, and send the "
            "missing part with a new Idempotency-Key.",
        )
    media_type = "application/json" if status < 400 else problems.MEDIA_TYPE
    response = Response(body, status, media_type=media_type)
    MutableHeaders(raw=response.raw_headers)["Idempotent-Replayed"] = "true"
    return response
