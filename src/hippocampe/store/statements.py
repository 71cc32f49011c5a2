"""Readings of memories, and the queries that find memories to compare with a new statement.

Subjects, claims and aliases are derived by the caller and stored as rows beside the memory.
Each function takes a connection.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from hippocampe.store.driver import IDS, read, read_by_ids, write
from hippocampe.store.memories import CURRENT, get
from hippocampe.store.schema import alias, claim, instant, memory, subject
from hippocampe.types import Memory

_SAME = (
    select(memory.c.id).where(
        memory.c.space == bindparam("space"),
        memory.c.collection == bindparam("collection"),
        memory.c.equality == bindparam("equality"),
        CURRENT,
    )
    # Not ordered: SQLite would then read the whole space by time.
)
_STORED = (
    *(memory.c.id, memory.c.content, memory.c.category, memory.c.key, memory.c.user),
    *(memory.c.expires_at, memory.c.subjects),
)
# By id alone: given a space too, SQLite would read all rows of the space.
_BY_ID = select(
    *_STORED, memory.c.space, memory.c.collection, memory.c.forgotten_at, memory.c.superseded_by
).where(memory.c.id.in_(IDS))
_ABOUT = (
    select(*_STORED)
    .select_from(subject.join(memory, memory.c.id == subject.c.memory_id))
    .where(
        subject.c.space == bindparam("space"),
        subject.c.name == bindparam("name"),
        memory.c.collection == bindparam("collection"),
        CURRENT,
    )
    .order_by(subject.c.memory_id.desc())
    .limit(bindparam("most"))
)
_CLAIMING = (
    select(*_STORED)
    .select_from(claim.join(memory, memory.c.id == claim.c.memory_id))
    .where(
        claim.c.space == bindparam("space"),
        claim.c.relation == bindparam("relation"),
        claim.c.subject.in_(IDS),
        memory.c.collection == bindparam("collection"),
        CURRENT,
    )
)
_ALIASES = (
    select(alias.c.name, alias.c.other)
    .join(memory, memory.c.id == alias.c.memory_id)
    .where(alias.c.space == bindparam("space"), CURRENT)
)
_INSERTS = {table: insert(table) for table in (subject, claim, alias)}


@dataclass(frozen=True, slots=True)
class Reading:
    """The parsed statement of a memory.

    Attributes:
        subjects: Folded subjects.
        claim: A single-valued relation and its folded subject, if the statement has one.
        alias: Two folded names that the statement equates, if it does.
    """

    memory_id: str
    space: str
    subjects: tuple[str, ...]
    claim: tuple[str, str] | None
    alias: tuple[str, str] | None


def add_readings(connection: Connection, readings: Sequence[Reading]) -> None:
    """Insert the readings of new memories."""
    subjects: list[dict[str, str]] = []
    claims: list[dict[str, str]] = []
    aliases: list[dict[str, str]] = []
    for reading in readings:
        of = {"memory_id": reading.memory_id, "space": reading.space}
        subjects += [of | {"name": name} for name in reading.subjects]
        if reading.claim:
            claims.append(of | {"relation": reading.claim[0], "subject": reading.claim[1]})
        if reading.alias:
            aliases.append(of | {"name": reading.alias[0], "other": reading.alias[1]})
    for table, rows in ((subject, subjects), (claim, claims), (alias, aliases)):
        write(connection, _INSERTS[table], rows)


def replace_reading(connection: Connection, reading: Reading) -> None:
    """Replace the reading of a memory."""
    for table in (subject, claim, alias):
        connection.execute(delete(table).where(table.c.memory_id == reading.memory_id))
    add_readings(connection, [reading])


def get_reading(connection: Connection, item: Memory) -> Reading:
    """The stored reading of a memory, its subjects sorted."""

    def rows(*columns: Any) -> list[Any]:
        of_memory = columns[0].table.c.memory_id == item.id
        return list(connection.execute(select(*columns).where(of_memory)).all())

    claims = rows(claim.c.relation, claim.c.subject)
    aliases = rows(alias.c.name, alias.c.other)
    return Reading(
        item.id,
        item.space,
        tuple(sorted(name for (name,) in rows(subject.c.name))),
        tuple(claims[0]) if claims else None,
        tuple(aliases[0]) if aliases else None,
    )


class StoredStatement(NamedTuple):
    """The fields of a memory that are compared with a new statement, as the driver returns them."""

    id: str
    content: str
    category: str | None
    key: str | None
    user: str | None
    expires_at_microseconds: int | None
    subjects_json: str

    @property
    def expires_at(self) -> datetime | None:
        """The time when it expires, if ever."""
        microseconds = self.expires_at_microseconds
        return None if microseconds is None else instant(microseconds)

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects from the caller."""
        return tuple(json.loads(self.subjects_json))


def current(
    connection: Connection, space: str, collection: str, ids: Sequence[str]
) -> list[StoredStatement]:
    """The current memories among these ids."""
    rows = read_by_ids(connection, _BY_ID, ids) if ids else []
    wanted, width = (space, collection, None, None), len(_STORED)
    return [StoredStatement(*row[:width]) for row in rows if tuple(row[width:]) == wanted]


def claiming(
    connection: Connection, space: str, collection: str, relation: str, subjects: Collection[str]
) -> list[StoredStatement]:
    """The current memories that claim a relation of one of these subjects."""
    values = {"space": space, "collection": collection, "relation": relation}
    rows = read_by_ids(connection, _CLAIMING, sorted(subjects), **values)
    return [StoredStatement(*row) for row in rows]


def about(
    connection: Connection, space: str, collection: str, names: Collection[str], limit: int
) -> list[StoredStatement]:
    """The newest current memories with one of these folded subjects."""
    found: dict[str, Any] = {}
    for name in names:
        values = {"space": space, "name": name, "collection": collection, "most": limit}
        found |= {row[0]: row for row in read(connection, _ABOUT, **values)}
    # Ids sort by time.
    return [StoredStatement(*found[id]) for id in sorted(found, reverse=True)[:limit]]


def count_about(connection: Connection, space: str, names: Collection[str]) -> dict[str, int]:
    """The number of current memories of each of these folded subjects."""
    named = (subject.c.space == space, subject.c.name.in_(names))
    query = select(subject.c.name, func.count()).join(memory, memory.c.id == subject.c.memory_id)
    query = query.where(*named, memory.c.collection == "memory", CURRENT)
    counted = {row[0]: row[1] for row in connection.execute(query.group_by(subject.c.name))}
    return {name: counted.get(name, 0) for name in names}


def same_statement(connection: Connection, new: Memory, equality: str) -> Memory | None:
    """The newest other current memory with the same statement, if there is one.

    A memory under another key or category, or expired, does not count.

    Args:
        new: A memory, stored or not.
        equality: The digest of its statement, as given to `memories.add`.
    """
    values = {"space": new.space, "collection": new.collection, "equality": equality}
    ids = [id for (id,) in read(connection, _SAME, **values) if id != new.id]
    found = get(connection, new.space, ids)
    for item in sorted(found.values(), key=lambda each: (each.created_at, each.id), reverse=True):
        expired = item.expires_at is not None and item.expires_at <= new.updated_at
        other_key = new.key is not None and item.key not in (None, new.key)
        if not expired and not other_key and new.category in (None, item.category):
            return item
    return None


def aliases(connection: Connection, space: str) -> dict[str, frozenset[str]]:
    """By name, its other names, for all names of a space that have any.

    Only aliases stated by current memories count. They are transitive.
    """
    groups: dict[str, set[str]] = {}
    for name, other in read(connection, _ALIASES, space=space):
        joined = groups.get(name, {name}) | groups.get(other, {other})
        for member in joined:
            groups[member] = joined
    return {name: frozenset(group - {name}) for name, group in groups.items()}
