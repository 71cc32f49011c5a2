"""Rows of messages and turns. Each function takes a connection.

The turns of a channel form a chain ordered by time, kept in `previous_id` and `next_id`, so that
the neighbours of a hundred candidates are one query.
"""

from collections.abc import Collection, Iterable, Sequence
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

from hippocampe.store import sqlite
from hippocampe.store.driver import read_by_ids
from hippocampe.store.schema import instant, message, microseconds, turn
from hippocampe.types import Message

# By id alone: beside a space, SQLite would rather read every row of the space.
_TURNS = select(turn).where(turn.c.id.in_(bindparam("ids", expanding=True)))
_NAMES = [column.name for column in turn.c]
SESSION_GAP = timedelta(hours=1)
"""Silence after which a channel's talk is another session."""

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
    """A turn from a row that has its columns, and perhaps others."""
    return Turn(**{column.name: getattr(row, column.name) for column in turn.c})


def message_of_row(row: Row[Any]) -> Message:
    """A message from a row that has its columns, and perhaps others."""
    values = {column.name: getattr(row, column.name) for column in _MESSAGE}
    values["channel"] = values["channel"] or None
    return Message(**values)


def known_external_ids(
    connection: Connection, space: str, ids: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Which of these (channel, external id) pairs a space already has."""
    query = select(message.c.space, message.c.channel, message.c.external_id).where(
        message.c.external_id.in_(bindparam("ids", expanding=True))
    )
    rows = connection.execute(query, {"ids": [id for _, id in ids]})
    known = {(row.channel, row.external_id) for row in rows if row.space == space}
    return known & set(ids)


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
        }
        for item, turn_id in zip(items, turns, strict=True)
    ]
    if rows:
        connection.execute(insert(message), rows)


def add_turns(connection: Connection, items: Iterable[Turn]) -> None:
    """Insert turns, each into the chain of its channel after those of the same time or before."""
    channels: dict[tuple[str, str], list[Turn]] = {}
    for item in items:
        channels.setdefault((item.space, item.channel), []).append(item)
    for chain in channels.values():
        chain.sort(key=lambda item: item.at)
        _link(connection, chain)


def _link(connection: Connection, chain: list[Turn]) -> None:
    """Insert one channel's turns, ascending by time, as runs between turns already there."""
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
    # Of those of the same instant, the end of the chain is the one whose successor is later.
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


def said_in(
    table: Table,
    space: str,
    *,
    author: str | None = None,
    channel: str | None,
    since: datetime | None,
    until: datetime | None,
) -> list[ColumnElement[bool]]:
    """The conditions on turns or messages for who said them, where and when; `until` exclusive."""
    conditions = [table.c.space == space]
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
    """The latest turns of a space, newest first, forgotten ones left out."""
    said = said_in(turn, space, channel=channel, since=since, until=until)
    query = select(turn).where(*said, turn.c.forgotten_at.is_(None))
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
    said = said_in(message, space, channel=channel, since=since, until=until)
    return find_messages(
        connection, *said, message.c.live.is_(True), newest_first=True, limit=limit
    )


def set_forgotten(
    connection: Connection,
    space: str,
    ids: Collection[str],
    at: datetime | None,
    reason: str | None,
) -> None:
    """Hide turns from recall, or show them again where `at` is None; their messages stay."""
    query = update(turn).where(
        turn.c.space == space, turn.c.id.in_(bindparam("ids", expanding=True))
    )
    connection.execute(query.values(forgotten_at=at, forgotten_reason=reason), {"ids": list(ids)})


def remove_turns(connection: Connection, items: Collection[Turn]) -> None:
    """Delete turns and their messages, closing the chain over the gap."""
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
    author: str | None = None,
    channel: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[str]:
    """The turns just before and after some turns that pass the filters, in the order of these,
    forgotten ones left out."""
    rows = {row[0]: row[1:] for row in read_by_ids(connection, _BESIDE, ids)}
    ends = (end for id in ids if id in rows for end in rows[id])
    wanted = list(dict.fromkeys(end for end in ends if end is not None))
    if not wanted:
        return []
    first, last = since and microseconds(since), until and microseconds(until)
    shown = {
        id
        for id, at, by, there in read_by_ids(connection, _SPOKEN, wanted)
        if (first is None or at >= first)
        and (last is None or at < last)
        and author in (None, by)
        and channel in (None, there)
    }
    return [id for id in wanted if id in shown]


def external_ids(connection: Connection, turn_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The external ids of the messages of each turn, in the order they were said."""
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
    """Messages that meet all conditions, in the order they were said."""
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
    """Messages that hold the words of a query, newest first, those of forgotten turns left out."""
    condition, parameters = sqlite.full_text_matches(query)
    if not parameters["full_text"]:
        return []
    shown = or_(message.c.turn_id.is_(None), turn.c.forgotten_at.is_(None))
    said = said_in(message, space, author=author, channel=channel, since=since, until=until)
    statement = (
        select(*_MESSAGE)
        .select_from(message.outerjoin(turn, turn.c.id == message.c.turn_id))
        .where(*said, text(condition), shown)
    )
    statement = statement.order_by(message.c.at.desc(), message.c.number.desc()).limit(limit)
    return [message_of_row(row) for row in connection.execute(statement, parameters)]


def set_live(connection: Connection, ids: Collection[str], live: bool) -> None:
    """Mark messages as live, or no longer live."""
    query = update(message).where(message.c.id.in_(bindparam("ids", expanding=True)))
    connection.execute(query.values(live=live), {"ids": list(ids)})


def live(connection: Connection, space: str, ids: Collection[str] | None = None) -> list[Message]:
    """The live messages of a space, all or those of some ids, in the order they were said."""
    conditions = [message.c.space == space, message.c.live.is_(True)]
    if ids is not None:
        conditions.append(message.c.id.in_(list(ids)))
    return find_messages(connection, *conditions)
