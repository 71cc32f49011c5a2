"""Rows of the log of retrievals. Each function takes a connection."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select

from hippocampe import secret
from hippocampe.store.driver import write
from hippocampe.store.schema import retrieval, retrieval_item
from hippocampe.text import without_control
from hippocampe.types import Retrieval, Retrieved, Signals

PREVIEW_CHARACTERS = 120
_COLUMNS = tuple(column.name for column in retrieval.c if column.name != "signals")
"""The columns that are fields of a `Retrieval`."""
_INSERT, _INSERT_ITEM = insert(retrieval), insert(retrieval_item)


def preview(message: str) -> str:
    """The beginning of a message on one line, without secrets."""
    storable = without_control(message.encode(errors="replace").decode())
    line = " ".join(secret.mask(storable).split())
    if len(line) <= PREVIEW_CHARACTERS:
        return line
    # Not inside a word: what is left of a name would not be found when the name is erased.
    return line[: PREVIEW_CHARACTERS + 1].rpartition(" ")[0] + "…"


def add(connection: Connection, entries: Sequence[Retrieval]) -> None:
    """Write entries with their items; one that is already there is replaced."""
    entries = list({entry.id: entry for entry in entries}.values())
    ids = [entry.id for entry in entries]
    connection.execute(delete(retrieval).where(retrieval.c.id.in_(ids)))
    write(
        connection,
        _INSERT,
        (
            {name: getattr(entry, name) for name in _COLUMNS} | {"signals": _names(entry)}
            for entry in entries
        ),
    )
    write(
        connection,
        _INSERT_ITEM,
        (
            {
                "retrieval_id": entry.id,
                "position": position,
                "item_id": item.id,
                "kind": item.kind,
                "score": item.score,
                "path": item.path,
                "outcome": item.outcome,
                "signals": item.signals.packed,
            }
            for entry in entries
            for position, item in enumerate(entry.items)
        ),
    )


def find(
    connection: Connection, space: str, *, channel: str | None, since: datetime | None, limit: int
) -> list[Retrieval]:
    """The latest entries of a space, newest first, with their items in order."""
    query = select(retrieval).where(retrieval.c.space == space)
    if channel is not None:
        query = query.where(retrieval.c.channel == channel)
    if since is not None:
        query = query.where(retrieval.c.created_at >= since)
    newest = query.order_by(retrieval.c.created_at.desc(), retrieval.c.id.desc()).limit(limit)
    found = connection.execute(newest).all()
    wanted = retrieval_item.c.retrieval_id.in_([row.id for row in found])
    order = (retrieval_item.c.retrieval_id, retrieval_item.c.position)
    rows = connection.execute(select(retrieval_item).where(wanted).order_by(*order))
    items = {id: list(group) for id, group in groupby(rows, key=lambda row: row.retrieval_id)}
    return [_retrieval(row, items.get(row.id, [])) for row in found]


def latest_spaces(connection: Connection, limit: int) -> list[str]:
    """The spaces of the latest thousand entries, the last served first."""
    newest = select(retrieval.c.space).order_by(retrieval.c.id.desc()).limit(1_000)
    return list(dict.fromkeys(connection.execute(newest).scalars()))[:limit]


def _names(entry: Retrieval) -> tuple[str, ...]:
    """The signals that the lines of an entry have."""
    return next((item.signals.names for item in entry.items if item.signals.packed), ())


def _retrieval(row: Row[Any], items: Sequence[Row[Any]]) -> Retrieval:
    values: dict[str, Any] = dict(row._mapping)  # pyright: ignore[reportPrivateUsage]
    names = tuple(values.pop("signals"))
    missing = tuple(values.pop("missing"))
    lines = tuple(
        Retrieved(
            item.item_id,
            item.kind,
            item.score,
            item.path,
            item.outcome,
            Signals(names, item.signals),
        )
        for item in items
    )
    return Retrieval(**values, missing=missing, items=lines)


def oldest(connection: Connection) -> dict[str, datetime]:
    """The spaces that have entries, each with the time of its oldest."""
    query = select(retrieval.c.space, func.min(retrieval.c.created_at).label("at"))
    rows = connection.execute(query.group_by(retrieval.c.space))
    return {row.space: row.at for row in rows}


def remove_before(connection: Connection, space: str, at: datetime) -> None:
    """Delete the entries of a space that are older than a moment."""
    old = delete(retrieval).where(retrieval.c.space == space, retrieval.c.created_at < at)
    connection.execute(old)
