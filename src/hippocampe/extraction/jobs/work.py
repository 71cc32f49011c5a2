"""The work of the jobs of the ledger; those without a language model expire, decay and prune memories."""

from collections.abc import Callable, Sequence
from datetime import timedelta

from hippocampe.curation import forget, settlement
from hippocampe.curation.revise import hide
from hippocampe.engine.context import Context
from hippocampe.engine.writer import Writer
from hippocampe.extraction import compaction, digest, extraction
from hippocampe.store import job_runs, memories
from hippocampe.store.driver import parts
from hippocampe.types import JobRun

UNUSED = timedelta(days=90)
"""Time without access after which an unimportant memory is pruned."""
BATCH = 1_000
Handler = Callable[[Context, JobRun], str | None]
"""Executes a run. Returns a description of its outcome (counts, never content), or None if it ended the run itself, in
the transaction of its writes, because a second execution would repeat them."""


def _extract(context: Context, run: JobRun) -> None:
    extraction.run(context, run.payload["turn"], space=run.space, run_id=run.id)


def _digest(context: Context, run: JobRun) -> str:
    done = digest.run(context, space=run.space)
    return f"{done.messages} messages, {len(done.remembered)} statements, {done.turns} turns"


def _compact(context: Context, run: JobRun) -> str:
    done = compaction.run(context, space=run.space, channel=run.payload["channel"])
    return f"{done.messages} read, {len(done.summaries)} written"


def _settle(context: Context, run: JobRun) -> str:
    return f"{settlement.settle_reviews(context, space=run.space)} settled"


def _expire(context: Context, run: JobRun) -> str:
    return f"{len(forget.hide_expired(context.writer, run.space).ids)} hidden"


def _decay(context: Context, run: JobRun) -> str | None:
    """Lower the importance of unused memories.

    Importance halves every `decay_half_life_days` without access. Each run counts only the time since the last
    one, so that a restart or a second run lowers nothing twice. Identities, goals, todos and memories with a key
    keep their importance.
    """
    half_life = timedelta(days=context.corpus.settings.of(run.space).decay_half_life_days)
    if not half_life:
        return "decay is off"
    context.accesses.flush()
    with context.writer.change() as change:
        now = context.corpus.store.now()
        last = job_runs.last_done(change.connection, "decay", run.space)
        lowered: dict[str, float] = {}
        for faded in memories.fading(change.connection, run.space):
            since = max(filter(None, (faded.used_at, last)))
            if since < now:
                lowered[faded.id] = faded.importance * 0.5 ** ((now - since) / half_life)
        memories.set_importance(change.connection, lowered)
        job_runs.finish(change.connection, run.id, f"{len(lowered)} lowered", now)
    return None


def _prune(context: Context, run: JobRun) -> str:
    """Forget memories below the importance `prune_below` that nobody used for 90 days.

    `restore` brings them back. The exceptions are those of `decay`.
    """
    corpus = context.corpus
    least = corpus.settings.of(run.space).prune_below
    found: list[str] = []
    if least:
        context.accesses.flush()
        now = corpus.store.now()
        with corpus.store.read() as connection:
            found += (
                faded.id
                for faded in memories.fading(connection, run.space)
                if faded.importance < least and faded.used_at < now - UNUSED
            )
    pruned = sum(_forget(context.writer, run.space, ids, least) for ids in parts(found, BATCH))
    return f"{pruned} forgotten"


def _forget(writer: Writer, space: str, ids: Sequence[str], least: float) -> int:
    reason = f"pruned: importance below {least:g}, not used for {UNUSED.days} days"
    with writer.change(from_reserve=True) as change:
        now = writer.corpus.store.now()
        found = memories.get(change.connection, space, ids).values()
        # A memory may have changed since the query.
        pruned = [memory for memory in found if memory.current and memory.updated_at < now - UNUSED]
        for memory in pruned:
            hide(change, memory, now, reason)
    return len(pruned)


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
