"""Rows of messages. Each function takes a connection."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Table,
    bindparam,
    func,
    insert,
    or_,
    select,
    text,
    type_coerce,
    update,
)

from hippocampe.errors import InvalidInput
from hippocampe.store import full_text
from hippocampe.store.driver import IDS, grouped, read_by_ids
from hippocampe.store.schema import message, turn
from hippocampe.types import Conversation, Message

_MESSAGE = [column for column in message.c if column.name not in ("number", "created_at")]
_SAID = (
    select(message.c.turn_id, message.c.content)
    .where(message.c.turn_id.in_(IDS), message.c.role == "user")
    .order_by(message.c.number)
)
_said, _after = message.alias(), message.alias()
_since = type_coerce(_said.c.at, BigInteger)
_told = type_coerce(_after.c.at, BigInteger)
_LIVE_AFTER = (
    select(_said.c.id, _after.c.author, _after.c.content)
    .where(
        _said.c.id.in_(IDS),
        _after.c.space == _said.c.space,
        _after.c.channel == _said.c.channel,
        _after.c.live.is_(True),
        _told >= _since,
        _told <= _since + bindparam("lasting"),
        or_(_told > _since, _after.c.number > _said.c.number),
    )
    .order_by(_after.c.at, _after.c.number)
)


class Spoken(NamedTuple):
    """The words of a message, and whose they are."""

    author: str | None
    content: str


def of_row(row: Row[Any]) -> Message:
    """Convert a row that has at least the columns of a message."""
    values = {column.name: getattr(row, column.name) for column in _MESSAGE}
    values["channel"] = values["channel"] or None
    return Message(**values)


def with_external_ids(
    connection: Connection, space: str, ids: Collection[str]
) -> list[tuple[str, str, datetime]]:
    """The channel, the external id and the time of the messages of a space with one of these external ids."""
    query = select(message.c.space, message.c.channel, message.c.external_id, message.c.at)
    rows = connection.execute(query.where(message.c.external_id.in_(ids)))
    return [(row.channel, row.external_id, row.at) for row in rows if row.space == space]


def at_times(connection: Connection, space: str, times: Collection[datetime]) -> list[Message]:
    """The messages of a space that were written at one of these times."""
    query = select(*_MESSAGE).where(
        message.c.space == space, message.c.at.in_(bindparam("times", expanding=True))
    )
    return [of_row(row) for row in connection.execute(query, {"times": list(times)})]


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


def add(
    connection: Connection,
    items: Sequence[Message],
    created_at: datetime,
    turns: Sequence[str | None],
) -> None:
    """Insert messages, each with the id of the turn it belongs to."""
    rows = [
        {column.name: getattr(item, column.name) for column in _MESSAGE}
        | {"channel": item.channel or "", "created_at": created_at, "turn_id": turn_id}
        for item, turn_id in zip(items, turns, strict=True)
    ]
    if rows:
        connection.execute(insert(message), rows)


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
    return find(connection, *conditions, message.c.live.is_(True), newest_first=True, limit=limit)


def live_after(
    connection: Connection, ids: Collection[str], lasting: timedelta
) -> dict[str, list[Spoken]]:
    """The live messages that follow each of some in its channel within a time, oldest first."""
    within = lasting // timedelta(microseconds=1)
    rows = read_by_ids(connection, _LIVE_AFTER, list(ids), lasting=within)
    return grouped((id, Spoken(author, content)) for id, author, content in rows)


def find(
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
    return [of_row(row) for row in connection.execute(query)]


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
    loose: bool = False,
) -> list[Message]:
    """Messages that match a full-text query, newest first, without those of forgotten turns.

    With `loose`, only messages without a turn.
    """
    condition, parameters = full_text.matches(connection, query)
    if not parameters["full_text"]:
        return []
    shown = message.c.turn_id.is_(None)
    if not loose:
        shown = or_(shown, turn.c.forgotten_at.is_(None))
    conditions = within(message, space, author=author, channel=channel, since=since, until=until)
    statement = (
        select(*_MESSAGE)
        .select_from(message.outerjoin(turn, turn.c.id == message.c.turn_id))
        .where(*conditions, text(condition), shown)
    )
    statement = statement.order_by(message.c.at.desc(), message.c.number.desc()).limit(limit)
    return [of_row(row) for row in connection.execute(statement, parameters)]


def turns_of(connection: Connection, ids: Collection[str]) -> set[str]:
    """The ids of the turns of messages."""
    query = select(message.c.turn_id).where(
        message.c.id.in_(list(ids)), message.c.turn_id.is_not(None)
    )
    return set(connection.execute(query).scalars())


def said_in(connection: Connection, turns: Sequence[str]) -> dict[str, str]:
    """The words of the users in each of some turns, by the id of the turn."""
    if not turns:
        return {}
    said = grouped((turn_id, content) for turn_id, content in read_by_ids(connection, _SAID, turns))
    return {turn_id: "\n".join(contents) for turn_id, contents in said.items()}


def conversations(connection: Connection, space: str) -> list[Conversation]:
    """The conversations of a space by channel, the most recent first, without the messages of forgotten turns."""
    latest = func.max(message.c.at)
    query = (
        select(message.c.channel, func.count(), func.min(message.c.at), latest)
        .select_from(message.outerjoin(turn, turn.c.id == message.c.turn_id))
        .where(message.c.space == space, turn.c.forgotten_at.is_(None))
        .group_by(message.c.channel)
        .order_by(latest.desc(), message.c.channel)
    )
    rows = connection.execute(query)
    return [Conversation(name or None, many, first, last) for name, many, first, last in rows]


def messages_of(connection: Connection, turns: Collection[str]) -> dict[str, list[Message]]:
    """The messages of turns by turn, oldest first."""
    found: dict[str, list[Message]] = {id: [] for id in turns}
    for each in find(connection, message.c.turn_id.in_(list(turns))):
        found[each.turn_id or ""].append(each)
    return found


def end_live(connection: Connection, ids: Collection[str]) -> None:
    """Clear the live flag of messages."""
    connection.execute(update(message).where(message.c.id.in_(ids)).values(live=False))


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
    return find(connection, *conditions)
