"""Commands of the server: `serve`, its keys, and the programs that clients start: `mcp` and `hook`."""

import logging
import os
import socket
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Annotated

import typer

from hippocampe.cells import MAX_CELLS, Divided
from hippocampe.cli import terminal
from hippocampe.cli.call import Call, choice, command, group
from hippocampe.cli.from_verb import add, text
from hippocampe.cli.help import Group
from hippocampe.cli.show import upkeep as show
from hippocampe.cli.show.layout import say
from hippocampe.client.hooks.events import answer
from hippocampe.client.hooks.options import Options
from hippocampe.errors import InvalidInput
from hippocampe.system.local_socket import is_held

app = typer.Typer()
PANEL = "Server"
keys_app = group(app, "keys", "Keys of the server: list, create, revoke.", PANEL)
PORT = 8765
FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")


@command(
    app,
    "serve",
    panel=PANEL,
    shared=("folder", "embedder"),
    examples=[
        "serve",
        "serve --require-key",
        "serve --host 0.0.0.0 --port 80",
        "serve --workers 4",
    ],
)
def serve(
    call: Call,
    *,
    host: Annotated[
        str, typer.Option("--host", help="The address; any but loopback needs a key.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="The port; 0 chooses a free one.")
    ] = PORT,
    require_key: Annotated[
        bool,
        typer.Option(
            "--require-key",
            help="Require a key on loopback too, under any host name: for a server behind a reverse proxy.",
        ),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            max=MAX_CELLS,
            help="Processes, each with a part of the spaces in a folder of its own.",
            show_default="as many as the folder has, or 1",
        ),
    ] = None,
    log_format: Annotated[str, choice("--log-format", FORMATS)] = "text",
    log_level: Annotated[
        str, choice("--log-level", LEVELS, "{}; info logs each request, without its content.")
    ] = "warning",
) -> None:
    """Serve the memory over HTTP until Ctrl-C."""
    from hippocampe.server import serving
    from hippocampe.server.http import logs

    logs.install(log_format, log_level)
    config = call.lasting_config
    divided = Divided(config.folder)
    there = config.database_url is None and divided.exists
    count = workers or (divided.read().count if there else 1)

    def started(address: str) -> None:
        terminal.out(say("Hippocampe serves at {address}\nCtrl-C stops it.", address=address))

    with _place(call, host, port) as listener:
        if count > 1:
            from hippocampe.server.cells import serving as cells

            cells.serve(
                config,
                count,
                listener,
                started=started,
                require_key=require_key,
                log_format=log_format,
                log_level=log_level,
            )
        else:
            if there:
                from hippocampe.hippocampe import divide

                config = divide(config, count)
            with call.own(config) as hippo:
                serving.serve(hippo, listener, started=started, require_key=require_key)
    terminal.end_line()


@contextmanager
def _place(call: Call, host: str, port: int) -> Generator[socket.socket]:
    """The socket of a server, taken before the folder is opened, which creates it or upgrades its tables.

    Raises:
        InvalidInput: The address cannot be used.
        FolderInUse: The same, and another process serves the folder, so that another address would not help.
    """
    from hippocampe.server import serving

    with ExitStack() as held:
        try:
            listener = held.enter_context(serving.bound(host, port))
        except InvalidInput:
            if is_held(os.fspath(call.config.folder)):
                with call.own(call.config):
                    pass
            raise
        yield listener


@command(app, "move-space", panel=PANEL, shared=("folder", "json"), examples=["move-space home 1"])
def move_space(
    call: Call,
    *,
    space: Annotated[str, typer.Argument(help="The space.", show_default=False)],
    cell: Annotated[int, typer.Argument(min=0, help="The number of the cell.", show_default=False)],
) -> None:
    """Move a space to another cell of a server with --workers. Reading goes on; writes wait a moment."""
    from hippocampe.server.cells import serving

    moved = serving.move(call.config.folder, space, cell)
    call.answer(moved, lambda: show.moved(moved))


@command(app, "spread-spaces", panel=PANEL, shared=("folder", "json"))
def spread_spaces(call: Call) -> None:
    """Move each space to the cell that its name hashes to: once after a folder was divided or cells were added."""
    from hippocampe.server.cells import serving

    moved: list[serving.Moved] = []
    with terminal.progress() as progress:
        while some := serving.spread(call.config.folder):
            moved += some
            progress("moving spaces", len(moved), 0)
    call.answer(moved, lambda: show.spread(moved))


@command(keys_app, "list", shared=("folder", "embedder", "json"))
def list_keys(call: Call) -> None:
    """Show the keys of all spaces, newest first. Their text is not stored."""
    with call.read() as hippo:
        found = hippo.keys()
    call.answer(found, lambda: show.keys(found, call.config.timezone))
    if not found and not call.json:
        from hippocampe.system.command_line import command_line

        folder = () if call.folder is None else ("--folder", str(call.folder.absolute()))
        # Not wrapped, so that it can be copied.
        command = command_line("keys", "create", "--role", "admin", *folder)
        typer.echo(say("Make one with: {command}", command=command))


add(
    keys_app,
    "create",
    "Make a key that opens the space of --space, and print it. It cannot be shown again.",
    lambda done: show.made(done.result),
    verb="create_key",
    overrides={"role": text("", default="read")},
    examples=["keys create --space home --role write --label phone"],
)
add(
    keys_app,
    "revoke",
    "Revoke a key: it is refused from now on.",
    lambda done: show.keys([done.result], done.timezone),
    verb="revoke_key",
    shared=("folder", "embedder", "json"),
    overrides={"id": text("The id of a key, as list prints it.")},
    examples=["keys revoke ID"],
)


hook_app = typer.Typer(
    help="Answer the hooks of a coding agent; each reads JSON on standard input.", cls=Group
)
app.add_typer(hook_app, name="hook", rich_help_panel=PANEL)


def _add(event: str, help: str, *examples: str) -> None:
    def step(call: Call) -> None:
        folder = None if call.folder is None else os.fspath(call.folder)
        place = {"space": call.space, "user": call.user, "channel": call.channel}
        answer(event, Options({"folder": folder, **place}))

    step.__doc__ = help
    shared = ("folder", "space", "user", "channel")
    command(hook_app, event, shared=shared, examples=examples)(step)


_add(
    "prompt-submit",
    "Give the agent what memory knows about a prompt.",
    "hook prompt-submit --space work",
)
_add(
    "session-start",
    "Give the agent the user's identity, what is important and what is recent; start a server if none runs.",
)
_add("stop", "Store the last exchange of the agent's transcript, once.")


SETS = ("companion", "assistant", "all")


@command(
    app,
    "mcp",
    panel=PANEL,
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
