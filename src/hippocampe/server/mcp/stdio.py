"""The server over standard input and output, for a client that starts it."""

import asyncio

from mcp.server.stdio import stdio_server

from hippocampe.server.mcp.caller import Caller
from hippocampe.server.mcp.service import make_server


def serve(caller: Caller) -> None:
    """Serve one client until its input ends. Only the protocol is written to standard output."""
    asyncio.run(_serve(caller))


async def _serve(caller: Caller) -> None:
    server = make_server(lambda context: caller)
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())
