"""Recognise the messages of a chat that are stored under a former name of it."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import Connection

from hippocampe.store import message_rows
from hippocampe.store.driver import grouped
from hippocampe.types import Message

FEWEST = 3
"""Fewest messages by which a chat is known under another name: two may be the same in two chats."""


class RenamedChats:
    """The chats of an import that were renamed.

    A chat was renamed if most of its messages are in another channel, of the time that those span.
    """

    def __init__(self) -> None:
        self._former: set[tuple[str, str, str]] = set()
        """Channels with the former names of their chats, by space."""

    def stored(self, connection: Connection, messages: Iterable[Message]) -> set[str]:
        """The ids of the messages that are stored in the channel of a former name of their chat."""
        chats = grouped(((each.space, each.channel or ""), each) for each in messages)
        found: set[str] = set()
        for (space, channel), ours in chats.items():
            for other, same in _elsewhere(connection, space, channel, ours).items():
                if _are_most(same, ours):
                    self._former.add((space, channel, other))
                if (space, channel, other) in self._former:
                    found |= {each.id for each in same}
        return found


def _elsewhere(
    connection: Connection, space: str, channel: str, messages: Sequence[Message]
) -> dict[str, list[Message]]:
    """The messages that are stored in other channels too, by channel."""
    places: dict[tuple[str | None, datetime, str], set[str]] = {}
    for each in message_rows.at_times(connection, space, {each.at for each in messages}):
        places.setdefault(_said(each), set()).add(each.channel or "")
    return grouped(
        (other, each)
        for each in messages
        for other in places.get(_said(each), set[str]()) - {channel}
    )


def _are_most(same: Sequence[Message], messages: Sequence[Message]) -> bool:
    """Return whether some messages are most of those in the time that they span."""
    first, last = min(each.at for each in same), max(each.at for each in same)
    spanned = sum(first <= each.at <= last for each in messages)
    return len(same) >= FEWEST and 2 * len(same) > spanned


def _said(message: Message) -> tuple[str | None, datetime, str]:
    """The author, the time and the text of a message; no author for the person whose name the chat has."""
    author = None if message.author == message.channel else message.author
    return author, message.at, message.content
