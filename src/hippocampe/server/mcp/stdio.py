"""The server over standard input and output, for a client that starts it."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from typing import Any, Self, cast

import mcp_types as mcp
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from hippocampe.aio import AsyncHippocampe
from hippocampe.hippocampe import Hippocampe
from hippocampe.language.text import without_lone_escapes
from hippocampe.server.mcp.caller import Caller, ToolSet
from hippocampe.server.mcp.sdk import require_sdk
from hippocampe.server.mcp.service import make_server
from hippocampe.types import Scope
from hippocampe.verbs import Verb

NOT_JSON = mcp.ErrorData(
    code=mcp.PARSE_ERROR, message="the line is not JSON: send one message on one line, in UTF-8."
)
NO_MESSAGE = mcp.ErrorData(
    code=mcp.INVALID_REQUEST,
    message="the line is no message of JSON-RPC 2.0: send an object with jsonrpc, method and id.",
)


def serve(joining: Future[Hippocampe], scope: Scope, tools: ToolSet) -> None:
    """Serve one client until its input ends. Only the protocol is written to standard output.

    The client gets the list of tools at once: some give a server ten seconds. Calls of tools wait for the memory.

    Raises:
        HippocampeError: The memory cannot be opened, or the SDK is too old.
    """
    require_sdk()
    try:
        asyncio.run(_serve(Caller(_Joining(joining), scope, tools), joining))
    except BaseExceptionGroup:
        # The SDK wraps the reason why the memory cannot be opened.
        if joining.done() and (failed := joining.exception()) is not None:
            raise failed from None
        raise


async def _serve(caller: Caller, joining: Future[Hippocampe]) -> None:
    server = make_server(lambda context: caller)
    async with stdio_server() as (received, sent):
        messages: Any = Messages(received, sent)
        serving = asyncio.ensure_future(
            server.run(messages, sent, server.create_initialization_options())
        )
        opening = asyncio.wrap_future(joining)
        await asyncio.wait((serving, opening), return_when=asyncio.FIRST_COMPLETED)
        if opening.done() and opening.exception() is not None:
            serving.cancel()
            await asyncio.wait((serving,))
        else:
            await serving
        # Also when the input ended first: the user is to see why the memory cannot be opened.
        await opening


class _Joining(AsyncHippocampe):
    """A memory that may still be opening: its verbs wait for it."""

    def __init__(self, joining: Future[Hippocampe]) -> None:
        self._opening = joining
        self.workers = None

    async def _awaited(self, verb: Verb, /, *arguments: Any, **named: Any) -> Any:
        self.sync = await asyncio.wrap_future(self._opening)
        return await super()._awaited(verb, *arguments, **named)


class Messages(AsyncExitStack):
    """The messages of a client. Malformed lines are answered with an error, as JSON-RPC demands.

    The SDK drops them, and a client would wait for an answer forever. One with half an emoji is a message: a program
    may have cut it.
    """

    def __init__(self, received: Any, sent: Any) -> None:
        super().__init__()
        self.push_async_callback(received.aclose)
        self._received = received
        self._sent = sent

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        while True:
            item: SessionMessage | Exception = await anext(self._received)
            if not isinstance(item, Exception):
                return item
            if (message := _with_half_an_emoji(item)) is not None:
                return message
            if (error := _error(item)) is not None:
                await self._sent.send(SessionMessage(error))

    receive = __anext__


def _with_half_an_emoji(refusal: Exception) -> SessionMessage | None:
    """The message of a line that the parser refused for half an emoji; None of another one."""
    for each in refusal.errors() if isinstance(refusal, ValidationError) else ():
        line = str(each["input"])
        if each["type"] == "json_invalid" and (whole := without_lone_escapes(line)) != line:
            with suppress(ValidationError):
                return SessionMessage(mcp.jsonrpc_message_adapter.validate_json(whole))
    return None


def _error(refusal: Exception) -> mcp.JSONRPCError | None:
    """The answer to a malformed line; None if it is blank."""
    faults = refusal.errors() if isinstance(refusal, ValidationError) else []
    if not faults or faults[0]["type"] != "json_invalid":
        return mcp.JSONRPCError(jsonrpc="2.0", id=_id(faults), error=NO_MESSAGE)
    if not str(faults[0]["input"]).strip():
        return None
    return mcp.JSONRPCError(jsonrpc="2.0", id=None, error=NOT_JSON)


def _id(faults: Sequence[Mapping[str, Any]]) -> int | str | None:
    """The id of a malformed request, if it has a usable one."""
    for each in faults:
        if isinstance(each["input"], dict):
            id = cast("dict[str, Any]", each["input"]).get("id")
            if isinstance(id, int | str) and not isinstance(id, bool):
                return id
    return None
