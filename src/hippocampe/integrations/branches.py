"""The branches of one conversation: a host goes on after a message that was edited, or answered again.

Its request then lacks exchanges that are stored. They are known from the histories of earlier requests, in memory only.
"""

import hashlib
from collections.abc import Mapping, Sequence

from hippocampe.hippocampe import Exchanged, Hippocampe
from hippocampe.integrations.conversation import Conversation
from hippocampe.integrations.reminders import Reminders
from hippocampe.language.text import cut
from hippocampe.types import (
    MAX_CONTENT_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    Scope,
    last_results,
)

Names = tuple[str, ...]
"""Names of the user's messages; each covers all that was said up to it."""


def store_exchange(
    reminders: Reminders,
    message: str,
    reply: str | None,
    *,
    results: Sequence[str],
    external_id: str | None = None,
) -> None:
    """Store the exchange of the last message; hide those that the conversation has left, show those that it has again.

    A request belongs to a conversation that was stored from its first message on, if it has the exchange before. So
    examples that a program puts before each question are no history.

    Args:
        reminders: Those of the conversation.
        results: The results of tools.
        external_id: Its id in the host; default: that of the same exchange, stored before or reminded of.
    """
    hippo, talk, scope = reminders.hippo, reminders.talk, reminders.scope
    path = () if talk.continues is not None else _path(talk)
    known = _known(hippo, scope, path)
    for name, each in known.items():
        if each.left and name in path:
            hippo.restore(each.turn_id, scope=scope)
    if external_id is None and path and path[-1] in known:
        external_id = known[path[-1]].external_id
    external_id = external_id or reminders.exchange()
    turn_id = hippo.after_turn(
        _storable(message),
        None if reply is None else _storable(reply),
        scope=scope,
        tool_results=last_results(results),
        external_id=external_id,
        replaces=[
            each.turn_id for name, each in known.items() if name not in path and not each.left
        ],
    )
    # Another one, if the message asked to forget something.
    channel = hippo.channels.channel(scope)
    if len(path) == 1:
        # It begins again.
        for name in [n for n, each in channel.exchanges.items() if each.opening == path[0]]:
            del channel.exchanges[name]
    elif not path or path[-2] not in channel.exchanges:
        return
    for name, each in _known(hippo, scope, path).items():
        each.left = name not in path
    channel.exchanges[path[-1]] = Exchanged(path[0], turn_id, external_id)


def _storable(text: str) -> str:
    """A text, or of one that is too long to be stored its beginning and end: it quotes a document."""
    return text if len(text) <= MAX_MESSAGE_CHARACTERS else cut(text, MAX_CONTENT_CHARACTERS)


def _known(hippo: Hippocampe, scope: Scope, path: Names) -> Mapping[str, Exchanged]:
    """The stored exchanges of a conversation, by the history up to their message."""
    exchanges = hippo.channels.channel(scope).exchanges
    if len(path) < 2 or path[-2] not in exchanges:
        return {}
    return {name: each for name, each in exchanges.items() if each.opening == path[0]}


def _path(talk: Conversation) -> Names:
    digest, path = hashlib.sha256(), list[str]()
    for position, message in enumerate(talk.messages):
        if message.role in ("user", "assistant") and message.text.strip():
            digest.update(f"{message.role}\0{message.text.strip()}\0".encode("utf-8", "replace"))
        if position in talk.names:
            path.append(digest.hexdigest())
    return tuple(path)
