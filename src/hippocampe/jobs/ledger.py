"""List the runs of the job ledger, and retry them."""

from collections.abc import Sequence
from typing import get_args

from hippocampe.engine.context import Context
from hippocampe.errors import NotFound
from hippocampe.store import job_runs
from hippocampe.types import JOBS, JobRun, JobState, Scope
from hippocampe.validation import MAX_CHOICES, check_choice, check_id, check_limit, check_list


def jobs(
    context: Context,
    *,
    scope: Scope,
    job: str | None,
    states: Sequence[JobState] | None,
    limit: int,
) -> list[JobRun]:
    """The runs of a space, newest first.

    Raises:
        InvalidInput: The job or a state is unknown, or the limit is out of range.
    """
    check_limit(limit)
    if job is not None:
        check_choice("job", job, JOBS)
    if states is not None:
        for state in check_list("states", states, most=MAX_CHOICES):
            check_choice("state", state, get_args(JobState))
    with context.store.read() as connection:
        return job_runs.find(connection, scope.space, job=job, states=states, limit=limit)


def retry_job(context: Context, id: str, *, scope: Scope) -> JobRun:
    """Make a failed or parked run due now, with all its attempts available again.

    Raises:
        NotFound: The space has no failed or parked run with this id.
    """
    check_id(id)
    with context.store.write() as connection:
        retried = job_runs.retry(connection, scope.space, id, context.now())
        run = job_runs.get(connection, scope.space, id)
    if not retried or run is None:
        raise NotFound(
            f"space {scope.space!r} has no failed or parked run {id!r}: see them with "
            'jobs(states=["failed", "parked"]).'
        )
    return run
