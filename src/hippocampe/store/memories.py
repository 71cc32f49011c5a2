"""Rows of memories, and of what they state: subjects, claims, aliases. Each function takes a connection."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    delete,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from hippocampe.statement import spelling
from hippocampe.store.driver import read, read_by_ids, write
from hippocampe.store.schema import Instant, alias, claim, instant, memory, subject
from hippocampe.types import Memory

_COLUMNS = [column for column in memory.c if column.name != "equality"]
_NAMES = [column.name for column in _COLUMNS]
_INSTANTS = [column.name for column in _COLUMNS if isinstance(column.type, Instant)]
CURRENT = and_(memory.c.forgotten_at.is_(None), memory.c.superseded_by.is_(None))

# The statements of recall are built once: building one costs more than running it.
_IDS: BindParameter[list[str]] = bindparam("ids", expanding=True)
# By id alone: beside a space, SQLite would rather read every row of the space.
_GET = select(*_COLUMNS).where(memory.c.id.in_(_IDS))
_SAME = (
    select(memory.c.id).where(
        memory.c.space == bindparam("space"),
        memory.c.collection == bindparam("collection"),
        memory.c.equality == bindparam("equality"),
        CURRENT,
    )
    # No order here: for its sake SQLite would read the whole space in the order of time.
)
_KNOWN = (
    *(memory.c.id, memory.c.content, memory.c.category, memory.c.key, memory.c.user),
    *(memory.c.expires_at, memory.c.subjects),
)
# By id alone, too: what else must hold is looked at afterwards.
_KNOWN_BY_ID = select(
    *_KNOWN, memory.c.space, memory.c.collection, memory.c.forgotten_at, memory.c.superseded_by
).where(memory.c.id.in_(_IDS))
_ABOUT = (
    select(*_KNOWN)
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
    select(*_KNOWN)
    .select_from(claim.join(memory, memory.c.id == claim.c.memory_id))
    .where(
        claim.c.space == bindparam("space"),
        claim.c.relation == bindparam("relation"),
        claim.c.subject.in_(_IDS),
        memory.c.collection == bindparam("collection"),
        CURRENT,
    )
)
_INSERT = insert(memory)
_INSERTS = {table: insert(table) for table in (subject, claim, alias)}
_TOUCH = (
    update(memory)
    .where(memory.c.id.in_(_IDS))
    .values(
        access_count=memory.c.access_count + bindparam("more"), last_accessed_at=bindparam("now")
    )
)
_TOUCHED_TOGETHER = 500
_ALIASES = (
    select(alias.c.name, alias.c.other)
    .join(memory, memory.c.id == alias.c.memory_id)
    .where(alias.c.space == bindparam("space"), CURRENT)
)


def equality_digest(content: str) -> str:
    """The digest of what is left of a statement without case, accents, punctuation and spaces."""
    return hashlib.blake2b((spelling(content) or content).encode(), digest_size=16).hexdigest()


def of_row(row: Row[Any]) -> Memory:
    """A memory from a row that begins with its columns."""
    values: dict[str, Any] = dict(zip(_NAMES, row, strict=False))
    values["subjects"] = tuple(values["subjects"])
    values["evidence"] = tuple(values["evidence"])
    return Memory(**values)


def _of_driver(row: Sequence[Any]) -> Memory:
    values: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    for name in _INSTANTS:
        if values[name] is not None:
            values[name] = instant(values[name])
    values["subjects"] = _listed(values["subjects"])
    values["evidence"] = _listed(values["evidence"])
    values["metadata"] = _parsed(values["metadata"])
    return Memory(**values)


def _listed(value: Any) -> tuple[str, ...]:
    return tuple(_parsed(value))


def _parsed(value: Any) -> Any:
    # Some drivers read JSON themselves.
    return json.loads(value) if isinstance(value, str) else value


def to_row(item: Memory) -> dict[str, Any]:
    """The columns of a memory."""
    values = {name: getattr(item, name) for name in _NAMES}
    values["subjects"] = list(item.subjects)
    values["evidence"] = list(item.evidence)
    values["metadata"] = dict(item.metadata)
    values["equality"] = equality_digest(item.content)
    return values


def add(connection: Connection, items: Sequence[Memory]) -> None:
    """Insert new memories with their subjects."""
    write(connection, _INSERT, [to_row(item) for item in items])


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in a memory's statement.

    Attributes:
        subjects: Folded subjects.
        claim: The single-valued relation it states, and whose.
        alias: Two names it says are one subject.
    """

    memory_id: str
    space: str
    subjects: tuple[str, ...]
    claim: tuple[str, str] | None
    alias: tuple[str, str] | None


def add_readings(connection: Connection, readings: Sequence[Reading]) -> None:
    """Write what was read in the statements of memories that are new."""
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
    """Write what was read in a memory's statement, in place of what was there."""
    for table in (subject, claim, alias):
        connection.execute(delete(table).where(table.c.memory_id == reading.memory_id))
    add_readings(connection, [reading])


def reading(connection: Connection, item: Memory) -> Reading:
    """What is stored of the statement of a memory; its subjects sorted."""
    subjects, claims, aliases = (
        connection.execute(select(*columns).where(columns[0].table.c.memory_id == item.id)).all()
        for columns in ((subject.c.name,), (claim.c.relation, claim.c.subject), (alias.c.name, alias.c.other))
    )  # fmt: skip
    return Reading(
        item.id,
        item.space,
        tuple(sorted(row[0] for row in subjects)),
        tuple(claims[0]) if claims else None,
        tuple(aliases[0]) if aliases else None,
    )


class Known(NamedTuple):
    """What of a memory is compared with a new statement, as the driver gives it."""

    id: str
    content: str
    category: str | None
    key: str | None
    user: str | None
    ends: int | None
    tags: Any

    @property
    def expires_at(self) -> datetime | None:
        """When it ends, if ever."""
        return None if self.ends is None else instant(self.ends)

    @property
    def subjects(self) -> tuple[str, ...]:
        """Its tags."""
        return _listed(self.tags)


def known(connection: Connection, space: str, collection: str, ids: Sequence[str]) -> list[Known]:
    """The current memories among these."""
    rows = read_by_ids(connection, _KNOWN_BY_ID, ids) if ids else []
    wanted, width = (space, collection, None, None), len(_KNOWN)
    return [Known(*row[:width]) for row in rows if tuple(row[width:]) == wanted]


def claiming(
    connection: Connection, space: str, collection: str, relation: str, subjects: Collection[str]
) -> list[Known]:
    """The current memories that state a single-valued relation of one of these subjects."""
    values = {"space": space, "collection": collection, "relation": relation}
    rows = read_by_ids(connection, _CLAIMING, sorted(subjects), **values)
    return [Known(*row) for row in rows]


def replace_row(connection: Connection, item: Memory) -> None:
    """Write every column of a memory that exists."""
    connection.execute(update(memory).where(memory.c.id == item.id).values(**to_row(item)))


def supersede(connection: Connection, old: Memory, by: str, at: datetime) -> Memory:
    """Mark a memory as replaced."""
    ended = replace(old, superseded_by=by, superseded_at=at, updated_at=at)
    replace_row(connection, ended)
    return ended


def get(connection: Connection, space: str, ids: Collection[str]) -> dict[str, Memory]:
    """Memories of a space by id; ids that it lacks are absent."""
    if not ids:
        return {}
    rows = read_by_ids(connection, _GET, list(ids))
    return {row[0]: _of_driver(row) for row in rows if row[1] == space}


def find(
    connection: Connection,
    *conditions: ColumnElement[bool],
    newest_first: bool = True,
    limit: int | None = None,
) -> list[Memory]:
    """Memories that meet all conditions, by time learnt."""
    order = memory.c.created_at.desc() if newest_first else memory.c.created_at.asc()
    tie = memory.c.id.desc() if newest_first else memory.c.id.asc()
    query = select(*_COLUMNS).where(*conditions).order_by(order, tie)
    return [of_row(row) for row in connection.execute(query.limit(limit))]


def living(space: str, now: datetime) -> ColumnElement[bool]:
    """The condition for what recall may show: current, not expired, of this space."""
    return and_(memory.c.space == space, living_anywhere(now))


def living_anywhere(now: datetime) -> ColumnElement[bool]:
    """The same condition for all spaces."""
    return and_(CURRENT, or_(memory.c.expires_at.is_(None), memory.c.expires_at > now))


def _age(item: Memory) -> tuple[datetime, str]:
    return item.created_at, item.id


def same_statement(connection: Connection, new: Memory) -> Memory | None:
    """Another current memory equal up to case, accents, punctuation and spaces, if there is one.

    A value under another key is another statement, whatever its words.
    """
    values = {
        "space": new.space,
        "collection": new.collection,
        "equality": equality_digest(new.content),
    }
    ids = [id for (id,) in read(connection, _SAME, **values) if id != new.id]
    found = get(connection, new.space, ids)
    for item in sorted(found.values(), key=_age, reverse=True):
        over = item.expires_at is not None and item.expires_at <= new.updated_at
        other_key = new.key is not None and item.key not in (None, new.key)
        if not over and not other_key and new.category in (None, item.category):
            return item
    return None


def holder_of_key(connection: Connection, space: str, key: str) -> Memory | None:
    """The current memory that holds a key, if there is one."""
    found = find(connection, memory.c.space == space, memory.c.key == key, CURRENT, limit=1)
    return found[0] if found else None


def about(
    connection: Connection,
    space: str,
    collection: str,
    names: Collection[str],
    limit: int,
) -> list[Known]:
    """The newest current memories that carry one of these subjects."""
    found: dict[str, Any] = {}
    for name in names:
        values = {"space": space, "name": name, "collection": collection, "most": limit}
        found |= {row[0]: row for row in read(connection, _ABOUT, **values)}
    # Ids are in the order of time.
    return [Known(*found[id]) for id in sorted(found, reverse=True)[:limit]]


def versions(connection: Connection, space: str, id: str) -> list[Memory]:
    """Every version of what this memory states, oldest first: what it replaced, what replaced it."""
    known: dict[str, Memory] = {}
    asked: set[str] = set()
    wave = {id}
    while wave:
        asked |= wave
        touching = or_(memory.c.id.in_(wave), memory.c.superseded_by.in_(wave))
        found = [item for item in find(connection, touching) if item.space == space]
        known |= {item.id: item for item in found}
        wave = {item.id for item in found}
        wave |= {item.superseded_by for item in found if item.superseded_by}
        wave -= asked
    return sorted(known.values(), key=lambda item: (item.created_at, item.id))


def touch(connection: Connection, counts: Mapping[str, int], at: datetime) -> None:
    """Record that memories were recalled, and how often each was."""
    ids_of: dict[int, list[str]] = {}
    for id, more in counts.items():
        ids_of.setdefault(more, []).append(id)
    # Few statements, each of many rows: between two, the interpreter lock is taken back.
    for more, ids in ids_of.items():
        for start in range(0, len(ids), _TOUCHED_TOGETHER):
            values = {"ids": ids[start : start + _TOUCHED_TOGETHER], "more": more, "now": at}
            connection.execute(_TOUCH, values)


def aliases(connection: Connection, space: str) -> dict[str, frozenset[str]]:
    """Each name of a space that has other names, with all of them, itself left out.

    Only aliases stated by a current memory count; they are taken as transitive.
    """
    groups: dict[str, set[str]] = {}
    for name, other in read(connection, _ALIASES, space=space):
        joined = groups.get(name, {name}) | groups.get(other, {other})
        for member in joined:
            groups[member] = joined
    return {name: frozenset(group - {name}) for name, group in groups.items()}


def ids_by(
    connection: Connection, order: ColumnElement[Any], limit: int, *conditions: ColumnElement[bool]
) -> list[str]:
    """The ids of the memories that meet all conditions and have the highest `order`."""
    query = select(memory.c.id).where(*conditions).order_by(order.desc())
    return list(connection.execute(query.limit(limit)).scalars())


_SHOWN = (
    select(*_COLUMNS)
    .where(
        memory.c.collection == "memory",
        CURRENT,
        or_(memory.c.expires_at.is_(None), memory.c.expires_at > bindparam("now")),
    )
    .limit(bindparam("most"))
)
_LISTED = _SHOWN.where(memory.c.space == bindparam("space"))
_IN_CHANNEL = memory.c.channel == bindparam("channel")
# Of equal importance, an index gives the newest first.
_BY_IMPORTANCE = memory.c.importance.desc()
_STANDING = {
    "identity": _LISTED.where(memory.c.type == literal_column("'identity'")).order_by(
        _BY_IMPORTANCE
    ),
    "important": _LISTED.where(memory.c.importance >= bindparam("least")).order_by(_BY_IMPORTANCE),
    "recent": _LISTED.where(
        memory.c.created_at >= bindparam("since"), memory.c.created_at <= bindparam("until")
    ).order_by(memory.c.created_at.desc()),
}
_STANDING_IN_CHANNEL = {name: query.where(_IN_CHANNEL) for name, query in _STANDING.items()}


def standing(
    connection: Connection,
    space: str,
    now: datetime,
    *,
    least: float,
    since: datetime,
    until: datetime,
    channel: str | None,
    limit: int,
) -> dict[str, list[Memory]]:
    """What matters whatever is asked: who is who, what is important, what is recent.

    Args:
        least: The least importance of what is important.
        since: When what is recent was learnt, at the earliest.
        until: And at the latest.
        channel: Only what was learnt there; None: anywhere.
        limit: How many of each, at most.

    Returns:
        By `identity`, `important` and `recent`: the best of each, first.
    """
    values = {"space": space, "now": now, "least": least, "since": since, "until": until}
    queries = _STANDING
    if channel is not None:
        queries, values = _STANDING_IN_CHANNEL, values | {"channel": channel}
    return {
        name: [of_row(row) for row in connection.execute(query, values | {"most": limit})]
        for name, query in queries.items()
    }


# The memory's own space is not asked for: SQLite would then look through all of it by importance.
_KNOWN_OF = (
    _SHOWN.join(subject, subject.c.memory_id == memory.c.id)
    .where(
        subject.c.space == bindparam("space"),
        subject.c.name.in_(bindparam("names", expanding=True)),
    )
    .order_by(_BY_IMPORTANCE, memory.c.created_at.desc())
)


def known_of(
    connection: Connection,
    space: str,
    names: Sequence[str],
    now: datetime,
    *,
    channel: str | None,
    limit: int,
) -> list[Memory]:
    """What is known of someone by any of their names, the most important first, then the newest."""
    query = _KNOWN_OF if channel is None else _KNOWN_OF.where(_IN_CHANNEL)
    values = {"space": space, "names": list(names), "now": now, "channel": channel}
    # A memory comes once for each of the names that it is about.
    rows = connection.execute(query, values | {"most": limit * len(names)})
    return list({row[0]: of_row(row) for row in rows}.values())[:limit]
