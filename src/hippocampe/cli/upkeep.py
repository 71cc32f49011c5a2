"""Commands on background jobs and on the whole data folder, and the demonstration."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from hippocampe.cells import located
from hippocampe.cli import cells, terminal
from hippocampe.cli.call import OF_A_FOLDER, Call, command, group
from hippocampe.cli.from_verb import Done, add, of_verb, text
from hippocampe.cli.show import upkeep as show
from hippocampe.cli.show.layout import say
from hippocampe.errors import InvalidInput
from hippocampe.types import Reindexed

app = typer.Typer()
PANEL = "Upkeep"
NOT_CLEAN = 4


add(
    app,
    "audit",
    "Show who forgot, erased, restored, or changed settings or keys, newest first.",
    panel=PANEL,
    examples=["audit --since 2026-03-01"],
)


@of_verb(
    app,
    "verify",
    panel=PANEL,
    shared=OF_A_FOLDER,
    overrides={"absent": text("A text that no file may contain", metavar="TEXT")},
    examples=["verify --absent Nadia"],
)
def verify(call: Call, **absent: Any) -> None:
    """Compare store and index, and check database and vectors. Exit code 4 on a difference."""
    found, _ = cells.verified(call, **absent)
    call.answer(found, lambda: show.verification(found))
    if not found.ok:
        raise typer.Exit(NOT_CLEAN)


@command(
    app,
    "reindex",
    panel=PANEL,
    shared=OF_A_FOLDER,
    examples=["reindex", "reindex --embedder openai:text-embedding-3-small"],
)
def reindex(call: Call) -> None:
    """Rebuild the index. With --embedder, switch to that model and embed everything again."""
    every: list[Reindexed] = []
    for cell in cells.cells_of(call):
        # Open with the current embedder: --embedder is the one to switch to.
        opened = cell.open(replace(cell.config, embedder=None))
        with opened as hippo, terminal.progress() as progress:
            every.append(hippo.reindex(embedder=call.embedder, progress=progress))
    done = every[0] if len(every) == 1 else cells.reindexed(every)
    call.answer(done, lambda: show.reindexed(done))


@command(
    app,
    "migrate",
    panel=PANEL,
    shared=OF_A_FOLDER,
    examples=[
        "migrate --to postgresql://me@db/memory --index http://qdrant:6333",
        "migrate --to ~/memory --set database_url=postgresql://me@db/memory --set qdrant_url=http://qdrant:6333",
    ],
)
def migrate(
    call: Call,
    to: Annotated[
        str, typer.Option("--to", help="An empty folder, or an empty PostgreSQL database.")
    ],
    index: Annotated[
        str | None, typer.Option("--index", help="The Qdrant server for the index of the database.")
    ] = None,
) -> None:
    """Copy all data between a folder and PostgreSQL, and compare both. Repeat it if it was interrupted."""
    from hippocampe import migration
    from hippocampe.client import joining

    config = call.config
    target = migration.target_of(config, to, index)
    for each in (config, target):
        if each.database_url is None and located(each.folder) is not None:
            raise InvalidInput(
                f"cannot migrate {each.folder}: it has only a part of the spaces of a folder with cells. Nothing was "
                "copied. Move all spaces to cell 0, with hippocampe move-space, start hippocampe serve --workers 1 "
                "once, and migrate then."
            )
    with terminal.progress() as progress:
        # A process that was started by itself holds the folder for minutes after the last hook or tool.
        done = joining.take_over(config.folder, lambda: migration.migrate(config, target, progress))
    call.answer(done, lambda: show.migrated(done))


@command(app, "scrub", panel=PANEL, shared=OF_A_FOLDER)
def scrub(call: Call) -> None:
    """Remove the last bytes of erased data from PostgreSQL and Qdrant, which block meanwhile."""
    from hippocampe import migration

    with terminal.progress() as progress:
        done = migration.scrub(call.config, progress)
    call.answer(done, lambda: show.scrubbed(done))


@of_verb(
    app,
    "backup",
    panel=PANEL,
    shared=OF_A_FOLDER,
    overrides={
        "target": text(
            "The file to write, or with cells the folder; by default a dated one in the data's backups."
        )
    },
)
def backup(call: Call, **arguments: Any) -> None:
    """Copy the database, or those of all cells to a folder, even while they are in use."""
    if len(cells.cells_of(call)) > 1:
        made = _back_up_cells(call, **arguments)
    else:
        with call.of_verb("backup") as hippo:
            made = hippo.backup(**arguments)
    call.answer({"path": str(made)}, lambda: say("backed up to {path}", path=made))


@command(app, "doctor", panel=PANEL, shared=OF_A_FOLDER)
def doctor(call: Call) -> None:
    """Check the installation, the configuration, the data and its services. Exit code 1 on a problem."""
    from hippocampe.cli import doctor

    call.check_where()
    with terminal.progress() as progress:
        checks = doctor.examine(call, lambda name: progress(name, 0, 0))
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
            help="A new folder, to keep the data.",
            show_default="a temporary folder, removed afterwards",
        ),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Then serve it with the dashboard, until Ctrl-C.")
    ] = False,
) -> None:
    """Load a sample, two months of talk between two friends, and ask it questions.

    With --serve and without a terminal, the server checks that it answers, and stops.
    """
    from hippocampe import demo
    from hippocampe.cli import showroom
    from hippocampe.cli.show.demonstration import demonstration, next_steps
    from hippocampe.client.wire import encode

    with ExitStack() as stack:
        chosen = folder
        if serve and folder is None:
            # Removed when the server stops, not at the end of the demonstration.
            folder = (
                Path(stack.enter_context(TemporaryDirectory(prefix="hippocampe-demo-"))) / "data"
            )
        with terminal.progress() as progress:
            report = demo.run(folder, progress)
        summed = {"answered": report.answered, "median_ms": report.median_ms}
        call.answer(encode(report) | summed, lambda: demonstration(report))
        if not call.json:
            typer.echo(next_steps(chosen))
        if serve and folder is not None:
            served = stack.enter_context(demo.open_after(report, folder))
            showroom.serve(served, kept=chosen is not None)
            terminal.end_line()


def _back_up_cells(call: Call, target: str | None = None, *, overwrite: bool = False) -> Path:
    from hippocampe.hippocampe import back_up_cells

    def copy(folder: Path, file: Path) -> None:
        with replace(call, folder=folder).of_verb("backup") as hippo:
            # A call is repeated if its cell is killed.
            hippo.backup(file, overwrite=True)

    to = None if target is None else Path(target)
    return back_up_cells(call.config.folder, copy, to, overwrite=overwrite)


def _is_filtered(done: Done) -> bool:
    return bool(done.arguments.get("job") or done.arguments.get("states"))


jobs_app = group(
    app, "jobs", "Background jobs of a space: list, run, retry.", panel="Background jobs"
)

add(
    jobs_app,
    "list",
    "Show the runs of background jobs, newest first.",
    lambda done: show.runs(
        done.result, done.timezone, none=say("No run is like that.") if _is_filtered(done) else ""
    ),
    verb="jobs",
    examples=["jobs list --state parked --state failed"],
)
add(
    jobs_app,
    "run",
    "Run all jobs of the space that are due, the scheduled ones included.",
    lambda done: show.runs(done.result, done.timezone, none=say("Nothing is due.")),
    verb="run_jobs",
)
add(
    jobs_app,
    "retry",
    "Make a failed or parked run due now.",
    lambda done: show.runs([done.result], done.timezone),
    verb="retry_job",
    overrides={"id": text("The id of a failed or parked run.")},
    examples=["jobs retry ID"],
)
