"""The audit log: deletes, erasures, restores, changes of settings and keys, each with its actor.

An entry is written in the transaction of its change. It has ids and counts, never content.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection
from uuid6 import uuid7

from hippocampe.actor import ACTOR
from hippocampe.language.datetimes import as_utc
from hippocampe.store import audits
from hippocampe.store.store import Store
from hippocampe.types import AuditAction, AuditEntry, Scope
from hippocampe.validation import check_limit

MAX_IDS = 100
"""Ids of one entry; further ones are only counted."""


def record(
    connection: Connection, now: datetime, space: str, action: AuditAction, **detail: Any
) -> None:
    """Write an entry about a change, in its transaction. Its detail has ids, names of settings and counts."""
    entry = AuditEntry(str(uuid7()), space, action, ACTOR.get(), detail, now)
    audits.add(connection, entry)


def ids(found: Sequence[str]) -> dict[str, Any]:
    """The detail of an entry about several rows."""
    return {"count": len(found), "ids": list(found[:MAX_IDS])}


def entries(
    store: Store,
    key_store: Store | None,
    *,
    scope: Scope,
    since: datetime | str | None = None,
    limit: int = 100,
) -> list[AuditEntry]:
    """The audit log of the space, newest first: who forgot, erased, restored, changed settings or keys.

    Args:
        scope: The space.
        since: Earliest time, inclusive.
        limit: At most this many, 1 to 1,000.

    Raises:
        InvalidInput: An argument is invalid.
    """
    check_limit(limit)
    earliest = as_utc(since, name="since")
    found: list[AuditEntry] = []
    for each in filter(None, (store, key_store)):
        with each.read() as connection:
            found += audits.find(connection, scope.space, since=earliest, limit=limit)
    return sorted(found, key=lambda entry: (entry.at, entry.id), reverse=True)[:limit]
