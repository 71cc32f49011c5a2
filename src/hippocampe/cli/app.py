"""The program: its commands, `--help` and the entry point."""

import io
import os
import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from hippocampe import __version__
from hippocampe.cli import (
    companion,
    memories,
    removal,
    server,
    talk,
    turns,
    upkeep,
)
from hippocampe.cli.from_verb import declared
from hippocampe.cli.help import BREAK, Program

_NOTES = BREAK.join(
    (
        'First steps: hippocampe demo; hippocampe remember "…"; hippocampe recall "…".',
        "Exit codes: 0 success; 1 failed or not confirmed, see stderr; 2 invalid command line; 3 no such id or key; "
        "4 verify found a difference; 5 another process holds the folder; 130 interrupted.",
        "--json prints one JSON value on stdout: the result of the library, or an object with error and kind.",
        "HIPPOCAMPE_URL and HIPPOCAMPE_KEY make every command a client of that server. HIPPOCAMPE_FOLDER, "
        "HIPPOCAMPE_SPACE, HIPPOCAMPE_USER and HIPPOCAMPE_CHANNEL set the defaults of the options with these names.",
    )
)

DAILY = ("remember", "recall", "list", "forget", "chat", "import", "serve", "doctor")
"""The commands that `--help` shows first."""


class DailyFirst(Program):
    """A group whose help begins with the daily commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for each in self.get_params(ctx):
            # Typer loads Pydantic to check a flag that has no default.
            each.default = each.default or False
        return super().parse_args(ctx, args)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name in DAILY:
            vars(self.commands[name])["rich_help_panel"] = "Every day"

    def list_commands(self, ctx: Any) -> list[str]:
        return [*DAILY, *(name for name in super().list_commands(ctx) if name not in DAILY)]


app = typer.Typer(
    name="hippocampe",
    cls=DailyFirst,
    epilog=_NOTES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def hippocampe(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The long-term memory of a conversational agent."""


for part in (memories, talk, turns, companion, server, removal, upkeep):
    app.add_typer(part.app)
app.add_typer(declared())


def main() -> None:
    """Run the command line."""
    if cast("object", sys.stdout) is None:
        # Closed by the caller.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Windows code pages cannot encode every character.
            stream.reconfigure(errors="replace")
    # Pydantic AI prints a banner to terminals.
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    app(prog_name="hippocampe")
