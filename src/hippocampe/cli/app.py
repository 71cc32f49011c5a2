"""The commands put together, what `--help` says, and the entry point."""

import io
import sys
from typing import Annotated

import typer

from hippocampe import __version__
from hippocampe.cli import browse, memories, removal, talk, turns, upkeep

_NOTES = """\
Exit codes: 0 done; 1 it could not be done, or was not confirmed: stderr says
why; 2 the command was not understood; 3 nothing has this id or key, or there
are no facts; 4 verify found a difference; 130 it was interrupted.

With --json the answer is one JSON value on stdout: what the library returns;
a failure is an object with error and kind.

HIPPOCAMPE_FOLDER, HIPPOCAMPE_SPACE, HIPPOCAMPE_USER and HIPPOCAMPE_CHANNEL
stand for the options of these names.
"""

app = typer.Typer(
    name="hippocampe",
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """The long-term memory of a conversational agent."""


for part in (memories, browse, talk, turns, removal, upkeep):
    app.add_typer(part.app)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A Windows code page has no letter for everything that people say.
            stream.reconfigure(errors="replace")
    app(prog_name="hippocampe")
