"""The handlers of the jobs of the ledger."""

from collections.abc import Callable

from hippocampe.curation import forget, settlement
from hippocampe.engine.context import Context
from hippocampe.extraction import compaction, digest, extraction
from hippocampe.extraction.jobs import housekeeping
from hippocampe.types import JobRun

Handler = Callable[[Context, JobRun], str | None]
"""Executes a run. Returns a description of its outcome (counts, never content), or None if it ended the run
itself, in the transaction of its writes."""


def _expire(context: Context, run: JobRun) -> str:
    return f"{len(forget.hide_expired(context.writer, run.space).ids)} hidden"


def _decay(context: Context, run: JobRun) -> None:
    housekeeping.decay(context, space=run.space, run_id=run.id)


def _prune(context: Context, run: JobRun) -> str:
    return f"{housekeeping.prune(context, space=run.space)} forgotten"


def _extract(context: Context, run: JobRun) -> None:
    extraction.run(context, run.payload["turn"], space=run.space, run_id=run.id)


def _digest(context: Context, run: JobRun) -> None:
    digest.run(context, space=run.space, run_id=run.id)


def _compact(context: Context, run: JobRun) -> None:
    channel = run.payload["channel"]
    compaction.run(context, space=run.space, channel=channel, run_id=run.id)


def _settle(context: Context, run: JobRun) -> None:
    settlement.settle_reviews(context, space=run.space, run_id=run.id)


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
