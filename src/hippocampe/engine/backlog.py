"""Embed and index the pending rows of the store."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, and_, select

from hippocampe.engine.corpus import Retired
from hippocampe.engine.documents import (
    memory_embedding_text,
    memory_text,
    piece_text,
    turn_embedding_text,
    turn_text,
)
from hippocampe.engine.projection import OF_ROW, stored_points
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.vocabulary import Prepared
from hippocampe.engine.writer import Writer
from hippocampe.errors import EmbedderError, EmbedderUnavailable, StoreError
from hippocampe.store import embeddings, meta
from hippocampe.store.schema import vector
from hippocampe.store.shown import SHOWN, TABLES
from hippocampe.types import Progress

_TEXTS: Mapping[str, tuple[Callable[[Any], str], Callable[[Any], str]]] = {
    "memory": (memory_embedding_text, memory_text),
    "turn": (turn_embedding_text, turn_text),
    "live": (turn_embedding_text, turn_embedding_text),
    "note": (piece_text, piece_text),
}
"""By kind: the text of an item to embed, and that with its words and traits."""
UNEMBEDDED = "unembedded"
"""The `meta` entry of an import that stopped before its rows were embedded."""
_WAITING = "waiting"
"""The entry of an earlier version, for a process that stopped before it embedded its pending rows."""


def has_unembedded(connection: Connection) -> bool:
    """Return whether rows that are not in the outbox may have no vector yet."""
    return any(meta.get(connection, name) for name in (UNEMBEDDED, _WAITING))


def unembedded(
    connection: Connection, kind: str, model: str, limit: int, ids: Sequence[str] | None = None
) -> list[Any]:
    """Rows that belong in the index but have no vector of `model` yet, among all or some ids."""
    table = TABLES[kind]
    joined = table.outerjoin(vector, and_(vector.c.id == table.c.id, vector.c.model == model))
    query = select(table).select_from(joined).where(SHOWN[kind], vector.c.id.is_(None))
    if ids is not None:
        query = query.where(table.c.id.in_(ids))
    return list(connection.execute(query.limit(limit)))


def embed_missing(writer: Writer, progress: Progress | None = None, *, index: bool = False) -> int:
    """Embed every row without a vector, and `index` them if asked; return their number."""
    done = 0
    for kind in TABLES:
        while True:
            with writer.corpus.store.read() as connection:
                rows = unembedded(connection, kind, writer.corpus.model, 256)
            if not rows:
                break
            _embed_rows(writer, kind, rows, index)
            done += len(rows)
            if progress:
                progress("embedding", done, 0)
    return done


def embed_imported(writer: Writer, progress: Progress | None = None) -> None:
    """Embed and index the rows that an import or a killed process left without vectors.

    Raises:
        EmbedderUnavailable: They cannot be embedded now; maintenance tries again.
    """
    try:
        embed_missing(writer, progress, index=True)
    except EmbedderUnavailable:
        writer.deliveries.incomplete = True
        raise
    with writer.corpus.store.write() as connection:
        for name in (UNEMBEDDED, _WAITING):
            meta.put(connection, name, "")


def embed_soon(writer: Writer) -> None:
    """Embed and index pending rows in the background, or now if there is none.

    Rows that cannot be embedded stay pending until the next call, flush or open.
    """
    if writer.corpus.config.background:
        # After closing, the rows stay pending until the next open.
        with suppress(RuntimeError):
            writer.pending.worker.submit(
                writer.corpus.outages.attempt, "embedding", lambda: embed_or_wait(writer)
            )
    else:
        embed_or_wait(writer)


def catch_up_with_talk(writer: Writer) -> None:
    """Wait until all talk stored before this call can be found.

    Returns at once while the embedder or the store is down: the outage is logged, and the talk is
    found after recovery.
    """
    stored = list(writer.pending.rows)
    if not stored or not writer.corpus.config.background:
        return
    try:
        attempt = writer.pending.worker.submit(embed_or_wait, writer)
    except RuntimeError:
        # Closing.
        return
    attempt.add_done_callback(lambda _: writer.pending.notify())

    def over() -> bool:
        down = any(writer.corpus.outages.is_down(name) for name in ("embedder", "store"))
        return down or attempt.done() or not any(each in writer.pending.rows for each in stored)

    with writer.pending.progressed:
        writer.pending.progressed.wait_for(over)


def embed_or_wait(writer: Writer) -> None:
    """Embed and index pending rows; on failure they stay pending and the outage is noted."""
    # Held until the outcome is recorded, so that an old failure never overwrites a new success.
    corpus = writer.corpus
    with writer.pending.embedding:
        try:
            _embed_waiting(writer)
        except EmbedderError as exc:
            corpus.outages.failed("embedder", exc)
        except StoreError as exc:
            corpus.outages.failed("store", exc)
        except Retired:
            # The new context embeds them with its own embedder.
            return
        finally:
            writer.pending.notify()


def _embed_waiting(writer: Writer) -> None:
    corpus = writer.corpus
    while True:
        with corpus.store.alone():
            kind, ids, space = _next_waiting(writer)
        if not ids:
            return
        with corpus.store.fenced(space):
            _embed_some(writer, kind, ids)


def _next_waiting(writer: Writer) -> tuple[str, list[str], str | None]:
    """The next pending rows of a kind, and their space if the database is shared."""
    rows = writer.pending.rows
    first = next(iter(rows.values()), None)
    if first is None:
        return "", [], None
    space = first.space if writer.corpus.store.shared else None
    some = [row for row in rows.values() if row.kind == first.kind and space in (None, row.space)]
    return first.kind, [row.item_id for row in some[:64]], space


def _embed_some(writer: Writer, kind: str, ids: Sequence[str]) -> None:
    corpus = writer.corpus
    embed_ids(writer, kind, ids)
    # Before the rows leave: a flush that finds none pending must find the recovery recorded.
    for part in ("embedder", "store"):
        corpus.outages.works(part)
    with corpus.store.alone():
        at = time.monotonic()
        for id in ids:
            if row := writer.pending.rows.pop((kind, id), None):
                writer.deliveries.delivered[row.seq] = at
    writer.pending.notify()


def texts(kind: str, rows: Sequence[Any]) -> tuple[list[str], list[str]]:
    """The texts to embed of rows of a kind, and the texts from which their words and traits are taken."""
    embedded, searched = _TEXTS[kind]
    items = [OF_ROW[kind](row) for row in rows]
    return list(map(embedded, items)), list(map(searched, items))


def _embed_rows(
    writer: Writer,
    kind: str,
    rows: list[Any],
    index: bool,
    *,
    counted: bool = True,
    from_reserve: bool = False,
) -> None:
    """Embed and store rows, unless their text changes meanwhile; if `counted`, their words count in the space."""
    while rows:
        prepared = writer.corpus.vocabulary.prepare(*texts(kind, rows))
        with writer.change(from_reserve=from_reserve) as change:
            unchanged = _unchanged(change.connection, kind, rows)
            if len(unchanged) == len(rows):
                _store_embeddings(change, kind, rows, prepared, index, counted)
                return
        # The others were erased or edited meanwhile: not even their words may be stored.
        rows = unchanged


def _unchanged(connection: Connection, kind: str, rows: Sequence[Any]) -> list[Any]:
    """The rows that still have the same text."""
    now = {row.id: row for row in _select_rows(connection, kind, [row.id for row in rows])}
    return [
        row for row in rows if row.id in now and texts(kind, [now[row.id]]) == texts(kind, [row])
    ]


def _store_embeddings(
    change: UnitOfWork,
    kind: str,
    rows: Sequence[Any],
    prepared: Sequence[Prepared],
    index: bool,
    counted: bool,
) -> None:
    embedded = [change.embedded(each) for each in prepared]
    pairs, model = list(zip(rows, embedded, strict=True)), change.model
    new = [embeddings.vector_row(row.id, model, kind, row.space, each) for row, each in pairs]
    embeddings.put_vectors(change.connection, new)
    if index:
        ids = [row.id for row in rows]
        for point in stored_points(change.connection, kind, model, ids):
            change.index(kind, point)
        if counted:
            change.counted += [(row.space, each.words, 1) for row, each in pairs]


def embed_ids(writer: Writer, kind: str, ids: Sequence[str]) -> None:
    """Embed and index some rows, unless they are embedded already."""
    with writer.corpus.store.read() as connection:
        rows = unembedded(connection, kind, writer.corpus.model, len(ids), ids)
    _embed_rows(writer, kind, rows, index=True, from_reserve=True)


def embed_again(writer: Writer, kind: str, ids: Sequence[str]) -> None:
    """Embed the texts of some ids again, because their stored vectors are damaged.

    A vector without a text is removed. A row whose text changes meanwhile is left to that change.
    """
    with writer.corpus.store.read() as connection:
        rows = list(_select_rows(connection, kind, ids))
    _embed_rows(writer, kind, rows, index=True, counted=False)
    with writer.change() as change:
        held = {row.id for row in _select_rows(change.connection, kind, ids)}
        change.remove_embeddings([id for id in ids if id not in held])


def _select_rows(connection: Connection, kind: str, ids: Sequence[str]) -> Iterable[Any]:
    table = TABLES[kind]
    return connection.execute(select(table).where(table.c.id.in_(ids)))
