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
def mcp(call: Call, *, tools: Annotated[str, choice("--tools", SETS)] = "all") -> None:
    """Serve the memory to an MCP client over standard input and output."""
    if tools not in SETS:
        raise typer.BadParameter(f"--tools takes {', '.join(SETS)}, not {tools!r}.")
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    # The SDK logs unreadable messages with their content.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    # Before the owner of the folder starts: on a slow disk, two processes that load made the client give up.
    from hippocampe.server.mcp import stdio

    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        joining = pool.submit(lambda: stack.enter_context(call.join()))
        stdio.serve(joining, call.scope, tools)
