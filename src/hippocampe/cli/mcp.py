"""The command mcp: the memory for a client of the Model Context Protocol."""

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from hippocampe.cli.call import Call, command
from hippocampe.errors import InvalidInput

if TYPE_CHECKING:
    from hippocampe.server.mcp.caller import Verbs

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
    tools: Annotated[
        str,
        typer.Option("--tools", help=", ".join(SETS), autocompletion=lambda: list(SETS)),
    ] = "all",
) -> None:
    """Serve the memory to an MCP client over standard input and output. Needs the extra `server`."""
    if tools not in SETS:
        raise typer.BadParameter(f"--tools takes {', '.join(SETS)}, not {tools!r}.")
    try:
        from hippocampe.server.mcp import caller, stdio
    except ModuleNotFoundError as exc:
        raise InvalidInput(
            f"mcp needs the package {exc.name}: install it with: pip install 'hippocampe[server]'."
        ) from exc
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    with open_door(call) as door:
        stdio.serve(caller.Caller(door, call.scope, tools))


@contextmanager
def open_door(call: Call) -> "Generator[Verbs]":
    """The memory of the folder."""
    with call.open(replace(call.config, background=True)) as hippo:
        yield hippo
