"""Commands of the companion: chat, the worker, and what it knows about itself."""

import logging
import os
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hippocampe.cells import home_of
from hippocampe.cli import cells, terminal
from hippocampe.cli.call import URL, Call, choice, command, group
from hippocampe.cli.show import companion as show
from hippocampe.system.environment import variable
from hippocampe.system.login import login_name

if TYPE_CHECKING:
    from hippocampe.hippocampe import Hippocampe

app = typer.Typer()
PANEL = "Companion"
self_app = group(app, "self", "What the companion knows about itself: list, load.", PANEL)
CHANNEL = "chat"
COMPANION_MODES = ("agentic", "hybrid", "systematic")


@command(
    app,
    "chat",
    panel=PANEL,
    shared=("folder", "embedder", "space", "user", "channel"),
    examples=["chat", "chat --user nina --space work --mode agentic"],
)
def chat(
    call: Call,
    *,
    mode: Annotated[
        str | None, choice("--mode", COMPANION_MODES, "Set companion_mode of the space: {}.")
    ] = None,
    alone: Annotated[
        bool, typer.Option("--without-model", help="Try memory alone, without a language model.")
    ] = False,
) -> None:
    """Talk with the companion, or without a language model with memory alone."""
    from hippocampe.cli.chat import Chat
    from hippocampe.cli.show import chat as show
    from hippocampe.cli.show.layout import reader
    from hippocampe.model.connection import connect

    config = call.lasting_config
    model = None
    if config.model is not None and not alone:
        model = connect(config.model, config.fallback_model)
    elif not alone:
        terminal.out(show.without_model(reader()), stderr=True)
        if not sys.stdin.isatty():
            # A program waits for answers, and would get none.
            raise typer.Exit(1)
    # Warnings of background jobs would mix with the conversation; `jobs` shows them.
    logging.getLogger("hippocampe").addHandler(logging.NullHandler())
    speaker = replace(call, user=call.user or login_name(), channel=call.channel or CHANNEL)
    with call.join() as hippo:
        if mode is not None:
            hippo.update_settings(scope=speaker.scope, companion_mode=mode)
        Chat(hippo, model, speaker.scope).run()


@command(app, "worker", panel=PANEL, shared=("folder", "embedder"))
def worker(call: Call) -> None:
    """Answer requests as JSON lines on standard input and output, for hosts in other languages."""
    import asyncio

    from hippocampe.companion.worker import serve

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    # Only the protocol is written to standard output; what a library prints goes to stderr.
    answers = os.dup(1)
    os.dup2(2, 1)
    config = call.config
    root = config.folder.absolute()
    elsewhere = variable(URL) or config.database_url is not None
    with ExitStack() as stack:
        # All now: an error ends the command, and the first request of a space does not wait.
        memories = {
            cell.config.folder.absolute(): stack.enter_context(cell.join())
            for cell in cells.cells_of(call)
        }

        def home(space: str) -> Path:
            # At each request: a space may move, and cells may be added.
            return root if elsewhere else home_of(root, space)

        def join(folder: Path) -> "Hippocampe":
            return stack.enter_context(replace(call, folder=folder).join())

        asyncio.run(serve(memories, home, join, 0, answers))


@command(
    self_app, "list", examples=["self list", "self list --days 14", "self list --weeks 8 --json"]
)
def list_self(
    call: Call,
    *,
    days: Annotated[
        int, typer.Option("--days", min=0, max=366, help="Also count them over this many days.")
    ] = 0,
    weeks: Annotated[
        int, typer.Option("--weeks", min=0, max=366, help="Also count them over this many weeks.")
    ] = 0,
) -> None:
    """Show the statements of self and goal by category, with their counts."""
    from hippocampe.companion import self_knowledge

    if days and weeks:
        raise typer.BadParameter("give either --days or --weeks.")
    with call.read() as hippo:
        statements = self_knowledge.own_statements(hippo, space=call.space, state="all")
        timezone = hippo.settings(scope=call.scope).timezone
        now = hippo.now()
    groups = self_knowledge.by_category(each for each in statements if each.current)
    times = self_knowledge.period_ends(now, timezone, "week" if weeks else "day", weeks or days)
    counts = self_knowledge.counts_over_time(statements, times) if times else {}
    call.answer(
        {
            "statements": {"/".join(kind): group for kind, group in groups.items()},
            "times": times,
            "counts": {"/".join(kind): each for kind, each in counts.items()},
        },
        lambda: show.own_statements(groups, times, counts, timezone),
    )


@command(self_app, "load", examples=["self load self.toml"])
def load(
    call: Call,
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="A TOML file with [[self]] and [[goal]].")
    ],
) -> None:
    """Plant the first statements of self and goal. A space can be seeded once."""
    from hippocampe.companion import seed

    with call.open() as hippo:
        done = seed.load(hippo, path, space=call.space)
    call.answer(done, lambda: show.seeded(done, call.config.timezone))
