"""The proxy: a client of a language model gains memory by changing its base URL.

Requests of the supported protocols are forwarded with an injection in a copy of their messages. All other
requests below `/v1` are forwarded unchanged, in both directions.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

import anyio
import httpx
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response, StreamingResponse
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect
from starlette.types import Send

from hippocampe.aio import AsyncHippocampe
from hippocampe.integrations.conversation import Conversation
from hippocampe.server.http.access import LABELS, PROXY, scope_in_headers
from hippocampe.server.http.bodies import Body
from hippocampe.server.http.dependencies import Hippo
from hippocampe.server.http.events import EVENTS
from hippocampe.server.http.metrics import CLOSED, METHODS
from hippocampe.server.proxy.protocols import PROTOCOLS, ClientProtocol, parsed
from hippocampe.server.proxy.providers import DESCRIBED, provider_of
from hippocampe.server.proxy.remembered_chat import MEMORY_SECONDS, RememberedChat
from hippocampe.server.proxy.upstream import Upstream, passed_on

log = logging.getLogger("hippocampe")

BROKEN = "the upstream closed the connection during its answer: try again."
MAX_READ_BYTES = 16 * 2**20
"""Largest request that memory reads; a larger one is forwarded without memory, to bound the RAM."""
MAX_PASSED_BYTES = 2**30
"""Largest request of any kind. It is streamed, so its length costs no memory; providers take 512 MB."""

OPEN_WEBUI = "x-openwebui-"
TASK = f"{OPEN_WEBUI}task"
"""The header in which Open WebUI names a task of its own, if a connection sends `{{TASK}}` in it."""
TEMPORARY = ("temporary:", "local:")
"""Prefixes of the ids of temporary chats of Open WebUI, whose messages it promises not to keep."""

OBJECT = re.compile(r"[a-z_]+/.*\d")
"""Path of one object at a provider: its collection, then its id, which has a digit and cannot be guessed. All other
paths may be lists."""


router = APIRouter(prefix=PROXY.rstrip("/"), tags=["Proxy"], responses=DESCRIBED)


def _with_memory(protocol: ClientProtocol) -> Callable[..., Coroutine[Any, Any, Response]]:
    """The endpoint of a supported protocol, with memory."""

    async def endpoint(request: Request, hippo: Hippo) -> Response:
        try:
            body = await Body.of(request.receive, MAX_READ_BYTES)
            if not body.whole:
                scope_in_headers(request, "write")
                log.warning("a chat too large to read was forwarded without memory")
                return await _untouched(request, body)
            return await _remembered(request, hippo, protocol, body)
        except ClientDisconnect:
            return Response(status_code=CLOSED)

    return endpoint


async def _remembered(
    request: Request, hippo: AsyncHippocampe, protocol: ClientProtocol, body: Body
) -> Response:
    upstream, asked = _upstream(request), parsed(body.kept)
    if _is_forgotten(request, protocol.conversation(asked)):
        scope_in_headers(request, "write")
        return await _untouched(request, body)
    chat = RememberedChat(
        hippo,
        # The name that OpenAI gives the field since 2025 is the second one.
        scope_in_headers(
            request, "write", user=asked.get("user") or asked.get("safety_identifier")
        ),
        asked,
        protocol=protocol,
        threads=request.app.state.threads,
        url=upstream.url or "",
    )
    reminded = await body.while_connected(chat.reminded(body.kept))
    answer = await body.while_connected(upstream.send(request, reminded, readable=True))
    if answer.is_success and answer.headers.get("content-type", "").startswith(EVENTS):
        request.state.passed_on = True
        return _Relay(answer, chat, protocol)
    whole = await body.while_connected(_whole(answer))
    request.state.passed_on = True
    response = Response(whole, answer.status_code)
    length = (b"content-length", str(len(whole)).encode())
    response.raw_headers = [*passed_on(answer, decoded=True), length]
    if answer.is_success:
        found = protocol.answer()
        found.read(whole)
        storing = asyncio.ensure_future(chat.ended(found))
        # The next request finds this exchange, unless storing takes long.
        await asyncio.wait({storing}, timeout=MEMORY_SECONDS)
        response.background = BackgroundTask(asyncio.wait, {storing})
    return response


def _is_forgotten(request: Request, talk: Conversation | None) -> bool:
    """Return whether Open WebUI asks for a title, tags or questions of its own, where nobody speaks, or in a
    temporary chat."""
    named = request.headers.get(TASK, "").strip()
    if named and not named.startswith("{{"):
        return True
    if not any(name.startswith(OPEN_WEBUI) for name in request.headers):
        return False
    if any(request.headers.get(name, "").startswith(TEMPORARY) for name in LABELS["channel"]):
        return True
    return talk is not None and talk.message.startswith("### Task:")


async def _passed(request: Request, path: str) -> Response:
    """Forward any other request unchanged, and its answer."""
    lists_models = request.method in ("GET", "HEAD") and path.split("/")[0] == "models"
    scope_in_headers(request, "read" if lists_models else "write")
    bound = request.state.key is not None and _upstream(request).key is not None
    if bound and request.method in ("GET", "HEAD") and not lists_models and not OBJECT.match(path):
        raise HTTPException(
            403,
            "this lists what all spaces have at the provider: send a key of the provider of your own beside "
            "that of this server, and start the server without a key of the upstream.",
        )
    try:
        return await _untouched(request, await Body.of(request.receive, 0))
    except ClientDisconnect:
        return Response(status_code=CLOSED)


async def _untouched(request: Request, body: Body) -> Response:
    content = body.kept if body.whole else body
    answer = await body.while_connected(_upstream(request).send(request, content, readable=False))
    request.state.passed_on = True
    return _Through(answer)


_HEADERS = (
    ("X-Hippocampe-Space", "The space; default: that of the key."),
    (
        "X-Hippocampe-User",
        "The speaker, percent-encoded; default: the field `user` or `safety_identifier`.",
    ),
    ("X-Hippocampe-Channel", "The channel; default: one for each conversation."),
)


def _described(protocol: ClientProtocol) -> dict[str, Any]:
    """The request of a protocol in the OpenAPI document."""
    types = {str: "string", int: "integer"}
    fields = {
        name: {"type": types[type(value)]} if type(value) in types else {}
        for name, value in protocol.example.items()
    }
    schema = {
        "type": "object",
        "required": [name for name in protocol.example if name not in protocol.optional],
        "properties": {**fields, "stream": {"type": "boolean"}},
    }
    body = {"schema": schema, "example": protocol.example}
    return {
        "parameters": [
            {"name": name, "in": "header", "schema": {"type": "string"}, "description": text}
            for name, text in _HEADERS
        ],
        "requestBody": {"required": True, "content": {"application/json": body}},
    }


for _protocol in PROTOCOLS:
    for _path in _protocol.paths:
        router.add_api_route(
            _path,
            _with_memory(_protocol),
            methods=["POST"],
            name=_protocol.name,
            description=_protocol.described,
            response_class=Response,
            openapi_extra=_described(_protocol),
            include_in_schema=_path == _protocol.paths[0],
        )


@router.get("/models", response_class=Response)
async def models(request: Request) -> Response:
    """The models of the upstream."""
    return await _passed(request, "models")


router.add_api_route(
    "/{path:path}", _passed, methods=[*METHODS], response_class=Response, include_in_schema=False
)


def _upstream(request: Request) -> Upstream:
    return request.app.state.upstreams[provider_of(request.scope)]


async def _whole(answer: httpx.Response) -> bytes:
    try:
        return await answer.aread()
    except httpx.HTTPError as exc:
        raise HTTPException(502, BROKEN) from exc
    finally:
        await answer.aclose()


class _Through(StreamingResponse):
    """Forwards an answer as it arrives, byte for byte."""

    def __init__(self, answer: httpx.Response) -> None:
        super().__init__(answer.aiter_raw(), answer.status_code)
        self.raw_headers = passed_on(answer, decoded=False)
        self._answer = answer

    async def stream_response(self, send: Send) -> None:
        try:
            await super().stream_response(send)
        except httpx.HTTPError:
            # A truncated answer closes the connection, so that the client sees the break.
            log.warning("the upstream closed the connection during an answer")
        finally:
            with anyio.CancelScope(shield=True):
                await self._answer.aclose()


class _Relay(StreamingResponse):
    """Forwards a stream of events as it arrives, and stores the exchange when it ends.

    A disconnect of the client ends the stream of the upstream too; the part it has read is stored.
    """

    def __init__(
        self, answer: httpx.Response, chat: RememberedChat, protocol: ClientProtocol
    ) -> None:
        super().__init__(self._pieces(), answer.status_code)
        self.raw_headers = passed_on(answer, decoded=True)
        self._answer = answer
        self._chat = chat
        self._protocol = protocol
        self._read = protocol.answer()
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
            log.warning("the upstream closed the connection during a stream")
            yield b"" if last.endswith((b"\n", b"\r")) else b"\n"
            yield b"\n" + self._protocol.broken(BROKEN)
