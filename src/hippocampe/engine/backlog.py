"""Stored rows that wait to be embedded and indexed."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, and_, select

from hippocampe.engine.context import Context, Retired
from hippocampe.engine.projection import Progress, stored_points
from hippocampe.engine.unit_of_work import WAITING
from hippocampe.errors import EmbedderError, StoreError
from hippocampe.index.documents import (
    live_embedding_text,
    memory_embedding_text,
    memory_text,
    piece_text,
    turn_embedding_text,
    turn_text,
)
from hippocampe.store import conversations, embeddings, memories, meta, notes
from hippocampe.store.schema import vector
from hippocampe.store.shown import SHOWN, TABLES

UNEMBEDDED = "unembedded"
"""The `meta` that says that an import was cut short before its rows were embedded."""


def unembedded(
    connection: Connection, kind: str, model: str, limit: int, ids: Sequence[str] | None = None
) -> list[Any]:
    """Rows that the index should hold and that `model` has not embedded yet, all or among some."""
    table = TABLES[kind]
    joined = table.outerjoin(vector, and_(vector.c.id == table.c.id, vector.c.model == model))
    query = select(table).select_from(joined).where(SHOWN[kind], vector.c.id.is_(None))
    if ids is not None:
        query = query.where(table.c.id.in_(ids))
    return list(connection.execute(query.limit(limit)))


def embed_missing(
    context: Context, progress: Progress | None = None, *, index: bool = False
) -> int:
    """Embed every row that lacks a vector by the embedder; return how many there were.

    Args:
        index: Put their points in the index too.
    """
    done = 0
    for kind in TABLES:
        while True:
            with context.store.read() as connection:
                rows = unembedded(connection, kind, context.embedder.model, 256)
            if not rows:
                break
            _embed_rows(context, kind, rows, index)
            done += len(rows)
            if progress:
                progress("embedding", done, 0)
    return done


def embed_imported(context: Context, progress: Progress | None = None) -> None:
    """Embed and index the rows that an import, or a process that died, left without vectors."""
    embed_missing(context, progress, index=True)
    with context.store.write() as connection:
        for name in (UNEMBEDDED, WAITING):
            meta.put(connection, name, "")


def embed_soon(context: Context) -> None:
    """Have what waits embedded and indexed: in the background if there is one, else now.

    What cannot be embedded waits on: for the next such call, for a flush, for the next open.
    """
    if context.config.background:
        # Closing ends the thread, and embeds what waits; what comes later waits for the next open.
        with suppress(RuntimeError):
            context.pending.worker.submit(
                context.outages.attempt, "embedding", lambda: embed_or_wait(context)
            )
    else:
        embed_or_wait(context)


def catch_up_with_talk(context: Context) -> None:
    """Wait until the talk that is stored by now can be found: whoever stored it expects that.

    Not for what is stored later, and not while the embedder or the store is down: that is in the
    log, and what waits is found once it is back.
    """
    stored = list(context.pending.rows)
    if not stored or not context.config.background:
        return
    try:
        attempt = context.pending.worker.submit(embed_or_wait, context)
    except RuntimeError:
        # The data folder is being closed.
        return
    attempt.add_done_callback(lambda _: _tell_waiting(context))

    def over() -> bool:
        down = any(context.outages.is_down(name) for name in ("embedder", "store"))
        return down or attempt.done() or not any(each in context.pending.rows for each in stored)

    with context.pending.progressed:
        context.pending.progressed.wait_for(over)


def _tell_waiting(context: Context) -> None:
    with context.pending.progressed:
        context.pending.progressed.notify_all()


def embed_or_wait(context: Context) -> None:
    """Embed and index the talk that was stored and waits for it; when that is not possible it waits
    on, and the outage is noted."""
    # Held until the outcome is noted, so that an old failure never follows a new success.
    with context.pending.embedding:
        try:
            _embed_waiting(context)
            context.outages.works("embedder")
        except EmbedderError as exc:
            context.outages.failed("embedder", exc)
        except StoreError as exc:
            context.outages.failed("store", exc)
        except Retired:
            # The parts that took over embed it with their own embedder.
            return
        finally:
            _tell_waiting(context)


def _embed_waiting(context: Context) -> None:
    while True:
        with context.store.exclusive():
            kind = next(iter(context.pending.rows), ("", ""))[0]
            ids = [id for of, id in context.pending.rows if of == kind][:64]
        if not ids:
            return
        with context.store.read() as connection:
            rows = unembedded(connection, kind, context.embedder.model, len(ids), ids)
        if rows:
            _embed_rows(context, kind, rows, index=True)
        with context.store.exclusive():
            for id in ids:
                context.pending.rows.pop((kind, id), None)
            if not context.pending.rows:
                with context.store.write() as connection:
                    meta.put(connection, WAITING, "")
        _tell_waiting(context)


def texts(kind: str, rows: Sequence[Any]) -> tuple[list[str], list[str]]:
    """What of rows of a kind is embedded, and what their words and traits are taken from."""
    if kind == "memory":
        items = [memories.of_row(row) for row in rows]
        return list(map(memory_embedding_text, items)), list(map(memory_text, items))
    if kind == "turn":
        turns = [conversations.turn_of_row(row) for row in rows]
        return list(map(turn_embedding_text, turns)), list(map(turn_text, turns))
    if kind == "live":
        spoken = list(map(live_embedding_text, map(conversations.message_of_row, rows)))
        return spoken, spoken
    pieces = [piece_text(notes.of_row(row)) for row in rows]
    return pieces, pieces


def _embed_rows(context: Context, kind: str, rows: list[Any], index: bool) -> None:
    embedded_texts, contents = texts(kind, rows)
    prepared = context.prepare(embedded_texts, contents)
    with context.change() as change:
        embedded = [change.embedded(each) for each in prepared]
        pairs = list(zip(rows, embedded, strict=True))
        model = context.embedder.model
        new = [embeddings.vector_row(row.id, model, kind, row.space, each) for row, each in pairs]
        embeddings.put_vectors(change.connection, new)
        if index:
            ids = [row.id for row in rows]
            for point in stored_points(change.connection, kind, model, ids):
                change.index(kind, point)
            change.counted += [(row.space, each.words, 1) for row, each in pairs]
