"""Store imported turns: none twice, and those that were edited since with their new text."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from hippocampe.engine.documents import turn_point
from hippocampe.engine.vocabulary import Prepared
from hippocampe.engine.writer import Writer
from hippocampe.ingest.turn_drafts import TurnDraft, embed_turns, make_turn
from hippocampe.store import full_text, message_rows, schema, turn_rows
from hippocampe.types import Message

Identity = tuple[str, str | datetime, str]
"""The space, the channel or the time, and the external id of a message."""


def store_turns(
    writer: Writer,
    drafts: Sequence[TurnDraft],
    prepared: Sequence[Prepared],
    unique: Collection[str],
) -> bool:
    """Store and index turns with their messages in one transaction.

    Args:
        unique: As for `identities`.

    Returns:
        False if one of the messages is stored already, by external id; then nothing is stored.
    """
    messages = [message for draft in drafts for message in draft.messages]
    turn_ids = [draft.turn.id for draft in drafts for _ in draft.messages]
    with writer.change() as change:
        stored = stored_identities(change.connection, messages)
        if any(identities(message, unique) & stored for message in messages):
            return False
        turn_rows.add(change.connection, [draft.turn for draft in drafts])
        message_rows.add(change.connection, messages, writer.corpus.store.now(), turn_ids)
        for draft, embedded in zip(drafts, prepared, strict=True):
            change.index("turn", turn_point(draft.turn, embedded.dense), embedded)
    return True


def identities(message: Message, unique: Collection[str]) -> set[Identity]:
    """The identities of a message. No other message has one of them; a message without an external id has none.

    Args:
        unique: External ids that no two channels share: a renamed channel keeps them. The same time is required, since
            programs number the messages of each account.
    """
    if message.external_id is None:
        return set()
    found: set[Identity] = {(message.space, message.channel or "", message.external_id)}
    if message.external_id in unique:
        found.add((message.space, message.at, message.external_id))
    return found


def stored_identities(connection: Connection, messages: Sequence[Message]) -> set[Identity]:
    """The identities of the stored messages that have the external id of one of these."""
    spaces: dict[str, set[str]] = {}
    for message in messages:
        if message.external_id:
            spaces.setdefault(message.space, set()).add(message.external_id)
    return {
        (space, place, external_id)
        for space, ids in spaces.items()
        for channel, external_id, at in message_rows.with_external_ids(connection, space, ids)
        for place in (channel, at)
    }


def reword(writer: Writer, edited: Message, others: Collection[str] | None = None) -> bool:
    """Give a stored message the text that its author changed it to since; return whether it had another one.

    Args:
        edited: The message as it is now. The stored one has its external id and time.
        others: Set if the text is part of the external ids: those of the export. The stored message then is the only
            one of this author, channel and time that the export lacks.
    """
    message = schema.message.c
    same = [message.space == edited.space, message.at == edited.at]
    if others is None:
        same.append(message.external_id == edited.external_id)
    else:
        same += [message.channel == edited.channel, message.author == edited.author]
        same += [message.external_id.is_not(None), message.external_id.not_in(others)]
    with writer.corpus.store.read() as connection:
        stored = message_rows.find(connection, *same)
        if others is not None and len(stored) != 1:
            return False
        old = next((each for each in stored if each.content != edited.content), None)
        ids = message_rows.turns_of(connection, [old.id] if old else [])
        found = list(turn_rows.get(connection, edited.space, ids).values())
        if old is None or not found:
            return False
        messages = message_rows.find(connection, schema.message.c.turn_id == found[0].id)
    said = [
        replace(each, content=edited.content) if each.id == old.id else each for each in messages
    ]
    turn = replace(found[0], content=make_turn(said).turn.content)
    [prepared] = embed_turns(writer.corpus.vocabulary, [TurnDraft(turn, ())])
    with writer.change() as change:
        full_text.set_content(change.connection, old.id, edited.content, edited.external_id)
        turn_rows.set_content(change.connection, turn.id, turn.content)
        change.remove_embeddings([turn.id])
        if turn.forgotten_at is None:
            change.index("turn", turn_point(turn, prepared.dense), prepared)
    return True
