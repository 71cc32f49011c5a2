"""What each job of the ledger does."""

from collections.abc import Callable

from hippocampe.curation import forget
from hippocampe.distillation import compaction, digest, extraction, settlement
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


def _extract(context: Context, run: JobRun) -> str:
    made = extraction.extract(context, run.payload["turn"], space=run.space, run_id=run.id)
    return f"{len(made.remembered)} remembered"


def _digest(context: Context, run: JobRun) -> str:
    made = digest.digest(context, space=run.space, run_id=run.id)
    return f"{made.messages} read, {len(made.remembered)} remembered, {made.turns} turns"


def _compact(context: Context, run: JobRun) -> str:
    channel = run.payload["channel"]
    made = compaction.compact(context, space=run.space, channel=channel, run_id=run.id)
    return f"{made.messages} summarised"


def _settle(context: Context, run: JobRun) -> str:
    return f"{settlement.settle_reviews(context, space=run.space, run_id=run.id)} settled"


JOBS: dict[str, Handler] = {
    "extract": _extract,
    "digest": _digest,
    "compact": _compact,
    "settle": _settle,
    "expire": _expire,
    "decay": _decay,
    "prune": _prune,
}
"""The handlers by the name of their job; runs of other jobs wait."""
