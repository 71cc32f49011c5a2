"""The proxy: a client of chat completions gains memory by changing its base URL.

What memory adds goes into a copy of the messages; all else is passed on as it came, in both directions.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

import anyio
import httpx
from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.responses import Response, StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Send

from hippocampe.server.access import scope_in_headers
from hippocampe.server.chat_completions import Answer, Json
from hippocampe.server.door import Door
from hippocampe.server.openai_form import DESCRIBED
from hippocampe.server.remembered_chat import RememberedChat
from hippocampe.server.upstream import Upstream, passed_on

log = logging.getLogger("hippocampe")
T = TypeVar("T")

EVENTS = "text/event-stream"
BROKEN = {"message": "the answer of the upstream broke off: try again.", "type": "server_error"}


@asynccontextmanager
async def _closing(app: FastAPI) -> AsyncGenerator[None]:
    yield
    await app.state.upstream.close()


router = APIRouter(prefix="/v1", tags=["proxy"], lifespan=_closing, responses=DESCRIBED)


@router.get("/models", response_class=Response)
async def models(request: Request) -> Response:
    """The models of the upstream."""
    scope_in_headers(request, "read")
    upstream: Upstream = request.app.state.upstream
    request.state.passed_on = False
    answer = await upstream.send("GET", "/models", request, b"")
    body = await _whole(answer)
    request.state.passed_on = True
    return Response(body, answer.status_code, passed_on(answer))


_HEADERS = (
    ("X-Hippocampe-Space", "The space; default: that of the key."),
    ("X-Hippocampe-User", "Who speaks, percent-encoded; default: the field `user`."),
    ("X-Hippocampe-Channel", "Where they speak; default: each conversation is a channel."),
)
_REQUEST: dict[str, Any] = {
    "parameters": [
        {"name": name, "in": "header", "schema": {"type": "string"}, "description": text}
        for name, text in _HEADERS
    ],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["model", "messages"],
                    "properties": {
                        "model": {"type": "string"},
                        "messages": {"type": "array", "items": {"type": "object"}},
                        "stream": {"type": "boolean"},
                        "user": {"type": "string", "description": "Who speaks."},
                    },
                },
                "example": {
                    "model": "gpt-5-mini",
                    "messages": [{"role": "user", "content": "Je bois quoi ce soir ?"}],
                    "user": "dev",
                },
            }
        },
    },
}


@router.post("/chat/completions", response_class=Response, openapi_extra=_REQUEST)
async def chat_completions(request: Request, hippo: Door) -> Response:
    """Pass a chat on to the upstream with what memory knows, and store the exchange.

    The form is that of OpenAI's API, with streams and tools. Memories are put before the words of the
    user, in a copy of the messages.
    """
    upstream: Upstream = request.app.state.upstream
    body = await request.body()
    asked = _parsed(body)
    chat = RememberedChat(
        hippo, scope_in_headers(request, "write", user=asked.get("user")), asked, upstream.url or ""
    )
    try:
        body = await _while_connected(request, chat.reminded(body))
        sending = upstream.send("POST", "/chat/completions", request, body)
        answer = await _while_connected(request, sending)
        if answer.is_success and answer.headers.get("content-type", "").startswith(EVENTS):
            request.state.passed_on = True
            return _Relay(answer, chat)
        whole = await _while_connected(request, _whole(answer))
    except ClientDisconnect:
        return Response(status_code=499)
    request.state.passed_on = True
    if answer.is_success:
        read = Answer()
        read.read(whole)
        await chat.ended(read)
    return Response(whole, answer.status_code, passed_on(answer))


def _parsed(body: bytes) -> Json:
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        raise HTTPException(400, "the body must be a JSON object with model and messages.")
    return cast("Json", asked)


async def _whole(answer: httpx.Response) -> bytes:
    try:
        return await answer.aread()
    except httpx.HTTPError as exc:
        raise HTTPException(502, BROKEN["message"]) from exc
    finally:
        await answer.aclose()


async def _while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Wait for a result, unless the client goes away.

    Raises:
        ClientDisconnect: It has; the work was cancelled.
    """
    working = asyncio.create_task(work)
    gone = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnect
    finally:
        for task in (working, gone):
            task.cancel()
        await asyncio.wait({working, gone})


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        """The body was read; nothing else comes."""


class _Relay(StreamingResponse):
    """Passes a stream on as it arrives, and stores the exchange when it ends.

    A client that goes away ends the stream of the upstream too; what it has read is stored.
    """

    def __init__(self, answer: httpx.Response, chat: RememberedChat) -> None:
        super().__init__(self._pieces(), answer.status_code, passed_on(answer))
        self._answer = answer
        self._chat = chat
        self._read = Answer()
        self._broken = False

    async def stream_response(self, send: Send) -> None:
        try:
            await super().stream_response(send)
        finally:
            with anyio.CancelScope(shield=True):
                await self._answer.aclose()
                if not self._broken:
                    await self._chat.ended(self._read)

    async def _pieces(self) -> AsyncGenerator[bytes]:
        last = b"\n"
        try:
            async for last in self._answer.aiter_bytes():
                self._read.feed(last)
                yield last
        except httpx.HTTPError:
            self._broken = True
            log.warning("the upstream of the proxy broke off in a stream")
            yield b"" if last.endswith(b"\n") else b"\n"
            yield b"\ndata: " + json.dumps({"error": BROKEN}).encode() + b"\n\n"
