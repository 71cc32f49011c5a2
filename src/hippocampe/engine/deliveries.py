"""The book of the outbox: which changes the index has, and which it has durably.

The process that writes a change gives it to the index right after its commit, and deletes its outbox rows once the
index has them on disk. Rows that nobody gave, because a process died or the index was away, are given by any process
that sees them: each gives the present state of an item, so that it may be given twice, in any order.
"""

import hashlib
import shutil
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from sqlalchemy import select

from hippocampe.engine import backlog
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.projection import BATCH, stored_points
from hippocampe.engine.writer import Writer
from hippocampe.errors import EmbedderUnavailable
from hippocampe.index import shared
from hippocampe.store import meta, outbox
from hippocampe.store.driver import grouped, parts
from hippocampe.store.outbox import Pending
from hippocampe.store.shown import SHOWN, TABLES
from hippocampe.store.translation import translated
from hippocampe.system import private
from hippocampe.types import Progress

ACKNOWLEDGED = "acknowledged"
"""The `meta` entry, and the file beside an index of this process, with the last number that the index has durably: the
database or the index of another moment has another one."""
STRAY_SECONDS = 15.0
"""Time after which a row that another process wrote counts as undelivered."""


def index_folder(folder: Path, model: str) -> Path:
    """The folder of the index of one embedding model."""
    return folder / "index" / hashlib.blake2b(model.encode(), digest_size=6).hexdigest()


def remove_index(folder: Path) -> None:
    """Remove the folder of an index, at once: a process that still writes in it would keep the next index from its place."""
    doomed = folder.with_name(f"{folder.name}-{token_hex(4)}")
    with suppress(OSError):
        folder.rename(doomed)
    for each in (folder, doomed):
        # The next opening removes what is left.
        shutil.rmtree(each, ignore_errors=True)


def acknowledged_mark(corpus: Corpus) -> Path:
    """The file of `ACKNOWLEDGED`."""
    return index_folder(corpus.config.folder, corpus.model) / ACKNOWLEDGED


def settle(writer: Writer, *, all_now: bool = False, wait: bool = True) -> None:
    """Give the index what it missed or what is pending, make it durable, and delete the outbox rows that it has durably.

    Args:
        all_now: Also give what another process wrote a moment ago.
        wait: Whether to wait for other processes that write; else, the changes of their spaces are left for later.

    Raises:
        IndexUnavailable: The index fails; the rows stay.
        StoreFull: The disk has too little free space; likewise.
    """
    with writer.corpus.store.fenced(None):
        replay(writer, all_now=all_now, wait=wait)
        if writer.pending.rows:
            backlog.embed_or_wait(writer)
        if delivered := writer.deliveries.delivered:
            upto = writer.corpus.index.flush()
            if durable := [seq for seq, at in [*delivered.items()] if at <= upto]:
                acknowledge(writer, durable)


def acknowledge(writer: Writer, durable: Collection[int]) -> None:
    """Delete the outbox rows that are durable in the index, and mark it as the index of this database."""
    corpus, known = writer.corpus, writer.deliveries
    own = not corpus.store.shared
    with corpus.store.alone():
        if corpus.retired or known.kept:
            return
        with corpus.store.write(durable=own, from_reserve=True) as connection:
            outbox.remove(connection, durable)
            upto = str(max(int(meta.get(connection, ACKNOWLEDGED) or 0), *durable, 0))
            if own:
                meta.put(connection, ACKNOWLEDGED, upto)
        if own:
            with translated():
                private.replace_text(acknowledged_mark(corpus), upto)
        for seq in durable:
            known.delivered.pop(seq, None)


def replay(writer: Writer, *, all_now: bool = False, wait: bool = True) -> None:
    """Give the index the changes that nobody gave it, see `settle`. Items without a vector, because a process died
    before it embedded them, are pending from now on."""
    known, store = writer.deliveries, writer.corpus.store
    if not (all_now or known.behind or store.shared):
        return
    # Before the rows are read: a writer may miss the index meanwhile.
    behind, known.behind = known.behind, False
    try:
        missed, left = _replay(writer, all_now or behind, wait)
    except BaseException:
        known.behind |= behind
        raise
    known.behind |= behind and left
    if (missed or behind) and not left:
        writer.corpus.outages.works("indexing")


def _replay(writer: Writer, all_now: bool, wait: bool) -> tuple[bool, bool]:
    """Return whether there were such changes, and whether some are left."""
    known, store = writer.deliveries, writer.corpus.store
    now, seen, after, missed, left = time.monotonic(), dict[int, float](), 0, False, False
    while True:
        with store.read() as connection:
            rows = outbox.pending(connection, after, BATCH)
        others = [row for row in rows if row.seq not in known.delivered]
        seen |= {row.seq: known.seen.get(row.seq, now) for row in others}
        stray = [row for row in others if all_now or seen[row.seq] <= now - STRAY_SECONDS]
        spaces = grouped((row.space if store.shared else None, row) for row in stray)
        for space, some in spaces.items():
            left |= not _deliver(writer, space, some, wait)
        missed |= bool(stray)
        if len(rows) < BATCH:
            known.seen = seen
            return missed, left
        after = rows[-1].seq


def _deliver(writer: Writer, space: str | None, rows: Sequence[Pending], wait: bool) -> bool:
    """Give the index the items of some rows of a space, as they are now; return whether it was given them."""
    corpus, known, waiting = writer.corpus, writer.deliveries, writer.pending.rows
    # Meanwhile no writer of the space is between its commit and the index, in any process.
    with (
        corpus.store.fenced(space),
        corpus.store.exclusive(wait=wait) as alone,
        corpus.store.read() as connection,
    ):
        if not alone:
            return False
        for kind, some in grouped((row.kind, row) for row in rows).items():
            ids = {row.item_id for row in some}
            without = backlog.unembedded(connection, kind, corpus.model, len(ids), sorted(ids))
            unembedded = {row.id for row in without}
            points = list(stored_points(connection, kind, corpus.model, ids - unembedded))
            corpus.index.apply(kind, points, sorted(ids - {point.id for point in points}))
            at = time.monotonic()
            for row in some:
                if row.item_id in unembedded:
                    waiting.setdefault((kind, row.item_id), row)
                if waiting.get((kind, row.item_id)) != row:
                    known.delivered[row.seq] = at
    return True


def refill(writer: Writer, progress: Progress | None = None) -> None:
    """Give the index all items again, and remove the others, while all processes read and write.

    If it is interrupted, the index stays marked as incomplete, and any process fills it.

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
    while not index.end_filling(token, writer.corpus.store.identity()):
        # The index was lost meanwhile.
        token = index.start_filling()
        _refill(writer, progress)
    if away is not None:
        raise away


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
