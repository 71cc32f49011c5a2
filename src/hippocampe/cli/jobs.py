"""Commands on background jobs."""

import typer

from hippocampe.cli.call import group
from hippocampe.cli.from_verb import add, text
from hippocampe.cli.show import jobs as show
from hippocampe.cli.show.layout import say

app = typer.Typer()
jobs_app = group(
    app, "jobs", "Background jobs of a space: list, run, retry.", panel="Background jobs"
)

add(
    jobs_app,
    "list",
    "Show the runs of background jobs, newest first.",
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
