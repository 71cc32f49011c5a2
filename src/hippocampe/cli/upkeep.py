"""Commands for the data as a whole, and the demonstration."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hippocampe.cli import options, show, terminal
from hippocampe.cli.call import OF_A_FOLDER, Call, command

app = typer.Typer()
PANEL = "Upkeep"
NOT_CLEAN = 4


@command(app, "stats", panel=PANEL)
def stats(call: Call) -> None:
    """Count what the space holds, and say how the index is."""
    with call.read() as hippo:
        found = hippo.stats(scope=call.scope)
    call.answer(found, lambda: show.stats(found))


@command(app, "verify", panel=PANEL, shared=OF_A_FOLDER)
def verify(
    call: Call,
    *,
    absent: Annotated[
        list[str] | None,
        typer.Option("--absent", metavar="TEXT", help="Must be in no file; repeatable."),
    ] = None,
) -> None:
    """Compare store and index, and check the database."""
    with call.read() as hippo, terminal.progress() as progress:
        progress("comparing store and index", 0, 0)
        found = hippo.verify(absent=absent or ())
    call.answer(found, lambda: show.verification(found))
    if not found.ok:
        raise typer.Exit(NOT_CLEAN)


@command(app, "reindex", panel=PANEL, shared=OF_A_FOLDER)
def reindex(call: Call) -> None:
    """Build the index anew; with --embedder, embed everything anew with that one."""
    # The data is opened with the embedder it has: the one named here is the one to change to.
    with call.open(replace(call.config, embedder=None)) as hippo, terminal.progress() as progress:
        done = hippo.reindex(embedder=call.embedder, progress=progress)
    call.answer(done, lambda: show.reindexed(done))


@command(app, "backup", panel=PANEL, shared=OF_A_FOLDER)
def backup(
    call: Call,
    path: Annotated[
        Path | None,
        typer.Argument(help="Where to.", show_default="a dated file in backups in the data folder"),
    ] = None,
    *,
    force: options.Force = False,
) -> None:
    """Copy the database while it is in use."""
    with call.read() as hippo:
        copy = hippo.backup(path, overwrite=force)
    call.answer({"path": str(copy)}, lambda: f"copied to {copy}")


@command(app, "doctor", panel=PANEL, shared=OF_A_FOLDER)
def doctor(call: Call) -> None:
    """Check what Hippocampe needs, from Python to the index; exit 1 if anything is wrong."""
    from hippocampe.cli import doctor

    with terminal.progress() as progress:
        checks = doctor.examine(call.config, lambda name: progress(name, 0, 0))
    call.answer(checks, lambda: show.checks(checks))
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


@command(app, "demo", panel=PANEL, shared=("json",))
def demo(
    call: Call,
    *,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            "-f",
            help="A new folder, to keep the data and try more on it.",
            show_default="a temporary one, removed afterwards",
        ),
    ] = None,
) -> None:
    """Load two months of talk of two friends, then ask about it."""
    from hippocampe import demo

    with terminal.progress() as progress:
        report = demo.run(folder, progress)
    summed = {"answered": report.answered, "median_ms": report.median_ms}
    call.answer(terminal.plain(report) | summed, lambda: show.demonstration(report, folder))
