"""Notice an index that lacks points, and fill it from the store.

A shared index is filled by one process at a time, and goes on to be filled by another one if that process dies: only
the last step of a filling removes the mark of an incomplete collection.
"""

from sqlalchemy import Connection

from hippocampe.engine import deliveries, projection
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.outages import log
from hippocampe.engine.writer import Writer
from hippocampe.index import shared
from hippocampe.protocols import KINDS, is_point_id
from hippocampe.store import outbox
from hippocampe.types import Progress


def complete(writer: Writer, progress: Progress | None = None, *, compare: bool = False) -> None:
    """Fill a shared index that is new, of another database, or not filled to the end, unless another process does so now.

    Args:
        compare: Also fill an index with too few or too many points. Counting takes seconds for millions of items.

    Raises:
        EmbedderUnavailable: An item is not embedded yet and cannot be; the others are filled in.
        IndexUnavailable: The index is away; the mark stays.
    """
    corpus = writer.corpus
    if not corpus.store.shared or not _is_incomplete(writer, compare):
        return
    with corpus.store.filling() as alone:
        # Another process may have filled it meanwhile.
        if not alone or not _is_incomplete(writer, compare):
            return
        index = shared(corpus.index)
        if index.is_new() and agree_in_number(corpus):
            # A new index of an empty store, or one that an earlier version filled, which marked nothing.
            index.end_filling(index.start_filling(), corpus.store.identity())
            return
        log.warning(
            "the index is new, incomplete or of another database, filling it from the store"
        )
        deliveries.refill(writer, progress)


def _is_incomplete(writer: Writer, compare: bool) -> bool:
    corpus, known = writer.corpus, writer.deliveries
    index = shared(corpus.index)
    if index.is_new():
        return True
    # Once: two databases that share a collection by mistake would fill it in turn for ever.
    if not known.recognised and not index.is_of(corpus.store.identity()):
        return True
    known.recognised = True
    return compare and not agree_in_number(corpus, delivering=True)


def agree_in_number(corpus: Corpus, *, delivering: bool = False) -> bool:
    """Return whether store and index have the same number of items per kind, since some index damage is silent.

    With `delivering`, they may differ by as many items as there are changes on their way.
    """
    # Before the store: changes stay in the outbox for some seconds after they are delivered.
    indexed = {kind: corpus.index.count(kind) for kind in KINDS}
    with corpus.store.read(whole=True) as connection:
        allowed = outbox.pending_count(connection) if delivering else 0
        return any(
            sum(abs(count(connection, kind) - indexed[kind]) for kind in KINDS) <= allowed
            for count in (projection.count_shown, _count_indexable)
        )


def _count_indexable(connection: Connection, kind: str) -> int:
    """The number of items that an index takes: a slow count, which differs only for data with ids that none takes."""
    return sum(map(is_point_id, projection.shown_ids(connection, kind)))
