"""Commands on background jobs and the costs of language models."""

from typing import Annotated, cast, get_args

import typer

from hippocampe.cli import options
from hippocampe.cli.call import Call, ListFirst, command
from hippocampe.cli.show import jobs as show
from hippocampe.types import JOBS, JobState

app = typer.Typer()
jobs_app = typer.Typer(help="Background jobs of a space: list, run, retry.", cls=ListFirst)
STATES: tuple[str, ...] = get_args(JobState)
PANEL = "Background jobs"
app.add_typer(jobs_app, name="jobs", rich_help_panel=PANEL)


@command(jobs_app, "list", examples=["jobs list --state parked --state failed"])
def list_jobs(
    call: Call,
    *,
    job: Annotated[
        str | None,
        typer.Option("--job", help=", ".join(JOBS), autocompletion=lambda: list(JOBS)),
    ] = None,
    states: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            help=f"Only runs in this state; repeatable: {', '.join(STATES)}.",
            autocompletion=lambda: list(STATES),
        ),
    ] = None,
    limit: options.Limit = 50,
) -> None:
    """Show the runs of background jobs, newest first."""
    with call.read() as hippo:
        found = hippo.jobs(
            scope=call.scope,
            job=job,
            states=cast("list[JobState]", states) if states else None,
            limit=limit,
        )
    call.answer(found, lambda: show.runs(found, call.config.timezone))


@command(jobs_app, "run")
def run_jobs(call: Call) -> None:
    """Run all jobs of the space that are due, the scheduled ones included."""
    with call.open() as hippo:
        ended = hippo.run_jobs(scope=call.scope)
    call.answer(ended, lambda: show.runs(ended, call.config.timezone, none="Nothing is due."))


@command(jobs_app, "retry", examples=["jobs retry ID"])
def retry_job(
    call: Call,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a failed or parked run.")],
) -> None:
    """Make a failed or parked run due now."""
    with call.open() as hippo:
        run = hippo.retry_job(id, scope=call.scope)
    call.answer(run, lambda: show.runs([run], call.config.timezone))


@command(app, "usage", panel=PANEL)
def usage(call: Call, *, limit: options.Limit = 100, since: options.Since = None) -> None:
    """Show the calls of language models with their tokens and prices, newest first."""
    with call.read() as hippo:
        found = hippo.usage(scope=call.scope, since=call.moment(since), limit=limit)
    call.answer(found, lambda: show.usage(found, call.config.timezone))
