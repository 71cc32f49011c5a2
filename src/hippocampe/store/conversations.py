"""Rows of messages and turns. Each function takes a connection.

The turns of a channel form a chain ordered by time, linked by `previous_id` and `next_id`, so that
one query returns the neighbours of a hundred candidates.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Table,
    bindparam,
    delete,
    insert,
    or_,
    select,
    text,
    type_coerce,
    update,
)

from hippocampe.errors import InvalidInput
from hippocampe.store import sqlite
from hippocampe.store.driver import read_by_ids
from hippocampe.store.schema import instant, message, microseconds, turn
from hippocampe.types import Message

# By id alone: given a space too, SQLite would read all rows of the space.
_TURNS = select(turn).where(turn.c.id.in_(bindparam("ids", expanding=True)))
_NAMES = [column.name for column in turn.c]
SESSION_GAP = timedelta(hours=1)
"""Silence that ends a session of a channel."""

_MESSAGE = [
    column for column in message.c if column.name not in ("number", "turn_id", "created_at")
]


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


def turn_of_row(row: Row[Any]) -> Turn:
    """Convert a row that has at least the columns of a turn."""
    return Turn(**{column.name: getattr(row, column.name) for column in turn.c})


def message_of_row(row: Row[Any]) -> Message:
    """Convert a row that has at least the columns of a message."""
    values = {column.name: getattr(row, column.name) for column in _MESSAGE}
    values["channel"] = values["channel"] or None
    return Message(**values)


def known_external_ids(
    connection: Connection, space: str, ids: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """The (channel, external id) pairs that a space already has."""
    query = select(message.c.space, message.c.channel, message.c.external_id).where(
        message.c.external_id.in_(bindparam("ids", expanding=True))
    )
    rows = connection.execute(query, {"ids": [id for _, id in ids]})
    known = {(row.channel, row.external_id) for row in rows if row.space == space}
    return known & set(ids)


def turn_of_external_id(
    connection: Connection, space: str, channel: str, external_id: str
) -> str | None:
    """The turn of the message with this external id; None if no message has it.

    Raises:
        InvalidInput: The message belongs to no turn.
    """
    query = select(message.c.turn_id).where(
        message.c.space == space,
        message.c.channel == channel,
        message.c.external_id == external_id,
    )
    found = connection.execute(query).one_or_none()
    if found is not None and found.turn_id is None:
        raise InvalidInput(
            "external_id belongs to a message of the channel that is in no exchange: use another id."
        )
    return None if found is None else found.turn_id


def add_messages(
    connection: Connection,
    items: Sequence[Message],
    created_at: datetime,
    turns: Sequence[str | None],
) -> None:
    """Insert messages, each with the id of the turn it belongs to."""
    rows = [
        {
            "id": item.id,
            "space": item.space,
            "channel": item.channel or "",
            "author": item.author,
            "role": item.role,
            "content": item.content,
            "at": item.at,
            "created_at": created_at,
            "external_id": item.external_id,
            "reply_to": item.reply_to,
            "turn_id": turn_id,
            "live": item.live,
            "working": item.working,
        }
        for item, turn_id in zip(items, turns, strict=True)
    ]
    if rows:
        connection.execute(insert(message), rows)


def add_turns(connection: Connection, items: Iterable[Turn]) -> None:
    """Insert turns into the chains of their channels, after turns of the same or an earlier time."""
    channels: dict[tuple[str, str], list[Turn]] = {}
    for item in items:
        channels.setdefault((item.space, item.channel), []).append(item)
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
        connection.execute(insert(turn), [_row(item) for item in linked])
        if before:
            connection.execute(update(turn).where(turn.c.id == before.id).values(next_id=run[0].id))
        if after:
            connection.execute(
                update(turn).where(turn.c.id == after).values(previous_id=run[-1].id)
            )
        position = end


def _row(item: Turn) -> dict[str, Any]:
    return {column.name: getattr(item, column.name) for column in turn.c}


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


def turns(connection: Connection, space: str, ids: Collection[str]) -> dict[str, Turn]:
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


def within(
    table: Table,
    space: str | None,
    *,
    author: str | None = None,
    channel: str | None,
    since: datetime | None,
    until: datetime | None,
) -> list[ColumnElement[bool]]:
    """Conditions on turns or messages by space, author, channel and time; `until` is exclusive."""
    conditions: list[ColumnElement[bool]] = []
    if space is not None:
        conditions.append(table.c.space == space)
    if author is not None:
        conditions.append(table.c.author == author)
    if channel is not None:
        conditions.append(table.c.channel == channel)
    if since is not None:
        conditions.append(table.c.at >= since)
    if until is not None:
        conditions.append(table.c.at < until)
    return conditions


def latest(
    connection: Connection,
    space: str,
    *,
    channel: str | None,
    since: datetime | None,
    until: datetime | None,
    limit: int,
) -> list[Turn]:
    """The latest turns of a space that are not forgotten, newest first."""
    conditions = within(turn, space, channel=channel, since=since, until=until)
    query = select(turn).where(*conditions, turn.c.forgotten_at.is_(None))
    rows = connection.execute(query.order_by(turn.c.at.desc(), turn.c.id.desc()).limit(limit))
    return [Turn(*row) for row in rows]


def latest_live(
    connection: Connection,
    space: str,
    *,
    channel: str | None,
    since: datetime | None,
    until: datetime | None,
    limit: int,
) -> list[Message]:
    """The latest live messages of a space, newest first."""
    conditions = within(message, space, channel=channel, since=since, until=until)
    return find_messages(
        connection, *conditions, message.c.live.is_(True), newest_first=True, limit=limit
    )


def set_forgotten(
    connection: Connection,
    space: str,
    ids: Collection[str],
    at: datetime | None,
    reason: str | None,
) -> None:
    """Hide turns from recall, or show them again if `at` is None; messages stay."""
    query = update(turn).where(
        turn.c.space == space, turn.c.id.in_(bindparam("ids", expanding=True))
    )
    connection.execute(query.values(forgotten_at=at, forgotten_reason=reason), {"ids": list(ids)})


def remove_turns(connection: Connection, items: Collection[Turn]) -> None:
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
        message.c.turn_id.in_(bindparam("ids", expanding=True)),
        message.c.external_id.is_not(None),
    )
    .order_by(message.c.at, message.c.number)
)
_BESIDE = select(turn.c.id, turn.c.previous_id, turn.c.next_id).where(
    turn.c.id.in_(bindparam("ids", expanding=True))
)
_SPOKEN = select(
    turn.c.id, type_coerce(turn.c.at, BigInteger), turn.c.author, turn.c.channel
).where(turn.c.id.in_(bindparam("ids", expanding=True)), turn.c.forgotten_at.is_(None))


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
        connection: A transaction.
        ids: The turns.
        reach: Largest distance of a neighbour, in turns.
        author: Only turns of this author.
        channel: Only turns of this channel.
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
    wanted: dict[str, None] = {}
    for id in ids:
        for side in (before, after):
            end: str | None = id
            for _ in range(reach):
                end = side.get(end) if end is not None else None
                if end is not None:
                    wanted[end] = None
    first, last = since and microseconds(since), until and microseconds(until)
    shown = {
        id
        for id, at, by, there in read_by_ids(connection, _SPOKEN, list(wanted))
        if (first is None or at >= first)
        and (last is None or at < last)
        and author in (None, by)
        and channel in (None, there)
    }
    return [id for id in wanted if id in shown]


def external_ids(connection: Connection, turn_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The external ids of the messages of each turn, oldest first."""
    found: dict[str, tuple[str, ...]] = {}
    for turn_id, external_id in read_by_ids(connection, _EXTERNAL, list(turn_ids)):
        found[turn_id] = (*found.get(turn_id, ()), external_id)
    return found


def find_messages(
    connection: Connection,
    *conditions: ColumnElement[bool],
    newest_first: bool = False,
    limit: int | None = None,
) -> list[Message]:
    """Messages that meet all conditions, oldest first by default."""
    order = (message.c.at, message.c.number)
    if newest_first:
        order = tuple(column.desc() for column in order)
    query = select(*_MESSAGE).where(*conditions).order_by(*order).limit(limit)
    return [message_of_row(row) for row in connection.execute(query)]


def search_text(
    connection: Connection,
    space: str,
    query: str,
    *,
    author: str | None,
    channel: str | None,
    since: datetime | None,
    until: datetime | None,
    limit: int,
) -> list[Message]:
    """Messages that match a full-text query, newest first, without those of forgotten turns."""
    condition, parameters = sqlite.full_text_matches(query)
    if not parameters["full_text"]:
        return []
    shown = or_(message.c.turn_id.is_(None), turn.c.forgotten_at.is_(None))
    conditions = within(message, space, author=author, channel=channel, since=since, until=until)
    statement = (
        select(*_MESSAGE)
        .select_from(message.outerjoin(turn, turn.c.id == message.c.turn_id))
        .where(*conditions, text(condition), shown)
    )
    statement = statement.order_by(message.c.at.desc(), message.c.number.desc()).limit(limit)
    return [message_of_row(row) for row in connection.execute(statement, parameters)]


def set_live(connection: Connection, ids: Collection[str], live: bool) -> None:
    """Set or clear the live flag of messages."""
    query = update(message).where(message.c.id.in_(bindparam("ids", expanding=True)))
    connection.execute(query.values(live=live), {"ids": list(ids)})


def set_turns(connection: Connection, turns: Mapping[str, str]) -> None:
    """Set the turn of messages, by message id."""
    query = update(message).where(message.c.id == bindparam("message"))
    rows = [{"message": id, "turn": turn_id} for id, turn_id in turns.items()]
    if rows:
        connection.execute(query.values(turn_id=bindparam("turn")), rows)


def live(connection: Connection, space: str, ids: Collection[str] | None = None) -> list[Message]:
    """The live messages of a space, oldest first: all, or those of some ids."""
    conditions = [message.c.space == space, message.c.live.is_(True)]
    if ids is not None:
        conditions.append(message.c.id.in_(list(ids)))
    return find_messages(connection, *conditions)
