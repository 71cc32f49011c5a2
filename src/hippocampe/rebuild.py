"""The index made again from the store: the points of its rows, replay, repair, new generations.

Run as a program (`python -m hippocampe.rebuild`), it builds one generation in a process of its own,
because building a graph would freeze the process that serves.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, select

from hippocampe import allocator, child
from hippocampe.errors import EmbedderError, IndexUnavailable, StoreError
from hippocampe.health import log
from hippocampe.index.edge import EdgeIndex
from hippocampe.parts import WAITING, Parts, Retired
from hippocampe.points import (
    live_embedding_text,
    live_point,
    memory_embedding_text,
    memory_point,
    memory_text,
    piece_point,
    piece_text,
    turn_embedding_text,
    turn_point,
    turn_text,
)
from hippocampe.protocols import Point
from hippocampe.store import derived, memories, notes, talk
from hippocampe.store.schema import subject, vector
from hippocampe.store.shown import SHOWN, TABLES
from hippocampe.store.store import Store

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many are done, and how many there are."""

BATCH = 1_000
_BUILDER = ("-m", "hippocampe.rebuild")
UNEMBEDDED = "unembedded"
"""The `meta` that says that an import was cut short before its rows were embedded."""


def shown_ids(connection: Connection, kind: str) -> Iterator[str]:
    """The ids of all rows that the index should hold."""
    query = select(TABLES[kind].c.id).where(SHOWN[kind])
    for row in connection.execute(query, execution_options={"yield_per": 10_000}):
        yield row.id


def stored_points(
    connection: Connection, kind: str, model: str, ids: Collection[str] | None = None
) -> Iterator[Point]:
    """The points of rows that the index should hold and that are embedded by `model`."""
    table = TABLES[kind]
    columns: list[Any] = [table, vector.c.dense]
    joined = table.join(vector, and_(vector.c.id == table.c.id, vector.c.model == model))
    query = select(*columns).select_from(joined).where(SHOWN[kind])
    names = _names(connection, ids) if kind == "memory" else {}
    for row in _rows(connection, query, table.c.id, ids):
        dense = derived.unpack(row.dense)
        if kind == "memory":
            item = memories.of_row(row)
            yield memory_point(item, dense, names.get(item.id, ()))
        elif kind == "turn":
            yield turn_point(talk.turn_of_row(row), dense)
        elif kind == "live":
            yield live_point(talk.message_of_row(row), dense)
        else:
            yield piece_point(notes.of_row(row), dense)


def _rows(
    connection: Connection, query: Any, id: ColumnElement[str], ids: Collection[str] | None
) -> Iterator[Any]:
    if ids is None:
        yield from connection.execute(query, execution_options={"yield_per": BATCH})
    else:
        wanted = query.where(id.in_(bindparam("ids", expanding=True)))
        yield from connection.execute(wanted, {"ids": list(ids)})


def _names(connection: Connection, ids: Collection[str] | None) -> dict[str, list[str]]:
    query = select(subject.c.memory_id, subject.c.name)
    names: dict[str, list[str]] = {}
    for row in _rows(connection, query, subject.c.memory_id, ids):
        names.setdefault(row.memory_id, []).append(row.name)
    return names


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


def embed_missing(parts: Parts, progress: Progress | None = None, *, index: bool = False) -> int:
    """Embed every row that lacks a vector by the embedder; return how many there were.

    Args:
        index: Put their points in the index too.
    """
    done = 0
    for kind in TABLES:
        while True:
            with parts.store.read() as connection:
                rows = unembedded(connection, kind, parts.embedder.model, 256)
            if not rows:
                break
            _embed_rows(parts, kind, rows, index)
            done += len(rows)
            if progress:
                progress("embedding", done, 0)
    return done


def embed_imported(parts: Parts, progress: Progress | None = None) -> None:
    """Embed and index the rows that an import, or a process that died, left without vectors."""
    embed_missing(parts, progress, index=True)
    with parts.store.write() as connection:
        for name in (UNEMBEDDED, WAITING):
            derived.set_meta(connection, name, "")


def embed_soon(parts: Parts) -> None:
    """Have what waits embedded and indexed: in the background if there is one, else now.

    What cannot be embedded waits on: for the next such call, for a flush, for the next open.
    """
    if parts.config.background:
        # Closing ends the thread, and embeds what waits; what comes later waits for the next open.
        with suppress(RuntimeError):
            parts.embedder_thread.submit(
                parts.outages.attempt, "embedding", lambda: embed_or_wait(parts)
            )
    else:
        embed_or_wait(parts)


def catch_up_with_talk(parts: Parts) -> None:
    """Wait until the talk that is stored by now can be found: whoever stored it expects that.

    Not for what is stored later, and not while the embedder or the store is down: that is in the
    log, and what waits is found once it is back.
    """
    stored = list(parts.waiting)
    if not stored or not parts.config.background:
        return
    try:
        attempt = parts.embedder_thread.submit(embed_or_wait, parts)
    except RuntimeError:
        # The data folder is being closed.
        return
    attempt.add_done_callback(lambda _: _tell_waiting(parts))

    def over() -> bool:
        down = any(parts.outages.is_down(name) for name in ("embedder", "store"))
        return down or attempt.done() or not any(each in parts.waiting for each in stored)

    with parts.embedded:
        parts.embedded.wait_for(over)


def _tell_waiting(parts: Parts) -> None:
    with parts.embedded:
        parts.embedded.notify_all()


def embed_or_wait(parts: Parts) -> None:
    """Embed and index the talk that was stored and waits for it; when that is not possible it waits
    on, and the outage is noted."""
    # Held until the outcome is noted, so that an old failure never follows a new success.
    with parts.embedding:
        try:
            _embed_waiting(parts)
            parts.outages.works("embedder")
        except EmbedderError as exc:
            parts.outages.failed("embedder", exc)
        except StoreError as exc:
            parts.outages.failed("store", exc)
        except Retired:
            # The parts that took over embed it with their own embedder.
            return
        finally:
            _tell_waiting(parts)


def _embed_waiting(parts: Parts) -> None:
    while True:
        with parts.store.exclusive():
            kind = next(iter(parts.waiting), ("", ""))[0]
            ids = [id for of, id in parts.waiting if of == kind][:64]
        if not ids:
            return
        with parts.store.read() as connection:
            rows = unembedded(connection, kind, parts.embedder.model, len(ids), ids)
        if rows:
            _embed_rows(parts, kind, rows, index=True)
        with parts.store.exclusive():
            for id in ids:
                parts.waiting.pop((kind, id), None)
            if not parts.waiting:
                with parts.store.write() as connection:
                    derived.set_meta(connection, WAITING, "")
        _tell_waiting(parts)


def texts(kind: str, rows: Sequence[Any]) -> tuple[list[str], list[str]]:
    """What of rows of a kind is embedded, and what their words and traits are taken from."""
    if kind == "memory":
        items = [memories.of_row(row) for row in rows]
        return list(map(memory_embedding_text, items)), list(map(memory_text, items))
    if kind == "turn":
        turns = [talk.turn_of_row(row) for row in rows]
        return list(map(turn_embedding_text, turns)), list(map(turn_text, turns))
    if kind == "live":
        spoken = list(map(live_embedding_text, map(talk.message_of_row, rows)))
        return spoken, spoken
    pieces = [piece_text(notes.of_row(row)) for row in rows]
    return pieces, pieces


def _embed_rows(parts: Parts, kind: str, rows: list[Any], index: bool) -> None:
    embedded_texts, contents = texts(kind, rows)
    prepared = parts.prepare(embedded_texts, contents)
    with parts.change() as change:
        embedded = [change.embedded(each) for each in prepared]
        pairs = list(zip(rows, embedded, strict=True))
        model = parts.embedder.model
        new = [derived.vector_row(row.id, model, kind, row.space, each) for row, each in pairs]
        derived.put_vectors(change.connection, new)
        if index:
            ids = [row.id for row in rows]
            for point in stored_points(change.connection, kind, model, ids):
                change.index(kind, point)
            change.counted += [(row.space, each.words, 1) for row, each in pairs]


def replay(parts: Parts, *, after: int = 0) -> int:
    """Bring the index up to date with the outbox; return how many items were replayed.

    Raises:
        IndexUnavailable: The index still cannot be used.
    """
    with parts.store.exclusive():
        with parts.store.read() as connection:
            rows = derived.pending(connection, after)
            last = rows[-1].seq if rows else 0
            touched: dict[str, set[str]] = {}
            for row in rows:
                touched.setdefault(row.kind, set()).add(row.item_id)
            for kind, ids in touched.items():
                points = {
                    point.id: point
                    for batch in _batches(sorted(ids))
                    for point in stored_points(connection, kind, parts.embedder.model, batch)
                }
                parts.index.apply(kind, list(points.values()), sorted(ids - set(points)))
        parts.applied = max(parts.applied, last)
        parts.behind = False
        parts.outages.works("indexing")
    return sum(map(len, touched.values()))


def _batches(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]


def refill(
    parts: Parts, progress: Progress | None = None, *, graphs: bool = False
) -> tuple[str, ...]:
    """Build every kind again from the store and swap it in.

    Reading goes on with the old generation meanwhile. A kind that nothing is of has none: each takes
    some 35 MB of memory.

    Args:
        graphs: Build the kinds above the graph threshold with their graphs, in a child process.

    Returns:
        The kinds above the threshold that have no graph now.
    """
    embed_missing(parts, progress)
    without: list[str] = []
    for kind in TABLES:
        with parts.store.read(whole=True) as connection:
            kept = count_shown(connection, kind)
        large = kept >= parts.config.graph_threshold
        if large and not (graphs and _built_with_graph(parts, kind, kept, progress)):
            without.append(kind)
        if kind in without or (not large and (kept or parts.index.count(kind))):
            new_generation(parts, kind, graph=False, progress=progress)
    return tuple(without)


def _built_with_graph(parts: Parts, kind: str, total: int, progress: Progress | None) -> bool:
    what = f"indexing {kind} with its graph"
    if progress:
        progress(what, 0, total)
    try:
        new_generation(parts, kind, graph=True)
    except IndexUnavailable as exc:
        if parts.closing:
            raise
        log.warning("%s", exc)
        return False
    if progress:
        progress(what, total, total)
    return True


def new_generation(
    parts: Parts, kind: str, *, graph: bool, progress: Progress | None = None
) -> None:
    """Build a generation of one kind from the store and swap it in.

    With `graph`, a niced child process builds it together with its HNSW graph.

    Raises:
        IndexUnavailable: It could not be built; the old generation goes on serving.
    """
    index = parts.index
    if not isinstance(index, EdgeIndex):
        return
    with parts.store.exclusive():
        # From here on what is applied is also recorded, so nothing falls between the snapshot
        # that the build reads and the swap.
        target = index.start_generation(kind)
    try:
        if graph:
            _build_in_child(parts, kind, target)
        else:
            with parts.store.read() as connection:
                total = count_shown(connection, kind)
                points = stored_points(connection, kind, parts.embedder.model)
                index.build(
                    target,
                    dimensions=parts.embedder.dimensions,
                    points=_counted(points, kind, total, progress),
                    graph=False,
                )
        index.adopt_generation(kind)
    except BaseException:
        index.abandon_generation(kind)
        raise
    allocator.give_back()


def count_shown(connection: Connection, kind: str) -> int:
    """How many rows of a kind the index should hold."""
    query = select(func.count()).select_from(TABLES[kind]).where(SHOWN[kind])
    return connection.execute(query).scalar_one()


def _counted(
    points: Iterator[Point], kind: str, total: int, progress: Progress | None
) -> Iterator[Point]:
    for done, point in enumerate(points, 1):
        yield point
        if progress and (done % 500 == 0 or done == total):
            progress(f"indexing {kind}", done, total)


def _build_in_child(parts: Parts, kind: str, target: Path) -> None:
    order = {
        "database": str(parts.config.database),
        "model": parts.embedder.model,
        "dimensions": parts.embedder.dimensions,
        "kind": kind,
        "target": str(target),
    }

    def started(builder: "subprocess.Popen[str]") -> None:
        parts.builder = builder
        if parts.closing:
            builder.kill()

    try:
        child.run(_BUILDER, order, started=started)
    except child.ChildFailed as exc:
        raise IndexUnavailable(
            f"the graph of {kind} could not be built: {exc}. Searching goes on without it."
        ) from exc
    finally:
        parts.builder = None


def end_builder(parts: Parts) -> None:
    """Give up the graph that is being built, if one is: nobody who closes waits minutes for it."""
    parts.closing = True
    builder = parts.builder
    if builder is not None:
        builder.kill()


def build_from_order(order: dict[str, Any]) -> None:
    """Build one generation with its graph; the child process's work."""
    # Windows has none: the build then competes with what serves.
    if hasattr(os, "nice"):
        os.nice(15)
    database = Path(order["database"])
    store = Store(database, database.parent, read_only=True)
    try:
        with store.read() as connection:
            EdgeIndex.build(
                Path(order["target"]),
                dimensions=order["dimensions"],
                points=stored_points(connection, order["kind"], order["model"]),
                graph=True,
            )
    finally:
        store.close()


if __name__ == "__main__":
    build_from_order(json.load(sys.stdin))
