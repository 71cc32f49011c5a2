"""Counts of a space."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, func, select

from hippocampe.store.memories import CURRENT, living
from hippocampe.store.schema import association, job_run, memory, message, turn


def job_states(connection: Connection, space: str | None = None) -> dict[str, int]:
    """The runs of background jobs by state, of one space or of all."""
    runs = select(job_run.c.state, func.count().label("many")).group_by(job_run.c.state)
    if space is not None:
        runs = runs.where(job_run.c.space == space)
    return {row.state: row.many for row in connection.execute(runs.order_by(job_run.c.state))}


def count(connection: Connection, space: str, now: datetime) -> dict[str, Any]:
    """The fields of `hippocampe.types.Stats` that the store supplies."""

    def number(*conditions: Any, of: Any = memory) -> int:
        query = select(func.count()).select_from(of).where(of.c.space == space, *conditions)
        return connection.execute(query).scalar_one()

    shown = living(space, now)
    grouped = select(memory.c.collection, memory.c.category, func.count()).where(shown)
    by = memory.c.collection, memory.c.category
    rows = connection.execute(grouped.group_by(*by).order_by(*by)).all()
    by_collection: dict[str, int] = {}
    for collection, _, many in rows:
        by_collection[collection] = by_collection.get(collection, 0) + many
    lasts = select(func.max(memory.c.updated_at), func.max(memory.c.forgotten_at))
    changed, forgotten = connection.execute(lasts.where(memory.c.space == space)).one()
    return {
        "memories": by_collection,
        "categories": {f"{name}/{category}": many for name, category, many in rows if category},
        "facts": number(shown, memory.c.key.is_not(None)),
        "superseded": number(memory.c.superseded_by.is_not(None)),
        "forgotten": number(memory.c.forgotten_at.is_not(None)),
        "messages": number(of=message),
        "turns": number(turn.c.forgotten_at.is_(None), of=turn),
        "live": number(message.c.live.is_(True), of=message),
        "reviews": _pairs_to_review(connection, space),
        "jobs": job_states(connection, space),
        "last_written": max(changed, forgotten or changed) if changed else None,
    }


def _pairs_to_review(connection: Connection, space: str) -> int:
    """The pairs to review, each once, whichever way its edges lead."""
    one, other = association.c.source_id, association.c.target_id
    first, last = case((one < other, one), else_=other), case((one < other, other), else_=one)
    pairs = select(first.label("first"), last.label("last")).where(
        association.c.space == space,
        association.c.review.is_(True),
        _is_current(one),
        _is_current(other),
    )
    query = select(func.count()).select_from(pairs.distinct().subquery())
    return connection.execute(query).scalar_one()


def _is_current(id: ColumnElement[str]) -> ColumnElement[bool]:
    """The condition that a memory is current; an expired one is until it is hidden."""
    return select(memory.c.id).where(memory.c.id == id, CURRENT).exists()
