"""Rows of the working history of a channel: exchanges that are not compacted yet.

Each function takes a connection.
"""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, bindparam, func, select, update

from hippocampe.store.driver import read
from hippocampe.store.message_rows import find
from hippocampe.store.schema import message, turn
from hippocampe.types import Message

_FORGOTTEN = select(turn.c.id).where(
    turn.c.id == message.c.turn_id, turn.c.forgotten_at.is_not(None)
)
INCLUDED: tuple[ColumnElement[bool], ...] = (message.c.working.is_(True), ~_FORGOTTEN.exists())
"""The conditions for messages in a working history; those of forgotten turns are not."""
_COUNT = (
    select(func.count())
    .select_from(message)
    .where(
        message.c.space == bindparam("space"),
        message.c.channel == bindparam("channel"),
        *INCLUDED,
    )
)


def leave(connection: Connection, ids: Collection[str]) -> None:
    """Take messages out of their working history."""
    connection.execute(update(message).where(message.c.id.in_(ids)).values(working=False))


def count(connection: Connection, space: str, channel: str) -> int:
    """Count the messages in the working history of a channel."""
    return read(connection, _COUNT, space=space, channel=channel)[0][0]


def messages(
    connection: Connection, space: str, channel: str, ids: Collection[str] | None = None
) -> list[Message]:
    """The working history of a channel, oldest first: all, or the messages of some ids.

    The empty channel has messages without one.
    """
    conditions = [message.c.space == space, message.c.channel == channel, *INCLUDED]
    if ids is not None:
        conditions.append(message.c.id.in_(list(ids)))
    return find(connection, *conditions)
