"""Jobs without a language model: hide expired memories, decay importance, prune."""

from collections.abc import Sequence
from datetime import timedelta

from hippocampe.curation.revise import hide
from hippocampe.engine.context import Context
from hippocampe.engine.writer import Writer
from hippocampe.store import job_runs, memories
from hippocampe.store.driver import parts

UNUSED = timedelta(days=90)
"""Time without access after which an unimportant memory is pruned."""
BATCH = 1_000


def decay(context: Context, *, space: str, run_id: str) -> None:
    """Lower the importance of unused memories.

    Importance halves every `decay_half_life_days` without access. Each run counts only the time since the last
    one, so that a restart or a second run lowers nothing twice. Identities, goals, todos and memories with a key
    keep their importance.

    Args:
        space: The space.
        run_id: The run in the ledger, which ends in the transaction of the changes.
    """
    corpus = context.corpus
    half_life = timedelta(days=corpus.settings.of(space).decay_half_life_days)
    if not half_life:
        with corpus.store.write() as connection:
            job_runs.finish(connection, run_id, "decay is off", corpus.store.now())
        return
    context.accesses.flush()
    with context.writer.change() as change:
        now = corpus.store.now()
        last = job_runs.last_ended(change.connection, "decay", space, done=True)
        lowered: dict[str, float] = {}
        for faded in memories.fading(change.connection, space):
            since = max(filter(None, (faded.used_at, last)))
            if since < now:
                lowered[faded.id] = faded.importance * 0.5 ** ((now - since) / half_life)
        memories.set_importance(change.connection, lowered)
        job_runs.finish(change.connection, run_id, f"{len(lowered)} lowered", now)


def prune(context: Context, *, space: str) -> int:
    """Forget memories below the importance `prune_below` that nobody used for 90 days.

    `restore` brings them back. The exceptions are those of `decay`.
    """
    corpus = context.corpus
    least = corpus.settings.of(space).prune_below
    if not least:
        return 0
    context.accesses.flush()
    now = corpus.store.now()
    with corpus.store.read() as connection:
        found = [
            faded.id
            for faded in memories.fading(connection, space)
            if faded.importance < least and faded.used_at < now - UNUSED
        ]
    return sum(_forget(context.writer, space, ids, least) for ids in parts(found, BATCH))


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
