"""Rows of turns. Each function takes a connection.

The turns of a channel form a chain ordered by time, linked by `previous_id` and `next_id`, so that
one query returns the neighbours of a hundred candidates.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import inf
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Row,
    bindparam,
    delete,
    insert,
    select,
    text,
    type_coerce,
    update,
)

from hippocampe.store import full_text
from hippocampe.store.driver import IDS, grouped, read, read_by_ids
from hippocampe.store.message_rows import within
from hippocampe.store.portable import beyond
from hippocampe.store.schema import fields_of, instant, message, microseconds, turn

# By id alone: given a space too, SQLite would read all rows of the space.
_TURNS = select(turn).where(turn.c.id.in_(IDS))
_NAMES = [column.name for column in turn.c]
NEWEST = 100
"""Turns whose authors `latest_authors` reads: each search pays for them."""
_LATEST = (
    select(turn.c.author)
    .where(turn.c.space == bindparam("space"), turn.c.forgotten_at.is_(None))
    .order_by(turn.c.at.desc())
    .limit(bindparam("limit"))
    .subquery()
)
_AUTHORS = select(_LATEST.c.author).where(_LATEST.c.author.is_not(None)).distinct()
_LATEST_IN = (
    select(turn)
    .where(
        *(turn.c.space == bindparam("space"), turn.c.channel == bindparam("channel")),
        *(turn.c.at >= bindparam("since"), turn.c.at < bindparam("until")),
        turn.c.forgotten_at.is_(None),
    )
    .order_by(turn.c.at.desc(), turn.c.id.desc())
    .limit(bindparam("limit"))
)
SESSION_GAP = timedelta(hours=1)
"""Silence that ends a session of a channel."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The unit of recall of talk. `channel` is empty when none was given."""

    id: str
    space: str
    channel: str
    author: str | None
    content: str
    at: datetime
    previous_id: str | None = None
    next_id: str | None = None
    session: str = ""
    forgotten_at: datetime | None = None
    forgotten_reason: str | None = None


def of_row(row: Row[Any]) -> Turn:
    """Convert a row that has at least the columns of a turn."""
    return Turn(**fields_of(turn, row))


def add(connection: Connection, items: Iterable[Turn]) -> None:
    """Insert turns into the chains of their channels, after turns of the same or an earlier time."""
    channels = grouped(((item.space, item.channel), item) for item in items)
    for chain in channels.values():
        chain.sort(key=lambda item: item.at)
        _link(connection, chain)


def _link(connection: Connection, chain: list[Turn]) -> None:
    """Insert the sorted turns of one channel, as runs between existing turns."""
    position = 0
    while position < len(chain):
        before = _last_at_or_before(connection, chain[position])
        after = _first_after(connection, chain[position]) if before is None else before.next_id
        after_at = _at(connection, after) if after else None
        end = position + 1
        while end < len(chain) and (after_at is None or chain[end].at < after_at):
            end += 1
        run = chain[position:end]
        ids = [before.id if before else None, *(item.id for item in run), after]
        last = before
        linked: list[Turn] = []
        for number, item in enumerate(run):
            same = last is not None and item.at - last.at < SESSION_GAP
            last = replace(
                item,
                previous_id=ids[number],
                next_id=ids[number + 2],
                session=last.session if same and last else item.id,
            )
            linked.append(last)
        connection.execute(insert(turn), [fields_of(turn, item) for item in linked])
        if before:
            connection.execute(update(turn).where(turn.c.id == before.id).values(next_id=run[0].id))
        if after:
            connection.execute(
                update(turn).where(turn.c.id == after).values(previous_id=run[-1].id)
            )
        position = end


def _last_at_or_before(connection: Connection, item: Turn) -> Turn | None:
    query = select(turn).where(
        turn.c.space == item.space, turn.c.channel == item.channel, turn.c.at <= item.at
    )
    latest = connection.execute(query.order_by(turn.c.at.desc()).limit(1)).first()
    if latest is None:
        return None
    # Of several turns of the same instant, the last of the chain has a later successor.
    tied = connection.execute(query.where(turn.c.at == latest.at)).all()
    ids = {row.id for row in tied}
    return next(Turn(*row) for row in tied if row.next_id not in ids)


def _first_after(connection: Connection, item: Turn) -> str | None:
    query = select(turn.c.id).where(
        turn.c.space == item.space,
        turn.c.channel == item.channel,
        turn.c.at > item.at,
        turn.c.previous_id.is_(None),
    )
    return connection.execute(query).scalar()


def _at(connection: Connection, id: str) -> datetime:
    return connection.execute(select(turn.c.at).where(turn.c.id == id)).scalar_one()


def set_content(connection: Connection, id: str, content: str) -> None:
    """Change the text of a turn, which that of one of its messages changed."""
    connection.execute(update(turn).where(turn.c.id == id).values(content=content))


def get(connection: Connection, space: str, ids: Collection[str]) -> dict[str, Turn]:
    """Turns of a space by id, the forgotten ones too."""
    if not ids:
        return {}
    rows = [row for row in read_by_ids(connection, _TURNS, list(ids)) if row[1] == space]
    return {row[0]: _of_driver(row) for row in rows}


def _of_driver(row: Sequence[Any]) -> Turn:
    values: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    forgotten_at = values["forgotten_at"]
    values["at"] = instant(values["at"])
    values["forgotten_at"] = None if forgotten_at is None else instant(forgotten_at)
    return Turn(**values)


def latest(
    connection: Connection,
    space: str,
    *,
    author: str | None = None,
    channel: str | None,
    since: datetime | None,
    until: datetime | None,
    words: str | None = None,
    after: Turn | None = None,
    oldest_first: bool = False,
    limit: int,
) -> list[Turn]:
    """The turns of a space that are not forgotten, newest first, from the last one or after one of them.

    Args:
        author: Only those that this author began.
        since: Earliest time, inclusive.
        until: Latest time, exclusive.
        words: Only those with a message that matches this full-text query.
        after: The last turn of the page before.
        oldest_first: In the other order.
    """
    conditions = within(turn, space, author=author, channel=channel, since=since, until=until)
    parameters: dict[str, str] = {}
    if words is not None:
        condition, parameters = full_text.matches(connection, words)
        if not parameters["full_text"]:
            return []
        conditions.append(turn.c.id.in_(select(message.c.turn_id).where(text(condition))))
    order = (turn.c.at, turn.c.id)
    if after is not None:
        conditions.append(beyond(order, (after.at, after.id), descending=not oldest_first))
    query = select(turn).where(*conditions, turn.c.forgotten_at.is_(None)).limit(limit)
    ordered = query.order_by(*(each if oldest_first else each.desc() for each in order))
    return [Turn(*row) for row in connection.execute(ordered, parameters)]


def latest_in(
    connection: Connection,
    space: str,
    channel: str,
    *,
    since: datetime,
    until: datetime,
    limit: int,
) -> list[Turn]:
    """`latest` for one channel and a time, for the hot path."""
    values = {
        "space": space,
        "channel": channel,
        "since": microseconds(since),
        "until": microseconds(until),
        "limit": limit,
    }
    return [_of_driver(row) for row in read(connection, _LATEST_IN, **values)]


def latest_authors(connection: Connection, space: str) -> list[str]:
    """The authors of the `NEWEST` turns that are not forgotten, in no order."""
    return [row[0] for row in read(connection, _AUTHORS, space=space, limit=NEWEST)]


def set_forgotten(
    connection: Connection,
    space: str,
    ids: Collection[str],
    at: datetime | None,
    reason: str | None,
) -> None:
    """Hide turns from recall, or show them again if `at` is None; messages stay."""
    query = update(turn).where(turn.c.space == space, turn.c.id.in_(ids))
    connection.execute(query.values(forgotten_at=at, forgotten_reason=reason))


def remove(connection: Connection, items: Collection[Turn]) -> None:
    """Delete turns and their messages, and link the turns around them."""
    for item in items:
        row = connection.execute(select(turn).where(turn.c.id == item.id)).one()
        connection.execute(
            update(turn).where(turn.c.id == row.previous_id).values(next_id=row.next_id)
        )
        connection.execute(
            update(turn).where(turn.c.id == row.next_id).values(previous_id=row.previous_id)
        )
        connection.execute(delete(message).where(message.c.turn_id == item.id))
        connection.execute(delete(turn).where(turn.c.id == item.id))


_EXTERNAL = (
    select(message.c.turn_id, message.c.external_id)
    .where(
        message.c.turn_id.in_(IDS),
        message.c.external_id.is_not(None),
    )
    .order_by(message.c.at, message.c.number)
)
_BESIDE = select(turn.c.id, turn.c.previous_id, turn.c.next_id).where(turn.c.id.in_(IDS))
_SPOKEN = select(
    turn.c.id, type_coerce(turn.c.at, BigInteger), turn.c.author, turn.c.channel
).where(turn.c.id.in_(IDS), turn.c.forgotten_at.is_(None))


def beside(
    connection: Connection,
    ids: Sequence[str],
    *,
    reach: int = 1,
    author: str | None = None,
    channel: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[str]:
    """The neighbours of turns that pass the filters and are not forgotten, grouped by turn.

    Args:
        reach: Largest distance of a neighbour, in turns.
        since: Earliest time, inclusive.
        until: Latest time, exclusive.
    """
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}
    asked = list(ids)
    for _ in range(reach):
        for id, previous, following in read_by_ids(connection, _BESIDE, asked):
            before[id], after[id] = previous, following
        ends = {end for id in asked for end in (before.get(id), after.get(id))}
        asked = [end for end in ends if end is not None and end not in before]
    wanted = _around(ids, (before, after), reach)
    first = -inf if since is None else microseconds(since)
    last = inf if until is None else microseconds(until)
    shown = {
        id
        for id, at, by, there in read_by_ids(connection, _SPOKEN, list(wanted))
        if first <= at < last and author in (None, by) and channel in (None, there)
    }
    return [id for id in wanted if id in shown]


def _around(
    ids: Sequence[str], chains: Sequence[Mapping[str, str | None]], reach: int
) -> dict[str, None]:
    """The next turns of each chain after each of some turns, grouped by these."""
    found: dict[str, None] = {}
    for id in ids:
        for chain in chains:
            end: str | None = id
            for _ in range(reach):
                end = chain.get(end)
                if end is None:
                    break
                found[end] = None
    return found


def external_ids(connection: Connection, turn_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The external ids of the messages of each turn, oldest first."""
    found = grouped(read_by_ids(connection, _EXTERNAL, list(turn_ids)))
    return {id: tuple(external) for id, external in found.items()}
