"""What the tests of jobs share: runs queued by hand, and handlers that do what a test says."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from hippocampe import Hippocampe, JobRun, Scope
from hippocampe.engine.context import Context
from hippocampe.extraction.jobs.work import JOBS
from hippocampe.store import job_runs, message_rows

HERE = Scope(user="dev", channel="lobby")
Work = Callable[[Context, JobRun], str]


def context_of(hippo: Hippocampe) -> Context:
    return hippo._context  # pyright: ignore[reportPrivateUsage]


def queue(hippo: Hippocampe, job: str, *, space: str = "default", **payload: str) -> str:
    context = context_of(hippo)
    with context.corpus.store.write() as connection:
        return job_runs.add(
            connection, job, space, due_at=context.corpus.store.now(), payload=payload
        )


def run_of(hippo: Hippocampe, id: str) -> JobRun:
    with suppress(StopIteration):
        return next(run for run in hippo.jobs(scope=HERE, limit=1_000) if run.id == id)
    raise AssertionError(f"no run {id}")


class Handler:
    """Counts its runs; raises the errors it was given, one a run, then works."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.ran: list[str] = []

    def __call__(self, context: Context, run: JobRun) -> str:
        self.ran.append(run.id)
        if self.errors:
            raise self.errors.pop(0)
        return "3 counted"


def handle(monkeypatch: pytest.MonkeyPatch, job: str, work: Work) -> None:
    monkeypatch.setitem(JOBS, job, work)


def clear_live(context: Context, run: JobRun) -> str:
    """A digest that forgets what it reads, and ends the run in the same transaction."""
    with context.writer.change() as change:
        heard = [message.id for message in message_rows.live(change.connection, run.space)]
        message_rows.end_live(change.connection, heard)
        for id in heard:
            change.unindex("live", id, run.space)
        job_runs.finish(change.connection, run.id, f"{len(heard)} read", context.corpus.store.now())
    return "not kept"
