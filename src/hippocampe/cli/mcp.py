"""The command `mcp`: the memory for a client of the Model Context Protocol."""

import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Annotated

import typer

from hippocampe.cli.call import Call, choice, command

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
    """Serve the memory to an MCP client over standard input and output."""
    if tools not in SETS:
        raise typer.BadParameter(f"--tools takes {', '.join(SETS)}, not {tools!r}.")
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    # The SDK logs unreadable messages with their content.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        # The owner of the folder starts while this process loads the SDK.
        joining = pool.submit(lambda: stack.enter_context(call.join()))
        from hippocampe.server.mcp import stdio

        stdio.serve(joining, call.scope, tools)
