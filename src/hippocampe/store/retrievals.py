"""Rows of the retrieval log. Each function takes a connection."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from struct import unpack
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, and_, delete, exists, func, insert, select

from hippocampe.store.driver import write, write_ready
from hippocampe.store.portable import beyond, newest
from hippocampe.store.schema import retrieval, retrieval_item
from hippocampe.types import Outcome, Retrieval, Retrieved, Route

_COLUMNS = tuple(column.name for column in retrieval.c if column.name != "signals")
"""The columns that are fields of a `Retrieval`."""
_ORDER = (retrieval.c.created_at, retrieval.c.id)
_INSERT, _INSERT_ITEM = insert(retrieval), insert(retrieval_item)


Line = tuple[str, str, float, Route, Outcome, bytes]
"""A candidate of an injection: the fields of a `Retrieved`, its signals packed as little-endian
float32, NaN where one was not measured, empty if none was. A tuple of plain values, so that the
garbage collector does not traverse the queue."""


class Noted(NamedTuple):
    """An injection that waits to be logged; `signals` names the values of its lines, in order."""

    entry: Retrieval
    signals: tuple[str, ...]
    lines: tuple[Line, ...]


def add(connection: Connection, waiting: Sequence[Noted]) -> None:
    """Insert or replace entries with their lines."""
    waiting = list({noted.entry.id: noted for noted in waiting}.values())
    ids = [noted.entry.id for noted in waiting]
    connection.execute(delete(retrieval).where(retrieval.c.id.in_(ids)))
    entries = (
        {name: getattr(noted.entry, name) for name in _COLUMNS} | {"signals": noted.signals}
        for noted in waiting
    )
    lines = (
        (noted.entry.id, position, *line)
        for noted in waiting
        for position, line in enumerate(noted.lines)
    )
    write(connection, _INSERT, entries)
    write_ready(connection, _INSERT_ITEM, lines)


def find(
    connection: Connection,
    space: str,
    *,
    channel: str | None,
    since: datetime | None,
    before: Retrieval | None,
    limit: int,
) -> list[Retrieval]:
    """The latest entries of a space, or those before one, newest first, with their items in order."""
    query = newest(retrieval, space, since=since, limit=limit, channel=channel)
    if before is not None:
        last = (before.created_at, before.id)
        query = query.where(beyond(_ORDER, last, descending=True))
    return _with_items(connection, connection.execute(query).all())


def get(connection: Connection, space: str, id: str) -> Retrieval | None:
    """One entry with its items in order, if the space has it."""
    query = select(retrieval).where(retrieval.c.id == id, retrieval.c.space == space)
    found = _with_items(connection, connection.execute(query).all())
    return found[0] if found else None


def giving(connection: Connection, space: str, item_id: str, limit: int) -> list[Retrieval]:
    """The latest entries of a space that injected an item, newest first."""
    injected = and_(
        retrieval_item.c.retrieval_id == retrieval.c.id,
        retrieval_item.c.item_id == item_id,
        retrieval_item.c.outcome == "injected",
    )
    query = newest(retrieval, space, since=None, limit=limit).where(exists().where(injected))
    return _with_items(connection, connection.execute(query).all())


def _with_items(connection: Connection, found: Sequence[Row[Any]]) -> list[Retrieval]:
    wanted = retrieval_item.c.retrieval_id.in_([row.id for row in found])
    order = (retrieval_item.c.retrieval_id, retrieval_item.c.position)
    rows = connection.execute(select(retrieval_item).where(wanted).order_by(*order))
    items = {id: list(group) for id, group in groupby(rows, key=lambda row: row.retrieval_id)}
    return [_retrieval(row, items.get(row.id, [])) for row in found]


def latest_spaces(connection: Connection, limit: int) -> list[str]:
    """The spaces of the latest thousand entries, last served first."""
    newest = select(retrieval.c.space).order_by(retrieval.c.id.desc()).limit(1_000)
    return list(dict.fromkeys(connection.execute(newest).scalars()))[:limit]


def _signals(names: Sequence[str], packed: bytes) -> dict[str, float]:
    values = unpack(f"<{len(packed) // 4}f", packed)
    return {
        name: round(value, 4) for name, value in zip(names, values, strict=False) if value == value
    }


def _retrieval(row: Row[Any], items: Sequence[Row[Any]]) -> Retrieval:
    values: dict[str, Any] = dict(row._mapping)  # pyright: ignore[reportPrivateUsage]
    names = values.pop("signals")
    missing = tuple(values.pop("missing"))
    lines = tuple(
        Retrieved(
            item.item_id,
            item.kind,
            item.score,
            item.path,
            item.outcome,
            _signals(names, item.signals),
        )
        for item in items
    )
    return Retrieval(**values, missing=missing, items=lines)


def oldest(connection: Connection) -> dict[str, datetime]:
    """The time of the oldest entry, by space."""
    query = select(retrieval.c.space, func.min(retrieval.c.created_at).label("at"))
    rows = connection.execute(query.group_by(retrieval.c.space))
    return {row.space: row.at for row in rows}


def remove_before(connection: Connection, space: str, at: datetime) -> None:
    """Delete the entries of a space created before `at`."""
    old = delete(retrieval).where(retrieval.c.space == space, retrieval.c.created_at < at)
    connection.execute(old)
