"""What makes the writes of this process durable in the index, and counts recalls in the store."""

import hashlib
from pathlib import Path

from hippocampe.engine import backlog, generations
from hippocampe.engine.context import Context
from hippocampe.store import memories, meta, outbox
from hippocampe.store.store import translated


def index_folder(folder: Path, model: str) -> Path:
    """The folder of the index of one embedding model."""
    return folder / "index" / hashlib.blake2b(model.encode(), digest_size=6).hexdigest()


def acknowledged_mark(context: Context) -> Path:
    """The file that says up to which outbox position the index is durable."""
    return index_folder(context.config.folder, context.embedder.model) / "acknowledged"


def flush_index(context: Context) -> None:
    """Make the index durable, then drop the outbox rows that this covers."""
    if context.waiting:
        backlog.embed_or_wait(context)
    if context.behind:
        generations.replay(context)
    upto = context.applied
    if upto <= context.flushed or context.keep_outbox:
        return
    context.index.flush()
    with context.store.exclusive():
        if context.retired or context.keep_outbox:
            return
        with context.store.write() as connection:
            outbox.acknowledge(connection, upto)
            meta.put(connection, "acknowledged", str(upto))
        with translated():
            acknowledged_mark(context).write_text(str(upto))
    context.flushed = upto


def count_accesses(context: Context) -> None:
    """Write the recalls counted in memory to the store."""
    with context.accesses_lock:
        counts = dict(context.accesses)
        context.accesses.clear()
    if not counts:
        return
    try:
        # They waited in memory until now: a power cut may as well take them a moment later.
        with context.store.write(durable=False) as connection:
            memories.touch(connection, counts, context.now())
    except BaseException:
        context.note_access(id for id, more in counts.items() for _ in range(more))
        raise
