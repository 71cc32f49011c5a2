"""Queries of listings and of changes, and counts by space, user and subject."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, get_args

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    func,
    literal,
    or_,
    select,
    true,
    union_all,
)

from hippocampe.store import portable
from hippocampe.store.driver import IDS, grouped, read_by_ids
from hippocampe.store.memories import get, living, living_anywhere
from hippocampe.store.schema import memory, message, subject, to_json
from hippocampe.types import Change, ChangeKind, Memory, Metadata, Order, State


def in_state(state: State, now: datetime) -> ColumnElement[bool]:
    """The condition for memories in a state; expired ones count as forgotten."""
    if state == "all":
        return true()
    if state == "current":
        return living_anywhere(now)
    if state == "superseded":
        return memory.c.superseded_by.is_not(None)
    hidden = or_(memory.c.forgotten_at.is_not(None), memory.c.expires_at <= now)
    return and_(memory.c.superseded_by.is_(None), hidden)


def has_subject(space: str, names: Collection[str]) -> ColumnElement[bool]:
    """The condition for memories with any of these folded subjects."""
    about = select(subject.c.memory_id).where(subject.c.space == space, subject.c.name.in_(names))
    return memory.c.id.in_(about)


def has_word(word: str) -> ColumnElement[bool]:
    """The condition for memories with a word in the text or the key, in any case."""
    # SQLite knows no case of other letters than a to z.
    written = (
        {word, word.lower(), word.upper(), word.capitalize()} if not word.isascii() else {word}
    )
    places = (memory.c.content, memory.c.key)
    return or_(*(at.icontains(each, autoescape=True) for at in places for each in sorted(written)))


def has_metadata(wanted: Metadata) -> ColumnElement[bool]:
    """The condition for memories whose metadata has all of these pairs, equal in value and type.

    The database parses both sides, so numbers compare as written.
    """
    # Cheaper than parsing all rows: a matching row contains each pair as text.
    written = (to_json({name: value})[1:-1] for name, value in wanted.items())
    likely = (portable.ContainsText(memory.c.metadata, text) for text in written)
    return and_(*likely, portable.HasPairs(memory.c.metadata, to_json(dict(wanted))))


def ids_with_metadata(connection: Connection, space: str, wanted: Metadata) -> frozenset[str]:
    """The ids of the memories of a space whose metadata has all of these pairs."""
    query = select(memory.c.id).where(memory.c.space == space, has_metadata(wanted))
    return frozenset(connection.execute(query).scalars())


_ORDERS: dict[Order, tuple[tuple[Column[Any], ...], bool]] = {
    "newest": ((memory.c.created_at, memory.c.id), True),
    "oldest": ((memory.c.created_at, memory.c.id), False),
    "importance": ((memory.c.importance, memory.c.created_at, memory.c.id), True),
    "used": ((memory.c.access_count, memory.c.created_at, memory.c.id), True),
}
"""By order: its columns, and whether it is descending."""


def page(
    connection: Connection,
    space: str,
    conditions: Sequence[ColumnElement[bool]],
    order: Order,
    after: Sequence[Any] | None,
    limit: int,
    skip: int = 0,
) -> list[Memory]:
    """One page of the memories of a space that meet all conditions.

    Args:
        after: The `position` of the last memory of the previous page; None for the first page.
        skip: Memories left out before the page.
    """
    columns, descending = _ORDERS[order]
    query = select(memory.c.id).where(memory.c.space == space, *conditions)
    if after is not None:
        query = query.where(portable.beyond(columns, after, descending=descending))
    ordered = query.order_by(*(c.desc() if descending else c.asc() for c in columns))
    ids = connection.execute(ordered.limit(limit).offset(skip)).scalars().all()
    found = get(connection, space, ids)
    return [found[id] for id in ids]


def of_states(
    connection: Connection, space: str, conditions: Sequence[ColumnElement[bool]], now: datetime
) -> dict[State, int]:
    """The number of memories of a space that meet all conditions, by state, in one reading."""
    names: tuple[State, ...] = get_args(State)
    numbers = (func.count(case((in_state(name, now), 1))) for name in names)
    query = select(*numbers).select_from(memory).where(memory.c.space == space, *conditions)
    return dict(zip(names, connection.execute(query).one(), strict=True))


def position(item: Memory, order: Order) -> tuple[Any, ...]:
    """The sort key of a memory in an order."""
    return tuple(getattr(item, column.name) for column in _ORDERS[order][0])


def of_spaces(connection: Connection, now: datetime) -> tuple[dict[str, int], dict[str, int]]:
    """Counts of current memories and of messages by space, including spaces that have only history."""
    current = func.sum(case((living_anywhere(now), 1), else_=0))
    memories = select(memory.c.space, current).group_by(memory.c.space)
    messages = select(message.c.space, func.count()).group_by(message.c.space)
    return _mapping(connection, memories), _mapping(connection, messages)


def of_users(
    connection: Connection, space: str, now: datetime
) -> tuple[dict[str, int], dict[str, int]]:
    """Counts of current memories and of messages by user of a space, without the assistant."""
    by_people = or_(message.c.role.is_(None), message.c.role != "assistant")
    memories, messages = (
        select(name, func.count()).where(*conditions, name.is_not(None)).group_by(name)
        for name, *conditions in (
            (memory.c.user, living(space, now)),
            (message.c.author, message.c.space == space, by_people),
        )
    )
    return _mapping(connection, memories), _mapping(connection, messages)


def tellers(connection: Connection, space: str) -> list[str]:
    """The users of the memories of a space, past ones included."""
    query = select(memory.c.user).where(memory.c.space == space, memory.c.user.is_not(None))
    return list(connection.execute(query.distinct()).scalars())


def of_subjects(connection: Connection, space: str, now: datetime) -> dict[str, int]:
    """Counts of current memories by subject of a space, highest first, then by name."""
    many = func.count()
    query = (
        select(subject.c.name, many)
        .join(memory, memory.c.id == subject.c.memory_id)
        .where(subject.c.space == space, living(space, now))
        .group_by(subject.c.name)
        .order_by(many.desc(), subject.c.name)
    )
    return _mapping(connection, query)


class Excerpt(NamedTuple):
    """The beginning of a memory; `subjects` as the caller wrote them."""

    id: str
    content: str
    type: str
    collection: str
    subjects: tuple[str, ...]
    created_at: datetime


def excerpts(
    connection: Connection, space: str, now: datetime, *, characters: int, limit: int
) -> list[Excerpt]:
    """The most important current memories of a space, newest first among equals."""
    beginning = func.substr(memory.c.content, 1, characters)
    columns = (memory.c.id, beginning, memory.c.type, memory.c.collection)
    query = (
        select(*columns, memory.c.subjects, memory.c.created_at)
        .where(living(space, now))
        .order_by(memory.c.importance.desc(), memory.c.created_at.desc(), memory.c.id.desc())
        .limit(limit)
    )
    rows = connection.execute(query)
    return [Excerpt(*row[:4], tuple(row[4]), row[5]) for row in rows]


_SUBJECTS = select(subject.c.space, subject.c.memory_id, subject.c.name).where(
    subject.c.memory_id.in_(IDS)
)


def subjects_by_memory(
    connection: Connection, space: str, ids: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """The folded subjects of memories, sorted; memories without any are left out."""
    rows = read_by_ids(connection, _SUBJECTS, ids)
    found = grouped((id, name) for of, id, name in rows if of == space)
    return {id: tuple(sorted(names)) for id, names in found.items()}


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


def _mapping(connection: Connection, query: Select[Any, Any]) -> dict[str, int]:
    return {row[0]: row[1] for row in connection.execute(query)}
