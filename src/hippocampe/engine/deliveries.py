"""The outbox of a database that many processes share.

The process that writes a change gives it to the index right after its commit, and later deletes its outbox rows, by
number: rows of other processes may be on their way. Rows that nobody delivers, because a process died or the
index was away, are delivered by any process that sees them.
"""

import time
from collections.abc import Sequence

from sqlalchemy import select

from hippocampe.engine import backlog
from hippocampe.engine.projection import BATCH, stored_points
from hippocampe.engine.writer import Writer
from hippocampe.errors import EmbedderUnavailable
from hippocampe.index import shared
from hippocampe.store import outbox
from hippocampe.store.driver import grouped, parts
from hippocampe.store.outbox import Pending
from hippocampe.store.shown import SHOWN, TABLES
from hippocampe.types import Progress

DURABLE_SECONDS = 10.0
"""Time after which an index server has its writes on disk: Qdrant flushes every 5 seconds."""
STRAY_SECONDS = 15.0
"""Time after which a row that another process wrote counts as undelivered."""
SWEPT = 2_000
"""Rows of other processes that are looked at."""


def settle(writer: Writer, *, all_now: bool = False) -> int:
    """Delete the rows that are durable in the index, and deliver stray ones; return how many were delivered.

    Args:
        all_now: Also deliver rows that another process wrote a moment ago.

    Raises:
        IndexUnavailable: The index is away; the rows stay.
    """
    known, store = writer.deliveries, writer.corpus.store
    now = time.monotonic()
    with store.read() as connection:
        rows = outbox.oldest(connection, SWEPT + len(known.delivered))
    others = [row for row in rows if row.seq not in known.delivered]
    known.seen = {row.seq: known.seen.get(row.seq, now) for row in others}
    stray = {
        row.space
        for row in others
        if all_now or writer.position.behind or known.seen[row.seq] <= now - STRAY_SECONDS
    }
    done = sum(deliver(writer, space) for space in sorted(stray))
    durable = [seq for seq, at in known.delivered.items() if at <= now - DURABLE_SECONDS]
    if durable:
        with store.write(durable=False) as connection:
            outbox.remove(connection, durable)
        for seq in durable:
            known.delivered.pop(seq, None)
    writer.position.behind = False
    if stray:
        writer.corpus.outages.works("indexing")
    return done


def deliver(writer: Writer, space: str) -> int:
    """Give the index the items of the rows of a space, as they are now; return the number of rows.

    Raises:
        IndexUnavailable: The index is away; the rows stay.
    """
    known, done, late = writer.deliveries, 0, set[int]()
    with writer.corpus.store.fenced(space):
        while True:
            rows, unembedded = _deliver(writer, space, {*known.delivered, *late})
            for kind, ids in unembedded.items():
                # A process died before it embedded them; this one embeds its own in the background.
                if lost := [id for id in ids if (kind, id) not in writer.pending.rows]:
                    backlog.embed_ids(writer, kind, lost)
            late.update(row.seq for row in rows if row.item_id in unembedded.get(row.kind, ()))
            done += len(rows)
            if len(rows) < BATCH:
                return done


def _deliver(
    writer: Writer, space: str, without: set[int]
) -> tuple[list[Pending], dict[str, set[str]]]:
    """Deliver the next rows; return them, and the ids by kind that are not embedded yet."""
    corpus, model = writer.corpus, writer.corpus.model
    unembedded: dict[str, set[str]] = {}
    # Meanwhile no writer of the space is between its commit and the index, in any process.
    with corpus.store.exclusive(), corpus.store.write(durable=False) as connection:
        rows = outbox.claim(connection, space, without, BATCH)
        ids: dict[str, set[str]] = {}
        for row in rows:
            ids.setdefault(row.kind, set()).add(row.item_id)
        for kind, some in ids.items():
            waiting = backlog.unembedded(connection, kind, model, len(some), sorted(some))
            unembedded[kind] = {row.id for row in waiting}
            points = list(stored_points(connection, kind, model, sorted(some - unembedded[kind])))
            corpus.index.apply(kind, points, sorted(some - {point.id for point in points}))
    at = time.monotonic()
    writer.deliveries.delivered.update(
        (row.seq, at) for row in rows if row.item_id not in unembedded[row.kind]
    )
    return rows, unembedded


def refill(writer: Writer, progress: Progress | None = None) -> tuple[str, ...]:
    """Give the index all items again, and remove the others, while all processes read and write.

    If it is interrupted, the index stays marked as incomplete, and any process fills it.

    Returns:
        No kinds: a server builds its graphs by itself.

    Raises:
        EmbedderUnavailable: Some items cannot be embedded; the index has the others.
        IndexUnavailable: The index is away.
    """
    index, away = shared(writer.corpus.index), None
    token = index.start_filling()
    try:
        backlog.embed_missing(writer, progress)
    except EmbedderUnavailable as exc:
        away = exc
    _refill(writer, progress)
    while not index.end_filling(token):
        # The index was lost meanwhile.
        token = index.start_filling()
        _refill(writer, progress)
    if away is not None:
        raise away
    return ()


def _refill(writer: Writer, progress: Progress | None) -> None:
    corpus = writer.corpus
    for kind, table in TABLES.items():
        held = set(corpus.index.ids(kind))
        with corpus.store.read() as connection:
            query = select(table.c.space, table.c.id).where(SHOWN[kind])
            stored = [(row.space, row.id) for row in connection.execute(query)]
        held.difference_update(id for _, id in stored)
        done = 0
        for space, ids in grouped(stored).items():
            for some in parts(ids, BATCH):
                _refresh(writer, kind, space, some)
                done += len(some)
                if progress:
                    progress(f"indexing {kind}", done, len(stored))
        for some in parts(sorted(held), BATCH):
            _refresh(writer, kind, None, some)


def _refresh(writer: Writer, kind: str, space: str | None, ids: Sequence[str]) -> None:
    """Give the index the present state of some items."""
    corpus = writer.corpus
    with corpus.store.fenced(space), corpus.store.exclusive():
        with corpus.store.read() as connection:
            points = list(stored_points(connection, kind, corpus.model, ids))
        corpus.index.apply(kind, points, sorted({*ids} - {point.id for point in points}))
