"""The branches of one conversation: a host goes on after a message that was edited, or answered again.

Its request then lacks exchanges that are stored. They are known from the histories of earlier requests, in memory only.
"""

import hashlib
from collections.abc import Mapping

from hippocampe.hippocampe import Exchanged, Hippocampe
from hippocampe.integrations.conversation import Conversation
from hippocampe.types import Scope


class Branches:
    """The stored exchanges of a conversation, by the history up to their message.

    A request belongs to a conversation that was stored from its first message on, if it has the exchange before. So
    examples that a program puts before each question are no history.
    """

    def __init__(self, hippo: Hippocampe, talk: Conversation, scope: Scope) -> None:
        self._channels = hippo.channels
        self._scope = scope
        self._path: tuple[str, ...] = () if talk.continues is not None else _path(talk)

    def external_id(self) -> str | None:
        """The id under which the exchange of the last message is stored already; None if it is new."""
        known = self._known().get(self._path[-1]) if self._path else None
        return None if known is None else known.external_id

    def left(self) -> list[str]:
        """The turns that the conversation had and no longer has."""
        known = self._known().items()
        return [each.turn_id for name, each in known if name not in self._path and not each.left]

    def returned(self) -> list[str]:
        """The turns that the conversation has again."""
        return [each.turn_id for name, each in self._known().items() if self._is_back(name, each)]

    def stored(self, turn_id: str, external_id: str | None) -> None:
        """Record the exchange of the last message, after those that the conversation has left were hidden."""
        if not self._path:
            return
        channel = self._channels.channel(self._scope)
        exchanges = channel.exchanges
        if len(self._path) == 1:
            # It begins again.
            for name in [name for name, each in exchanges.items() if self._begins(each)]:
                del exchanges[name]
        elif self._path[-2] not in exchanges:
            return
        for name, each in self._known().items():
            each.left = name not in self._path
        channel.exchanged(self._path[-1], Exchanged(self._path[0], turn_id, external_id))

    def _known(self) -> Mapping[str, Exchanged]:
        exchanges = self._channels.channel(self._scope).exchanges
        if len(self._path) < 2 or self._path[-2] not in exchanges:
            return {}
        return {name: each for name, each in exchanges.items() if self._begins(each)}

    def _begins(self, each: Exchanged) -> bool:
        return each.opening == self._path[0]

    def _is_back(self, name: str, each: Exchanged) -> bool:
        return each.left and name in self._path


def _path(talk: Conversation) -> tuple[str, ...]:
    """Names of the user's messages; each covers all that was said up to it."""
    digest, path = hashlib.sha256(), list[str]()
    for position, message in enumerate(talk.messages):
        if message.role in ("user", "assistant") and message.text.strip():
            digest.update(f"{message.role}\0{message.text.strip()}\0".encode("utf-8", "replace"))
        if position in talk.names:
            path.append(digest.hexdigest())
    return tuple(path)
