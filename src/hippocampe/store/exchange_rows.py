"""Rows of exchanges: turns with their messages. Each function takes a connection."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Connection, func, select, text

from hippocampe.store import full_text, message_rows
from hippocampe.store.message_rows import within
from hippocampe.store.portable import beyond
from hippocampe.store.schema import message, turn
from hippocampe.store.turn_rows import Turn
from hippocampe.types import Conversation, Message


def conversations(connection: Connection, space: str) -> list[Conversation]:
    """The conversations of a space by channel, the most recent first."""
    latest = func.max(message.c.at)
    query = (
        select(message.c.channel, func.count(), func.min(message.c.at), latest)
        .where(message.c.space == space)
        .group_by(message.c.channel)
        .order_by(latest.desc(), message.c.channel)
    )
    rows = connection.execute(query)
    return [Conversation(name or None, many, first, last) for name, many, first, last in rows]


def page(
    connection: Connection,
    space: str,
    *,
    author: str | None,
    channel: str | None,
    since: datetime | None,
    until: datetime | None,
    words: str | None,
    after: Turn | None,
    oldest_first: bool,
    limit: int,
) -> list[Turn]:
    """Turns that are not forgotten, by time, from the start or after one of them.

    Args:
        author: Only those that this author began.
        since: Earliest time, inclusive.
        until: Latest time, exclusive.
        words: Only those with a message that matches this full-text query.
        after: The last turn of the page before.
    """
    conditions = within(turn, space, author=author, channel=channel, since=since, until=until)
    parameters: dict[str, str] = {}
    if words is not None:
        condition, parameters = full_text.matches(connection, words)
        if not parameters["full_text"]:
            return []
        conditions.append(turn.c.id.in_(select(message.c.turn_id).where(text(condition))))
    order = [turn.c.at, turn.c.id]
    if after is not None:
        conditions.append(beyond(order, (after.at, after.id), descending=not oldest_first))
    if not oldest_first:
        order = [column.desc() for column in order]
    query = select(turn).where(*conditions, turn.c.forgotten_at.is_(None)).order_by(*order)
    return [Turn(*row) for row in connection.execute(query.limit(limit), parameters)]


def messages_of(connection: Connection, turns: Collection[str]) -> dict[str, list[Message]]:
    """The messages of turns by turn, oldest first."""
    found: dict[str, list[Message]] = {id: [] for id in turns}
    for each in message_rows.find(connection, message.c.turn_id.in_(list(turns))):
        found[each.turn_id or ""].append(each)
    return found
