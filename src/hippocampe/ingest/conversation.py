"""How talk is kept: messages, the turns they make, and live messages of observed rooms."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection
from uuid6 import uuid7

from hippocampe.engine import backlog
from hippocampe.engine.context import Context
from hippocampe.engine.vocabulary import Prepared
from hippocampe.index.documents import (
    turn_embedding_text,
    turn_point,
    turn_text,
)
from hippocampe.language.datetimes import as_utc
from hippocampe.store import conversations, schema
from hippocampe.store.conversations import Turn
from hippocampe.types import MAX_LABEL_CHARACTERS, MAX_MESSAGE_CHARACTERS, Message, Scope
from hippocampe.validation import (
    check_limit,
    check_text,
    clean_text,
    is_injection,
    redact,
    strip_injection,
)


@dataclass(frozen=True, slots=True)
class Said:
    """A turn to store with its messages."""

    turn: Turn
    messages: tuple[Message, ...]


def make_message(
    context: Context,
    content: str,
    *,
    space: str,
    author: str | None,
    role: str | None,
    channel: str | None,
    at: datetime,
    external_id: str | None = None,
    reply_to: str | None = None,
    live: bool = False,
) -> Message:
    """Check one utterance, take out what was injected into it, and give it an id.

    Raises:
        InvalidInput: The content or a label cannot be stored.
    """
    for name, value in (("author", author), ("external_id", external_id), ("reply_to", reply_to)):
        if value is not None:
            clean_text(value, what=name, limit=MAX_LABEL_CHARACTERS)
    Scope(space=space, channel=channel)
    return Message(
        id=str(uuid7()),
        space=space,
        content=redact(
            strip_injection(
                clean_text(content, what="message", limit=MAX_MESSAGE_CHARACTERS), what="message"
            ),
            refuse=context.config.refuse_secrets,
            what="message",
        ),
        author=author,
        role=role,
        channel=channel,
        at=at,
        external_id=external_id,
        reply_to=reply_to,
        live=live,
    )


def make_turn(messages: Sequence[Message]) -> Said:
    """The turn that some messages of one channel make.

    Its author is the first speaker; a reply is written under its own author's name.
    """
    first = messages[0]
    lines = [first.content]
    lines += [f"{m.author}: {m.content}" if m.author else m.content for m in messages[1:]]
    turn = Turn(
        id=str(uuid7()),
        space=first.space,
        channel=first.channel or "",
        author=first.author,
        content="\n".join(lines),
        at=first.at,
    )
    return Said(turn, tuple(messages))


def prepare(context: Context, said: Sequence[Said]) -> list[Prepared]:
    """Embed turns."""
    return context.prepare(
        [turn_embedding_text(each.turn) for each in said], [turn_text(each.turn) for each in said]
    )


def store(context: Context, said: Sequence[Said], prepared: Sequence[Prepared]) -> None:
    """Store turns with their messages in one transaction, and index them."""
    with context.change() as change:
        conversations.add_turns(change.connection, [each.turn for each in said])
        pairs = [(message, each.turn.id) for each in said for message in each.messages]
        conversations.add_messages(
            change.connection,
            [message for message, _ in pairs],
            context.now(),
            [turn_id for _, turn_id in pairs],
        )
        for each, embedded in zip(said, prepared, strict=True):
            change.index("turn", turn_point(each.turn, embedded.dense), embedded)


def after_turn(
    context: Context,
    user_message: str,
    reply: str | None,
    *,
    scope: Scope,
    assistant: str,
    at: datetime | str | None,
) -> str:
    """Store an exchange, and have its turn indexed; return the turn's id.

    A message that was only an injection is left out of it.

    Raises:
        InvalidInput: A message cannot be stored; nothing was.
    """
    when = as_utc(at, name="at") or context.now()
    check_text("assistant", assistant)
    spoken = [(user_message, scope.user, "user")]
    if reply is not None:
        spoken.append((reply, assistant, "assistant"))
    spoken = [each for each in spoken if not is_injection(each[0])] or spoken
    messages = [
        make_message(
            context,
            content,
            space=scope.space,
            author=author,
            role=role,
            channel=scope.channel,
            at=when,
        )
        for content, author, role in spoken
    ]
    said = make_turn(messages)
    with context.change() as change:
        conversations.add_turns(change.connection, [said.turn])
        ids = [said.turn.id] * len(messages)
        conversations.add_messages(change.connection, messages, context.now(), ids)
        change.index_later("turn", said.turn.id, scope.space)
    backlog.embed_soon(context)
    return said.turn.id


def observe(
    context: Context,
    content: str,
    *,
    scope: Scope,
    at: datetime | str | None,
    external_id: str | None,
) -> Message:
    """Keep a message of an observed room as live.

    Raises:
        InvalidInput: The message cannot be stored.
    """
    message = make_message(
        context,
        content,
        space=scope.space,
        author=scope.user,
        role=None,
        channel=scope.channel,
        at=as_utc(at, name="at") or context.now(),
        external_id=external_id,
        live=True,
    )
    with context.change() as change:
        # In the same transaction, so that two calls with one external id store one message.
        if known := _already_stored(change.connection, message):
            return known
        conversations.add_messages(change.connection, [message], context.now(), [None])
        change.index_later("live", message.id, scope.space)
    backlog.embed_soon(context)
    return message


def _already_stored(connection: Connection, message: Message) -> Message | None:
    """The stored message of the same channel with the same external id, if it has one."""
    if message.external_id is None:
        return None
    known = conversations.find_messages(
        connection,
        schema.message.c.space == message.space,
        schema.message.c.channel == (message.channel or ""),
        schema.message.c.external_id == message.external_id,
    )
    return known[0] if known else None


def messages(
    context: Context,
    *,
    scope: Scope,
    since: datetime | str | None,
    until: datetime | str | None,
    limit: int,
) -> list[Message]:
    """The latest messages of the scope's channel (of all, if it names none), oldest first."""
    limit = check_limit(limit)
    said = conversations.said_in(
        schema.message,
        scope.space,
        channel=scope.channel,
        since=as_utc(since, name="since"),
        until=as_utc(until, name="until"),
    )
    with context.store.read() as connection:
        found = conversations.find_messages(connection, *said, newest_first=True, limit=limit)
    return found[::-1]


def search_text(
    context: Context,
    query: str,
    *,
    scope: Scope,
    user: str | None,
    channel: str | None,
    since: datetime | str | None,
    until: datetime | str | None,
    limit: int,
) -> list[Message]:
    """Messages that hold all the words of a query, newest first."""
    said = Scope(user=user, channel=channel)
    query = clean_text(query, what="query")[:4_000]
    with context.store.read() as connection:
        return conversations.search_text(
            connection,
            scope.space,
            query,
            author=said.user,
            channel=said.channel or scope.channel,
            since=as_utc(since, name="since"),
            until=as_utc(until, name="until"),
            limit=check_limit(limit),
        )
