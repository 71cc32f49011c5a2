"""List the runs of the job ledger, and retry them."""

from collections.abc import Sequence
from typing import get_args

from hippocampe.errors import NotFound
from hippocampe.store import job_runs
from hippocampe.store.store import Store
from hippocampe.types import JOBS, JobRun, JobState, Scope
from hippocampe.validation import MAX_CHOICES, check_choice, check_id, check_limit, check_list


def jobs(
    store: Store,
    *,
    scope: Scope,
    job: str | None = None,
    states: Sequence[JobState] | None = None,
    limit: int = 50,
) -> list[JobRun]:
    """The runs of background jobs of the space, newest first; done ones are kept for 30 days.

    Args:
        scope: The space.
        job: Only runs of this job: `extract`, `digest`, `compact`, `settle`, `expire`, `decay` or
            `prune`.
        states: Only runs in these states: `waiting`, `running`, `done`, `failed`, `parked`.
        limit: At most this many, 1 to 1,000.

    Raises:
        InvalidInput: An argument is invalid.
    """
    check_limit(limit)
    if job is not None:
        check_choice("job", job, JOBS)
    if states is not None:
        for state in check_list("states", states, most=MAX_CHOICES):
            check_choice("state", state, get_args(JobState))
    with store.read() as connection:
        return job_runs.find(connection, scope.space, job=job, states=states, limit=limit)


def retry_job(store: Store, id: str, *, scope: Scope) -> JobRun:
    """Make a failed or parked run due now, with all its attempts available again.

    Raises:
        NotFound: The space has no failed or parked run with this id.
    """
    check_id(id)
    with store.write() as connection:
        retried = job_runs.retry(connection, scope.space, id, store.now())
        run = job_runs.get(connection, scope.space, id)
    if not retried or run is None:
        raise NotFound(
            f"space {scope.space!r} has no failed or parked run {id!r}: take ids from the list of jobs."
        )
    return run
