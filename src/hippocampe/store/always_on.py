"""Memories of the always-on context, selected without a search. Each function takes a connection."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    Connection,
    Select,
    bindparam,
    func,
    literal_column,
    or_,
    select,
)

from hippocampe.store import memories
from hippocampe.store.memories import COLUMNS, CURRENT, of_row
from hippocampe.store.schema import memory, subject
from hippocampe.types import Memory

SCANNED: Final = 2_000
"""Memories of a kind that are read to find those of one person: without a limit, somebody who has told nothing
would have all memories of a large space read in each turn."""

_LIVING = select(*COLUMNS).where(
    memory.c.collection == "memory",
    CURRENT,
    or_(memory.c.expires_at.is_(None), memory.c.expires_at > bindparam("now")),
)
_OF_SPACE = _LIVING.where(memory.c.space == bindparam("space"))
_IN_CHANNEL = memory.c.channel == bindparam("channel")
# Ties need no order: the index returns the newest first.
_BY_IMPORTANCE = memory.c.importance.desc()
_QUERIES = {
    "identity": _OF_SPACE.where(memory.c.type == literal_column("'identity'")).order_by(
        _BY_IMPORTANCE
    ),
    "important": _OF_SPACE.where(memory.c.importance >= bindparam("least")).order_by(
        _BY_IMPORTANCE
    ),
    "recent": _OF_SPACE.where(
        memory.c.created_at >= bindparam("since"), memory.c.created_at <= bindparam("until")
    ).order_by(memory.c.created_at.desc()),
}
_QUERIES_IN_CHANNEL = {name: query.where(_IN_CHANNEL) for name, query in _QUERIES.items()}


def _of_person(query: Select[Any]) -> Select[Any]:
    """Restrict a query to what a person told, what is about them, and what nobody told; in the same order."""
    each = query.limit(SCANNED).subquery()
    names: BindParameter[list[str]] = bindparam("names", expanding=True)
    about = select(subject.c.name).where(
        subject.c.memory_id == each.c.id, subject.c.name.in_(names)
    )
    told = or_(each.c.user.in_(names), func.lower(each.c.user).in_(names))
    # The subquery is read in its order, and only as far as the limit asks.
    return select(each).where(or_(each.c.user.is_(None), told, about.exists()))


_MOST: BindParameter[int] = bindparam("most")
_ALWAYS_ON = {
    (in_channel, of_person): {
        name: (_of_person(query) if of_person else query).limit(_MOST)
        for name, query in queries.items()
    }
    for in_channel, queries in ((False, _QUERIES), (True, _QUERIES_IN_CHANNEL))
    for of_person in (False, True)
}
# No condition on the space of the memory: SQLite would then scan the space by importance.
_ABOUT = (
    _LIVING.join(subject, subject.c.memory_id == memory.c.id)
    .where(
        subject.c.space == bindparam("space"),
        subject.c.name.in_(bindparam("names", expanding=True)),
    )
    .order_by(_BY_IMPORTANCE, memory.c.created_at.desc())
    .limit(_MOST)
)
# The user has no index, so only the most important memories of the space are read. Their ids come
# first: in one query, SQLite would read all.
_MOST_IMPORTANT = (
    select(memory.c.id, memory.c.user)
    .where(
        memory.c.space == bindparam("space"),
        memory.c.collection == "memory",
        CURRENT,
        # Always true, but with it SQLite reads by importance and stops at the limit.
        memory.c.importance >= 0.0,
    )
    .order_by(_BY_IMPORTANCE)
    .limit(bindparam("scanned"))
)


def always_on(
    connection: Connection,
    space: str,
    now: datetime,
    *,
    least: float,
    since: datetime,
    until: datetime,
    channel: str | None,
    names: Collection[str] | None,
    limit: int,
) -> dict[str, list[Memory]]:
    """The memories for every turn: identities, important and recent ones.

    Args:
        least: Minimum importance of `important`.
        since: Earliest creation time of `recent`, inclusive.
        until: Latest creation time of `recent`, inclusive.
        channel: Only memories learnt there; None for all.
        names: Names of a person, folded and as labels: only what they told, what is about them, and what nobody
            told; None for all.
        limit: Maximum of each.

    Returns:
        Best first, by `identity`, `important` and `recent`.
    """
    values = {"space": space, "now": now, "least": least, "since": since, "until": until}
    values |= {"channel": channel} if channel is not None else {}
    values |= {"names": list(names)} if names is not None else {}
    queries = _ALWAYS_ON[channel is not None, names is not None]
    return {
        name: [of_row(row) for row in connection.execute(query, values | {"most": limit})]
        for name, query in queries.items()
    }


def told_in(
    connection: Connection,
    space: str,
    now: datetime,
    *,
    since: datetime,
    until: datetime,
    channel: str | None,
    limit: int,
) -> list[Memory]:
    """Memories told in a period, newest first.

    Args:
        since: Earliest creation time, inclusive.
        until: Latest creation time, inclusive.
        channel: Only memories learnt there; None for all.
        limit: Maximum number.
    """
    query = (_QUERIES if channel is None else _QUERIES_IN_CHANNEL)["recent"].limit(_MOST)
    values = {"space": space, "now": now, "since": since, "until": until, "channel": channel}
    return [of_row(row) for row in connection.execute(query, values | {"most": limit})]


def dated_in(
    connection: Connection,
    space: str,
    now: datetime,
    *,
    since: datetime,
    until: datetime,
    channel: str | None,
) -> list[Memory]:
    """Memories with the time of their event in a period, of the `SCANNED` newest: it has no index.

    Args:
        since: Earliest time, inclusive.
        until: Latest time, exclusive.
        channel: Only memories learnt there; None for all.
    """
    living = _OF_SPACE if channel is None else _OF_SPACE.where(_IN_CHANNEL)
    each = living.order_by(memory.c.created_at.desc()).limit(SCANNED).subquery()
    query = select(each).where(each.c.occurred_at >= since, each.c.occurred_at < until)
    values = {"space": space, "now": now, "channel": channel}
    return [of_row(row) for row in connection.execute(query, values)]


def about_names(
    connection: Connection,
    space: str,
    names: Sequence[str],
    now: datetime,
    *,
    channel: str | None,
    limit: int,
) -> list[Memory]:
    """Memories about someone, by any of their folded names: most important first, then newest."""
    query = _ABOUT if channel is None else _ABOUT.where(_IN_CHANNEL)
    values = {"space": space, "names": list(names), "now": now, "channel": channel}
    # The join returns a memory once per name that it is about.
    rows = connection.execute(query, values | {"most": limit * len(names)})
    return list({row[0]: of_row(row) for row in rows}.values())[:limit]


def by_users(
    connection: Connection,
    space: str,
    is_user: Callable[[str], bool],
    now: datetime,
    *,
    channel: str | None,
    scanned: int,
) -> list[Memory]:
    """Memories from some users, among the `scanned` most important of the space: most important first."""
    listed = connection.execute(_MOST_IMPORTANT, {"space": space, "scanned": scanned})
    ids = [row.id for row in listed if row.user is not None and is_user(row.user)]
    found = memories.get(connection, space, ids)
    return [
        found[id]
        for id in ids
        if id in found
        and (channel is None or found[id].channel == channel)
        and not found[id].has_expired(now)
    ]
