"""Store conversations: messages, the turns they form, and live messages of observed rooms."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from hippocampe.engine import backlog
from hippocampe.engine.answers import secrets_answered
from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.writer import Writer
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.ingest.turn_drafts import make_message, make_turn
from hippocampe.language.datetimes import as_utc
from hippocampe.language.mentions import mentions
from hippocampe.language.secrets import mask_values, values_in
from hippocampe.language.text import fold
from hippocampe.store import (
    full_text,
    job_runs,
    message_rows,
    schema,
    turn_rows,
    working_history,
)
from hippocampe.store.turn_rows import Turn
from hippocampe.types import (
    MAX_MESSAGE_CHARACTERS,
    MAX_TOOL_CHARACTERS,
    MAX_TOOL_RESULTS,
    Message,
    Scope,
    Settings,
)
from hippocampe.validation import (
    MAX_LIMIT,
    check_id,
    check_list,
    is_injection,
)

REPLACED = "replaced by another exchange"
"""Reason why the turn of an edited message is hidden."""


@dataclass(frozen=True, slots=True)
class Said:
    """An exchange: the arguments of `Hippocampe.after_turn`, as they were given."""

    user_message: str
    reply: str | None
    scope: Scope
    assistant: str
    at: datetime | str | None
    tool_results: Sequence[str] = ()
    external_id: str | None = None
    expression: str | None = None
    replaces: Sequence[str] = ()


def after_turn(
    context: Context, said: Said, *, extracted: bool = True, forgotten: str | None = None
) -> str:
    """Store an exchange, schedule the indexing of its turn and, with a language model, its extraction.

    A message that contains only injected text is dropped, and so is an empty tool result. The result and the errors
    are those of `Hippocampe.after_turn`.

    Args:
        extracted: Whether a language model may extract statements from it.
        forgotten: Why the turn is hidden from the beginning; None if it is not.
    """
    corpus, space = context.corpus, said.scope.space
    replaced = check_list("replaces", said.replaces, most=MAX_LIMIT)
    turn, messages = _exchange(corpus, said)
    if forgotten is not None:
        turn = replace(turn, forgotten_at=corpus.store.now(), forgotten_reason=forgotten)
    recent = corpus.settings.of(space).recent_messages
    with context.writer.change() as change:
        _replace(change, space, replaced, corpus.store.now())
        # Check and insert in one transaction, so that concurrent retries store one exchange.
        if said.external_id and (
            known := message_rows.turn_of_external_id(
                change.connection, space, turn.channel, said.external_id
            )
        ):
            _reword_exchange(change, space, known, messages, corpus.store.now())
            turn = replace(turn, id=known)
        else:
            turn_rows.add(change.connection, [turn])
            ids = [turn.id] * len(messages)
            message_rows.add(change.connection, messages, corpus.store.now(), ids)
            if forgotten is None:
                change.index_later("turn", turn.id, space)
            if context.language_model is not None and extracted and forgotten is None:
                job_runs.add(
                    change.connection,
                    "extract",
                    space,
                    due_at=corpus.store.now(),
                    payload={"turn": turn.id},
                )
            _queue_compaction(change.connection, corpus.store.now(), turn, recent)
    backlog.embed_soon(context.writer)
    return turn.id


def _replace(change: UnitOfWork, space: str, ids: Sequence[str], at: datetime) -> None:
    found = turn_rows.get(change.connection, space, ids)
    for id in ids:
        if id not in found:
            raise NotFound(f"space {space!r} has no turn {id!r}: take the id from after_turn.")
    shown = [each.id for each in found.values() if each.forgotten_at is None]
    hide_turns(change, space, shown, at, REPLACED)


def hide_turns(
    change: UnitOfWork, space: str, ids: Collection[str], at: datetime, reason: str
) -> None:
    """Hide turns from recall and full-text search."""
    turn_rows.set_forgotten(change.connection, space, ids, at, reason)
    for id in ids:
        change.unindex("turn", id, space)


def _reword_exchange(
    change: UnitOfWork, space: str, id: str, said: Sequence[Message], at: datetime
) -> None:
    """Give a stored exchange the texts of a repeat, whose reply was generated again or is complete now."""
    connection = change.connection
    known = turn_rows.get(connection, space, [id])[id]
    stored = message_rows.find(connection, schema.message.c.turn_id == id)
    old, new = ([each for each in some if each.role != "tool"] for some in (stored, said))
    pairs = list(zip(old, new, strict=False))
    same = all(before.role == now.role for before, now in pairs)
    edited = [replace(before, content=now.content) for before, now in pairs]
    added = [replace(each, at=known.at) for each in new[len(old) :]]
    if known.forgotten_at is not None or not same or len(new) < len(old) or edited + added == old:
        return
    for each in edited:
        full_text.set_content(connection, each.id, each.content, each.external_id)
    message_rows.add(connection, added, at, [id] * len(added))
    turn_rows.set_content(connection, id, make_turn([*edited, *added]).turn.content)
    change.remove_embeddings([id])
    change.index_later("turn", id, space)


def _exchange(corpus: Corpus, said: Said) -> tuple[Turn, list[Message]]:
    """The turn of an exchange, and its messages with the results of tools, which are no part of the turn."""
    scope = said.scope
    check_id(said.assistant, name="assistant")
    utterances = [(said.user_message, scope.user, "user")]
    if said.reply is not None:
        utterances.append((said.reply, said.assistant, "assistant"))
    uttered = [each for each in utterances if not is_injection(each[0])] or utterances
    results = _tool_results(said.tool_results)
    answered = secrets_answered(corpus.store, str(said.user_message), scope)
    make = partial(
        make_message,
        refuse=corpus.config.refuse_secrets,
        space=scope.space,
        channel=scope.channel,
        at=as_utc(said.at, name="at") or corpus.store.now(),
    )
    spoken = [
        make(
            content,
            author=author,
            role=role,
            # Of the first message: it is unique in a channel.
            external_id=said.external_id if number == 0 else None,
            working=True,
            expression=said.expression if role == "assistant" else None,
        )
        for number, (content, author, role) in enumerate(uttered)
    ]
    returned = [
        make(content, author=None, role="tool")
        for content in results
        if content.strip() and not is_injection(content)
    ]
    # A reply or a tool may repeat a secret without the words that announce it.
    secrets = values_in([*(content for content, *_ in uttered), *results]) | dict(answered)
    spoken, returned = (
        [replace(each, content=mask_values(each.content, secrets)) for each in some]
        for some in (spoken, returned)
    )
    return make_turn(spoken).turn, [*spoken, *returned]


def _tool_results(results: Sequence[str]) -> tuple[str, ...]:
    checked = check_list(
        "tool_results", results, most=MAX_TOOL_RESULTS, limit=MAX_MESSAGE_CHARACTERS
    )
    if sum(map(len, checked)) > MAX_TOOL_CHARACTERS:
        raise InvalidInput(
            f"tool_results have more than {MAX_TOOL_CHARACTERS:,} characters together: shorten them."
        )
    return checked


def _queue_compaction(connection: Connection, now: datetime, turn: Turn, recent: int) -> None:
    """Queue the compaction of a channel whose working history has twice its configured length."""
    if working_history.count(connection, turn.space, turn.channel) <= 2 * recent:
        return
    payload = {"channel": turn.channel}
    states = ("waiting", "failed")
    waiting = job_runs.find(connection, turn.space, job="compact", states=states, limit=MAX_LIMIT)
    if not any(run.payload == payload for run in waiting):
        job_runs.add(connection, "compact", turn.space, due_at=now, payload=payload)


def observe(
    writer: Writer,
    content: str,
    *,
    scope: Scope,
    at: datetime | str | None = None,
    external_id: str | None = None,
) -> Message | None:
    """Store a message of an observed room as live: it can be found until the next digest.

    Only messages of the rooms in the setting `live_rooms` are stored, and none that contains a
    name of the setting `companion_names` as a word: the companion handles those.

    Args:
        content: The message. Web addresses stay text.
        scope: The space, the author, and the room as the channel.
        at: When it was said; None is now.
        external_id: Its id in the source; a repeat returns the stored message.

    Returns:
        The message; None if it is not stored.

    Raises:
        InvalidInput: The message cannot be stored.
    """
    corpus = writer.corpus
    message = make_message(
        content,
        refuse=corpus.config.refuse_secrets,
        space=scope.space,
        author=scope.user,
        role=None,
        channel=scope.channel,
        at=as_utc(at, name="at") or corpus.store.now(),
        external_id=external_id,
        live=True,
    )
    if not _is_overheard(message, corpus.settings.of(scope.space)):
        return None
    with writer.change() as change:
        # Check and insert in one transaction, so that concurrent retries store one message.
        if known := _already_stored(change.connection, message):
            return known
        message_rows.add(change.connection, [message], corpus.store.now(), [None])
        change.index_later("live", message.id, scope.space)
    backlog.embed_soon(writer)
    return message


def _is_overheard(message: Message, chosen: Settings) -> bool:
    if message.channel not in chosen.live_rooms:
        return False
    names = chosen.companion_names
    own = fold(message.author or "") in map(fold, names)
    return not own and not mentions(message.content, names)


def _already_stored(connection: Connection, message: Message) -> Message | None:
    """The stored message with the same channel and external id, if any."""
    if message.external_id is None:
        return None
    known = message_rows.find(
        connection,
        schema.message.c.space == message.space,
        schema.message.c.channel == (message.channel or ""),
        schema.message.c.external_id == message.external_id,
    )
    return known[0] if known else None
