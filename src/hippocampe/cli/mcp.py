"""The command `mcp`: the memory for a client of the Model Context Protocol."""

import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Annotated

import typer

from hippocampe.cli.call import Call, choice, command, needing_server

app = typer.Typer()
SETS = ("companion", "assistant", "all")


@command(
    app,
    "mcp",
    panel="Server",
    shared=("folder", "space", "user", "channel", "embedder"),
    examples=["mcp", "mcp --tools assistant --space home --user paul"],
)
def mcp(
    call: Call,
    *,
    tools: Annotated[str, choice("--tools", SETS)] = "all",
) -> None:
    """Serve the memory to an MCP client over standard input and output. Needs the extra `server`."""
    if tools not in SETS:
        raise typer.BadParameter(f"--tools takes {', '.join(SETS)}, not {tools!r}.")
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    # The SDK logs unreadable messages with their content.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    with ThreadPoolExecutor(1) as pool:
        # The client waits for its first answer: load the protocol while the owner of the folder starts.
        loading = pool.submit(import_module, "hippocampe.server.mcp.stdio")
        with call.join() as hippo:
            with needing_server("mcp"):
                stdio = loading.result()
            stdio.serve(hippo, call.scope, tools)
