"""Make the writes of this process durable in the index."""

import hashlib
from pathlib import Path

from hippocampe.engine import backlog, deliveries, generations
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.writer import Writer
from hippocampe.store import meta, outbox
from hippocampe.store.translation import translated
from hippocampe.system import private


def index_folder(folder: Path, model: str) -> Path:
    """The folder of the index of one embedding model."""
    return folder / "index" / hashlib.blake2b(model.encode(), digest_size=6).hexdigest()


def acknowledged_mark(corpus: Corpus) -> Path:
    """The file with the outbox position up to which the index is durable."""
    return index_folder(corpus.config.folder, corpus.model) / "acknowledged"


def flush_index(writer: Writer) -> None:
    """Make the index durable, then delete the outbox rows up to that position."""
    corpus = writer.corpus
    if writer.pending.rows:
        backlog.embed_or_wait(writer)
    if corpus.store.shared:
        deliveries.settle(writer)
        return
    if writer.position.behind:
        generations.replay(writer)
    upto = writer.position.applied
    if upto <= writer.position.flushed or writer.position.keep_outbox:
        return
    corpus.index.flush()
    with corpus.store.exclusive():
        if corpus.retired or writer.position.keep_outbox:
            return
        with corpus.store.write(from_reserve=True) as connection:
            outbox.acknowledge(connection, upto)
            meta.put(connection, "acknowledged", str(upto))
        with translated():
            private.replace_text(acknowledged_mark(corpus), str(upto))
    writer.position.flushed = upto
