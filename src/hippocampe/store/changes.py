"""The changes of the memories of a space, newest first."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, literal, select, union_all

from hippocampe.store.memories import get
from hippocampe.store.schema import memory
from hippocampe.types import Change, ChangeKind

_TIMES: Mapping[ChangeKind, Column[Any]] = {
    "learnt": memory.c.created_at,
    "replaced": memory.c.superseded_at,
    "forgotten": memory.c.forgotten_at,
}
"""By kind of change: when it was."""


def changes(
    connection: Connection,
    space: str,
    conditions: Sequence[ColumnElement[bool]],
    *,
    kinds: Collection[ChangeKind],
    since: datetime | None,
    until: datetime | None,
    limit: int,
    skip: int,
) -> list[Change]:
    """The changes of memories that meet all conditions, of some kinds, within a time."""

    def of_kind(kind: ChangeKind) -> Any:
        at = _TIMES[kind]
        query = select(literal(kind).label("kind"), at.label("at"), memory.c.id)
        query = query.where(memory.c.space == space, at.is_not(None), *conditions)
        if since is not None:
            query = query.where(at >= since)
        return query if until is None else query.where(at < until)

    if not kinds:
        return []
    every = union_all(*(of_kind(kind) for kind in kinds)).subquery()
    ordered = select(every).order_by(every.c.at.desc(), every.c.id.desc(), every.c.kind)
    rows = connection.execute(ordered.limit(limit).offset(skip)).all()
    found = get(connection, space, [row.id for row in rows])
    newer = [each.superseded_by for each in found.values() if each.superseded_by is not None]
    successors = get(connection, space, newer)
    return [
        Change(
            row.kind,
            row.at,
            found[row.id],
            successors.get(found[row.id].superseded_by or "") if row.kind == "replaced" else None,
        )
        for row in rows
    ]
