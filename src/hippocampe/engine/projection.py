"""The projection of store rows to points of the index."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, select

from hippocampe.engine.documents import memory_point, piece_point, turn_point
from hippocampe.protocols import Point
from hippocampe.store import embeddings, memories, message_rows, notes, turn_rows
from hippocampe.store.driver import grouped
from hippocampe.store.schema import subject, vector
from hippocampe.store.shown import SHOWN, TABLES

BATCH = 1_000
OF_ROW: Mapping[str, Callable[[Any], Any]] = {
    "memory": memories.of_row,
    "turn": turn_rows.of_row,
    "live": message_rows.of_row,
    "note": notes.of_row,
}
"""By kind: makes the item of a row."""


def shown_ids(connection: Connection, kind: str) -> Iterator[str]:
    """The ids of all rows that belong in the index."""
    query = select(TABLES[kind].c.id).where(SHOWN[kind])
    with connection.execute(query, execution_options={"yield_per": 10_000}) as rows:
        yield from (row.id for row in rows)


def stored_points(
    connection: Connection, kind: str, model: str, ids: Collection[str] | None = None
) -> Iterator[Point]:
    """The points of all rows, or of some ids, that belong in the index and are embedded by `model`."""
    table = TABLES[kind]
    columns: list[Any] = [table, vector.c.dense]
    joined = table.join(vector, and_(vector.c.id == table.c.id, vector.c.model == model))
    query = select(*columns).select_from(joined).where(SHOWN[kind])
    names = _names(connection, ids) if kind == "memory" else {}
    for row in _rows(connection, query, table.c.id, ids):
        item, dense = OF_ROW[kind](row), embeddings.unpack(row.dense)
        if kind == "memory":
            yield memory_point(item, dense, names.get(item.id, ()))
        else:
            yield piece_point(item, dense) if kind == "note" else turn_point(item, dense)


def _rows(
    connection: Connection, query: Any, id: ColumnElement[str], ids: Collection[str] | None
) -> Iterator[Any]:
    if ids is None:
        with connection.execute(query, execution_options={"yield_per": BATCH}) as rows:
            yield from rows
    else:
        wanted = query.where(id.in_(bindparam("ids", expanding=True)))
        yield from connection.execute(wanted, {"ids": list(ids)})


def _names(connection: Connection, ids: Collection[str] | None) -> dict[str, list[str]]:
    query = select(subject.c.memory_id, subject.c.name)
    rows = _rows(connection, query, subject.c.memory_id, ids)
    return grouped((row.memory_id, row.name) for row in rows)


def count_shown(connection: Connection, kind: str) -> int:
    """The number of rows of a kind that belong in the index."""
    query = select(func.count()).select_from(TABLES[kind]).where(SHOWN[kind])
    return connection.execute(query).scalar_one()
