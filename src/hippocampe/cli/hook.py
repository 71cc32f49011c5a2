"""The command `hook`, for coding agents. The entry point runs it without loading this module."""

import os

import typer

from hippocampe.cli.call import Call, command
from hippocampe.client.hooks.events import answer
from hippocampe.client.hooks.options import Options

app = typer.Typer()
hook_app = typer.Typer(
    help="Answer the hooks of a coding agent; each reads JSON on standard input."
)
app.add_typer(hook_app, name="hook", rich_help_panel="Server")
SHARED = ("folder", "space", "user", "channel")


@command(hook_app, "prompt-submit", shared=SHARED, examples=["hook prompt-submit --space work"])
def prompt_submit(call: Call) -> None:
    """Give the agent what memory knows about a prompt."""
    _answer("prompt-submit", call)


@command(hook_app, "session-start", shared=SHARED)
def session_start(call: Call) -> None:
    """Give the agent the user's identity, what is important and what is recent; start a server if none runs."""
    _answer("session-start", call)


@command(hook_app, "stop", shared=SHARED)
def stop(call: Call) -> None:
    """Store the last exchange of the agent's transcript, once."""
    _answer("stop", call)


def _answer(event: str, call: Call) -> None:
    folder = None if call.folder is None else os.fspath(call.folder)
    answer(
        event,
        Options(
            {"folder": folder, "space": call.space, "user": call.user, "channel": call.channel}
        ),
    )
