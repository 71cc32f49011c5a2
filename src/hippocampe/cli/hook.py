"""The command `hook`, for coding agents. The entry point runs it without loading this module."""

import os

import typer

from hippocampe.cli.call import Call, command
from hippocampe.cli.help import Group
from hippocampe.client.hooks.events import answer
from hippocampe.client.hooks.options import Options

app = typer.Typer()
hook_app = typer.Typer(
    help="Answer the hooks of a coding agent; each reads JSON on standard input.", cls=Group
)
app.add_typer(hook_app, name="hook", rich_help_panel="Server")


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
