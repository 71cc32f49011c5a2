"""Rows of the audit log: actors and changes, as ids and counts, never content. Each function takes a
connection."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from hippocampe.store.portable import newest
from hippocampe.store.schema import audit
from hippocampe.types import AuditEntry

_ACTOR = "actor"
"""The name of the actor in `detail`."""


def add(connection: Connection, entry: AuditEntry) -> None:
    """Insert an entry."""
    values: dict[str, Any] = {
        "id": entry.id,
        "space": entry.space,
        "action": entry.action,
        "detail": {**entry.detail, _ACTOR: entry.actor},
        "created_at": entry.at,
    }
    connection.execute(insert(audit).values(**values))


def find(
    connection: Connection, space: str, *, since: datetime | None, limit: int
) -> list[AuditEntry]:
    """The latest entries of a space, newest first."""
    query = newest(audit, space, since=since, limit=limit)
    return [_entry(row) for row in connection.execute(query)]


def spaces_erased(connection: Connection) -> list[str]:
    """The spaces with an erasure in the log."""
    query = select(audit.c.space).where(audit.c.action == "erase")
    return list(connection.execute(query.distinct()).scalars())


def _entry(row: Any) -> AuditEntry:
    detail = dict(row.detail)
    # Entries of the first version lack the actor.
    actor = detail.pop(_ACTOR, "library")
    return AuditEntry(row.id, row.space, row.action, actor, detail, row.created_at)
