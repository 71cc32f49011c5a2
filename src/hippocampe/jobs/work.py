"""What each job of the ledger does."""

from collections.abc import Callable

from hippocampe.curation import forget
from hippocampe.engine.context import Context
from hippocampe.jobs import housekeeping
from hippocampe.types import JobRun

Handler = Callable[[Context, JobRun], str]
"""Does the work of a run, and returns what it did: counts, never content. A handler that ends the run
itself, in the transaction of its writes, has the last word on the outcome."""


def _expire(context: Context, run: JobRun) -> str:
    return f"{len(forget.expire(context, space=run.space).ids)} hidden"


def _decay(context: Context, run: JobRun) -> str:
    return f"{housekeeping.decay(context, space=run.space, run_id=run.id)} lowered"


def _prune(context: Context, run: JobRun) -> str:
    return f"{housekeeping.prune(context, space=run.space)} forgotten"


JOBS: dict[str, Handler] = {"expire": _expire, "decay": _decay, "prune": _prune}
"""The handlers by the name of their job; runs of other jobs wait."""
