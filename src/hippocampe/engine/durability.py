"""Make the writes of this process durable in the index, and count recalls in the store."""

import hashlib
from pathlib import Path

from hippocampe.engine import backlog, generations
from hippocampe.engine.context import Context
from hippocampe.store import memories, meta, outbox
from hippocampe.store.store import translated
from hippocampe.system import private


def index_folder(folder: Path, model: str) -> Path:
    """The folder of the index of one embedding model."""
    return folder / "index" / hashlib.blake2b(model.encode(), digest_size=6).hexdigest()


def acknowledged_mark(context: Context) -> Path:
    """The file with the outbox position up to which the index is durable."""
    return index_folder(context.config.folder, context.embedder.model) / "acknowledged"


def flush_index(context: Context) -> None:
    """Make the index durable, then delete the outbox rows up to that position."""
    if context.pending.rows:
        backlog.embed_or_wait(context)
    if context.position.behind:
        generations.replay(context)
    upto = context.position.applied
    if upto <= context.position.flushed or context.position.keep_outbox:
        return
    context.index.flush()
    with context.store.exclusive():
        if context.retired or context.position.keep_outbox:
            return
        with context.store.write(from_reserve=True) as connection:
            outbox.acknowledge(connection, upto)
            meta.put(connection, "acknowledged", str(upto))
        with translated():
            private.replace_text(acknowledged_mark(context), str(upto))
    context.position.flushed = upto


def count_accesses(context: Context) -> None:
    """Write the recall counts to the store."""
    counts = context.accesses.take()
    if not counts:
        return
    try:
        # Not durable: the counts were only in memory until now.
        with context.store.write(durable=False) as connection:
            memories.touch(connection, counts, context.now())
    except BaseException:
        for id, times in counts.items():
            context.accesses.add([id], times)
        raise
