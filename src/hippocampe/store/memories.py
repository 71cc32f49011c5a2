"""Rows of memories: read, insert, update. Each function takes a connection.

Readings of memories (subjects, claim, aliases) are in `statements`, the queries of the always-on
context in `always_on`. Values derived by grammar are passed in: the store knows no language.
"""

import json
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    insert,
    or_,
    select,
    true,
    update,
)

from hippocampe.store import portable
from hippocampe.store.driver import IDS, grouped, parts, read, read_by_ids, write
from hippocampe.store.schema import Instant, instant, memory, microseconds
from hippocampe.types import Memory

COLUMNS = [column for column in memory.c if column.name != "equality"]
"""The columns of a `Memory`, in the order that `of_row` expects."""
CURRENT = and_(memory.c.forgotten_at.is_(None), memory.c.superseded_by.is_(None))
FOUND = and_(
    memory.c.forgotten_at.is_(None), or_(memory.c.superseded_by.is_(None), memory.c.former)
)
"""The condition for memories that recall finds: the current and the former ones."""

_NAMES = [column.name for column in COLUMNS]
_INSTANTS = [column.name for column in COLUMNS if isinstance(column.type, Instant)]
_TOUCH_BATCH = 500
NEWEST = 100
"""Memories whose users `latest_users` reads: each search pays for them."""

# Statements of the hot path are built once: building one takes longer than running it.
# By id alone: given a space too, SQLite would read all rows of the space.
_GET = select(*COLUMNS).where(memory.c.id.in_(IDS))
_RECALLED = (
    memory.c.space == bindparam("space"),
    memory.c.collection == bindparam("collection"),
    CURRENT,
    or_(memory.c.expires_at.is_(None), memory.c.expires_at > bindparam("now")),
)
_HIGHEST = {
    column.name: select(memory.c.id)
    .where(*_RECALLED)
    .order_by(column.desc())
    .limit(bindparam("limit"))
    for column in (memory.c.created_at, memory.c.importance)
}
_LATEST = (
    select(memory.c.user)
    .where(*_RECALLED)
    .order_by(memory.c.created_at.desc())
    .limit(bindparam("limit"))
    .subquery()
)
_USERS = select(_LATEST.c.user).where(_LATEST.c.user.is_not(None)).distinct()
_INSERT = insert(memory)
_TOUCH = (
    update(memory)
    .where(memory.c.id.in_(IDS))
    .values(
        access_count=memory.c.access_count + bindparam("more"), last_accessed_at=bindparam("now")
    )
)


def of_row(row: Row[Any]) -> Memory:
    """Convert a row that begins with `COLUMNS`."""
    values: dict[str, Any] = dict(zip(_NAMES, row, strict=False))
    values["subjects"] = tuple(values["subjects"])
    values["evidence"] = tuple(values["evidence"])
    return Memory(**values)


def _of_driver(row: Sequence[Any]) -> Memory:
    values: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    for name in _INSTANTS:
        if values[name] is not None:
            values[name] = instant(values[name])
    for name in ("subjects", "evidence"):
        # Most have none.
        values[name] = () if values[name] == "[]" else tuple(json.loads(values[name]))
    values["metadata"] = {} if values["metadata"] == "{}" else json.loads(values["metadata"])
    values["former"] = bool(values["former"])
    return Memory(**values)


def _to_row(item: Memory, equality: str) -> dict[str, Any]:
    values = {name: getattr(item, name) for name in _NAMES}
    values["subjects"] = list(item.subjects)
    values["evidence"] = list(item.evidence)
    values["metadata"] = dict(item.metadata)
    values["equality"] = equality
    return values


def add(connection: Connection, items: Iterable[Memory], equalities: Iterable[str]) -> None:
    """Insert memories, each with the digest of its statement: equal digests mean equal statements."""
    rows = [_to_row(item, digest) for item, digest in zip(items, equalities, strict=True)]
    write(connection, _INSERT, rows)


def replace_row(connection: Connection, item: Memory, equality: str) -> None:
    """Update all columns of a memory; `equality` is the digest of its statement."""
    _update(connection, item.id, _to_row(item, equality))


def supersede(
    connection: Connection, old: Memory, by: str, at: datetime, *, former: bool = False
) -> Memory:
    """Mark a memory as replaced by another; return its new state.

    Args:
        by: Id of its successor.
        former: Whether recall still finds it.
    """
    changed: dict[str, Any] = {
        "superseded_by": by,
        "superseded_at": at,
        "former": former,
        "updated_at": at,
    }
    _update(connection, old.id, changed)
    return replace(old, **changed)


def forget(connection: Connection, old: Memory, at: datetime, reason: str) -> Memory:
    """Mark a memory as forgotten; return its new state. The time of its last change stays, for `restore`."""
    changed: dict[str, Any] = {"forgotten_at": at, "forgotten_reason": reason}
    _update(connection, old.id, changed)
    return replace(old, **changed)


def resting_on(
    connection: Connection, space: str, messages: Collection[str], *, current_only: bool = True
) -> list[Memory]:
    """The memories of a space with one of some messages as evidence, by default the current ones."""
    named = portable.json_values(memory.c.evidence)
    rests = select(named.c.value).where(named.c.value.in_(list(messages))).exists()
    conditions = (CURRENT, rests) if current_only else (rests,)
    return find(connection, memory.c.space == space, *conditions)


def evidence_from(connection: Connection, space: str, prefix: str) -> dict[str, str]:
    """The evidence of all memories of a space whose ids begin with a prefix, each with the id of the newest memory."""
    named = portable.json_values(memory.c.evidence)
    query = select(named.c.value, memory.c.id).select_from(memory).join(named, true())
    here = memory.c.space == space
    query = query.where(here, named.c.value.startswith(prefix))
    rows = connection.execute(query.order_by(memory.c.created_at, memory.c.id))
    return {row.value: row.id for row in rows}


def _update(connection: Connection, id: str, values: Mapping[str, Any]) -> None:
    connection.execute(update(memory).where(memory.c.id == id).values(values))


def get(connection: Connection, space: str, ids: Collection[str]) -> dict[str, Memory]:
    """Memories of a space by id; unknown ids are left out."""
    if not ids:
        return {}
    rows = read_by_ids(connection, _GET, list(ids))
    return {row[0]: _of_driver(row) for row in rows if row[1] == space}


def successor(connection: Connection, item: Memory) -> Memory | None:
    """The current memory at the end of a chain of updates; None if the chain is broken."""
    seen: set[str] = set()
    while item.superseded_by is not None and item.superseded_by not in seen:
        seen.add(item.superseded_by)
        found = get(connection, item.space, [item.superseded_by])
        if item.superseded_by not in found:
            return None
        item = found[item.superseded_by]
    return item if seen and item.current else None


def replaced_by(connection: Connection, items: Sequence[Memory]) -> list[Memory]:
    """The memories that some memories replaced, and those that these replaced, the latest first; not the forgotten ones."""
    found: dict[str, Memory] = {}
    wave: Sequence[Memory] = items
    while wave:
        spaces, ids = {each.space for each in wave}, [each.id for each in wave]
        here = memory.c.space.in_(spaces), memory.c.superseded_by.in_(ids)
        kept = memory.c.forgotten_at.is_(None)
        wave = [each for each in find(connection, *here, kept) if each.id not in found]
        found |= {each.id: each for each in wave}
    return list(found.values())


def find(
    connection: Connection,
    *conditions: ColumnElement[bool],
    by: ColumnElement[datetime] = memory.c.created_at,
    newest_first: bool = True,
    limit: int | None = None,
) -> list[Memory]:
    """Memories that meet all conditions, ordered by a time."""
    order = by.desc() if newest_first else by.asc()
    tie = memory.c.id.desc() if newest_first else memory.c.id.asc()
    query = select(*COLUMNS).where(*conditions).order_by(order, tie)
    return [of_row(row) for row in connection.execute(query.limit(limit))]


def forgotten_since(connection: Connection, space: str, since: datetime) -> list[Memory]:
    """The memories of a space that were forgotten at or after a time, the last forgotten first; at most 100."""
    forgotten = memory.c.forgotten_at
    return find(connection, memory.c.space == space, forgotten >= since, by=forgotten, limit=100)


def highest(
    connection: Connection, by: str, space: str, collection: str, now: datetime, limit: int
) -> list[str]:
    """Ids of the memories of a collection that recall may return, highest first, by "created_at" or "importance"."""
    values = {"space": space, "collection": collection, "now": microseconds(now), "limit": limit}
    return [row[0] for row in read(connection, _HIGHEST[by], **values)]


def latest_users(connection: Connection, space: str, now: datetime) -> list[str]:
    """The users who told the `NEWEST` memories, in no order: those of a small space are all of its users."""
    values = {"space": space, "collection": "memory", "now": microseconds(now), "limit": NEWEST}
    return [row[0] for row in read(connection, _USERS, **values)]


def living(space: str, now: datetime) -> ColumnElement[bool]:
    """The condition for memories of a space that recall may return: current, not expired."""
    return and_(memory.c.space == space, living_anywhere(now))


def living_anywhere(now: datetime) -> ColumnElement[bool]:
    """The condition of `living`, for all spaces."""
    return and_(CURRENT, or_(memory.c.expires_at.is_(None), memory.c.expires_at > now))


def holder_of_key(connection: Connection, space: str, key: str) -> Memory | None:
    """The current memory with a key, if there is one; earlier versions stored decomposed letters as given."""
    forms = {key, *(unicodedata.normalize(form, key) for form in ("NFC", "NFD"))}
    found = find(connection, memory.c.space == space, memory.c.key.in_(forms), CURRENT, limit=1)
    return found[0] if found else None


def versions(connection: Connection, space: str, id: str) -> list[Memory]:
    """All memories linked to this one by superseding each other, oldest first."""
    known: dict[str, Memory] = {}
    visited: set[str] = set()
    wave = {id}
    while wave:
        visited |= wave
        touching = or_(memory.c.id.in_(wave), memory.c.superseded_by.in_(wave))
        found = [item for item in find(connection, touching) if item.space == space]
        known |= {item.id: item for item in found}
        wave = {item.id for item in found}
        wave |= {item.superseded_by for item in found if item.superseded_by}
        wave -= visited
    return sorted(known.values(), key=lambda item: (item.created_at, item.id))


def touch(connection: Connection, counts: Mapping[str, int], at: datetime) -> None:
    """Add recall counts, by memory id, and set the time of last access."""
    # Few statements of many rows: the driver reacquires the GIL after each.
    for more, ids in grouped((more, id) for id, more in counts.items()).items():
        for some in parts(ids, _TOUCH_BATCH):
            connection.execute(_TOUCH, {"ids": some, "more": more, "now": at})


@dataclass(frozen=True, slots=True)
class Fading:
    """A memory whose importance may decay, and the time it was last stored, changed or recalled."""

    id: str
    importance: float
    used_at: datetime


def fading(connection: Connection, space: str) -> list[Fading]:
    """The current memories that may lose importance: not identities, goals, todos or facts under a key."""
    lasting = or_(memory.c.type.in_(("identity", "goal", "todo")), memory.c.collection == "goal")
    query = select(
        memory.c.id,
        memory.c.importance,
        memory.c.created_at,
        memory.c.updated_at,
        memory.c.last_accessed_at,
    ).where(memory.c.space == space, CURRENT, memory.c.key.is_(None), ~lasting)
    return [
        Fading(id, importance, max(filter(None, used)))
        for id, importance, *used in connection.execute(query)
    ]


def set_importance(connection: Connection, importances: Mapping[str, float]) -> None:
    """Set the importance of memories by id; the time of their last change stays."""
    one = update(memory).where(memory.c.id == bindparam("of"))
    rows = [{"of": id, "to": importance} for id, importance in importances.items()]
    if rows:
        connection.execute(one.values(importance=bindparam("to")), rows)
