"""The server over streamable HTTP: one answer to each request, without sessions."""

import asyncio
from typing import TYPE_CHECKING, cast, get_args

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from hippocampe.aio import AsyncHippocampe
from hippocampe.language.text import without_lone_escapes
from hippocampe.server.http.access import scope_of
from hippocampe.server.http.bodies import received_again
from hippocampe.server.mcp.caller import Caller, ToolSet
from hippocampe.server.mcp.sdk import require_sdk
from hippocampe.types import ApiKey

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
PARAMETERS = ("tools", "space", "user", "channel")
SETS: tuple[str, ...] = get_args(ToolSet)


class McpEndpoint:
    """Answers MCP clients. Without sessions, clients survive a restart and can use several server processes.

    The SDK is loaded by the first request: a server that no MCP client uses starts sooner.
    """

    def __init__(self, hippo: AsyncHippocampe) -> None:
        require_sdk()
        self._hippo = hippo
        self._starting = asyncio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None
        self._stop = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        if connection["method"] != "POST":
            # Without sessions to end and without streams of messages that the server starts.
            raise HTTPException(
                405, "the server has no sessions and no streams: use POST.", {"Allow": "POST"}
            )
        key: ApiKey | None = connection["state"]["key"]
        connection["state"]["caller"] = self._caller(key, QueryParams(connection["query_string"]))
        manager = await self._started()
        body = without_lone_escapes((await Request(connection, receive).body()).decode("latin-1"))
        received = received_again(body.encode("latin-1"), receive)
        await manager.handle_request(connection, received, send)

    async def close(self) -> None:
        """End with the application."""
        self._stop.set()
        if self._running is not None:
            await self._running

    def _caller(self, key: ApiKey | None, parameters: QueryParams) -> Caller:
        unknown = parameters.keys() - set(PARAMETERS)
        if unknown:
            raise HTTPException(
                422,
                f"{len(unknown)} query parameters are unknown: choose from {', '.join(PARAMETERS)}.",
            )
        tools = parameters.get("tools", "all")
        if tools not in SETS:
            raise HTTPException(422, f"tools cannot be used: choose from {', '.join(SETS)}.")
        scope = scope_of(
            key, "read", parameters.get("space"), parameters.get("user"), parameters.get("channel")
        )
        role = "write" if key is None else key.role
        return Caller(self._hippo, scope, cast("ToolSet", tools), role)

    async def _started(self) -> "StreamableHTTPSessionManager":
        async with self._starting:
            if self._manager is None:
                manager = await asyncio.to_thread(_manager)
                ready = asyncio.Event()
                self._running = asyncio.create_task(self._run(manager, ready))
                await ready.wait()
                self._manager = manager
        return self._manager

    async def _run(self, manager: "StreamableHTTPSessionManager", ready: asyncio.Event) -> None:
        # The task that entered its task group has to leave it.
        async with manager.run():
            ready.set()
            await self._stop.wait()


def _manager() -> "StreamableHTTPSessionManager":
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from hippocampe.server.mcp.service import make_server

    server = make_server(lambda context: context.request.state.caller)
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True)
