"""Hide memories and conversations from recall: everything on a topic, and expired memories."""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from hippocampe.curation.revise import hide
from hippocampe.curation.turns import Turns
from hippocampe.engine import audit, backlog
from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.writer import Writer
from hippocampe.ingest.conversation import hide_turns
from hippocampe.ingest.turn_drafts import make_turn
from hippocampe.language.forgetting import topics_in
from hippocampe.language.secrets import mask
from hippocampe.retrieval import about
from hippocampe.store import memories, message_rows, schema, turn_rows
from hippocampe.store.store import Store
from hippocampe.types import Receipt, ReceiptItem, Scope
from hippocampe.validation import MAX_REASON_CHARACTERS, check_flag, clean_text

BATCH = 1_000


def forget(
    context: Context, turns: Turns, topic: str, *, scope: Scope, dry_run: bool = False
) -> Receipt:
    """Forget everything about a topic; `restore` brings memories and talk back.

    An item is about the topic if recall finds it relevant (0.5 or more) and it matches most of the
    topic's words by meaning, if its text or its key contains all of them, or if it had a secret of the kind
    that the topic names. A topic in the first person ("my card number") is that of the user of the scope.

    Args:
        topic: What to forget, as narrow as meant.
        scope: The space, and whose "I" the topic has.
        dry_run: Only list what would be forgotten.

    Raises:
        InvalidInput: The topic is empty.
    """
    topic = clean_text(topic, what="topic", limit=MAX_REASON_CHARACTERS)
    check_flag("dry_run", dry_run)
    backlog.catch_up_with_talk(context.writer)
    found = _about(context.corpus, topic, scope)
    if not dry_run:
        reason = f"forgotten: {mask(topic)}"
        found += hide_found(
            context, turns, found, scope, reason, lambda: _about(context.corpus, topic, scope)
        )
    counts: dict[str, int] = {}
    for item in found:
        kind = "fact" if item.memory is not None and item.memory.key else item.kind
        counts[kind] = counts.get(kind, 0) + 1
    return Receipt(counts, tuple(item.id for item in found), dry_run, tuple(found))


def _about(corpus: Corpus, topic: str, scope: Scope) -> list[ReceiptItem]:
    """The items about each thing that a topic names; for a thing without any, those that the reader certainly finds."""
    found: dict[str, ReceiptItem] = {}
    for each in topics_in(topic):
        items = about.find(corpus, each, scope)
        if not items:
            likely = about.likely(corpus, each, scope, sure=False)
            behind = about.MAX_BEHIND_UNASKED
            items = about.nearest(corpus, each, scope, [], likely, behind=behind)
        found.update((item.id, item) for item in items)
    return list(found.values())


def hide_found(
    context: Context,
    turns: Turns,
    found: Collection[ReceiptItem],
    scope: Scope,
    reason: str,
    search: Callable[[], Collection[ReceiptItem]],
) -> list[ReceiptItem]:
    """Hide what a search found, and what it missed because it was learnt from the same talk meanwhile.

    Args:
        search: Searches again.

    Returns:
        The items beside `found` that were hidden.
    """
    more = hide_all(context.writer, turns, found, scope, reason)
    # From now on, nothing is learnt from the turns that were found: they are hidden.
    learnt = _learnt_from(context.corpus.store, found, scope.space)
    if learnt and (missed := [each for each in search() if each.id in learnt]):
        more += missed
        hide_all(context.writer, turns, missed, scope, reason)
    return more


def _learnt_from(store: Store, found: Collection[ReceiptItem], space: str) -> set[str]:
    """The ids of the current memories that rest on messages of hidden turns."""
    hidden = [item.id for item in found if item.kind == "turn"]
    if not hidden:
        return set()
    with store.read() as connection:
        of_hidden = schema.message.c.turn_id.in_(hidden)
        messages = message_rows.find(connection, schema.message.c.space == space, of_hidden)
        made = memories.resting_on(connection, space, [each.id for each in messages])
    return {each.id for each in made}


def hide_all(
    writer: Writer, turns: Turns, found: Collection[ReceiptItem], scope: Scope, reason: str
) -> list[ReceiptItem]:
    """Hide items from recall and full-text search, and what turns still hold of them.

    Returns:
        The memories that a digest made of found messages after they were found, hidden too: a digest makes none of
        hidden messages.
    """
    now = writer.corpus.store.now()
    with writer.change(from_reserve=True) as change:
        overheard = [item.id for item in found if item.kind == "live"]
        made = _made_of(change.connection, scope.space, overheard)
        ids = [item.id for item in (*found, *made) if item.memory is not None]
        for memory in memories.get(change.connection, scope.space, ids).values():
            if memory.forgotten_at is None:
                hide(change, memory, now, reason)
        hidden = [item.id for item in found if item.kind == "turn"]
        hide_turns(change, scope.space, hidden, now, reason)
        loose = [item.id for item in found if item.kind in ("live", "message")]
        _hide_messages(change, scope.space, loose, now, reason)
        detail = audit.ids([item.id for item in (*found, *made)])
        audit.record(change.connection, now, scope.space, "forget", **detail)
    turns.forget(scope.space)
    return made


def _made_of(connection: Connection, space: str, overheard: Collection[str]) -> list[ReceiptItem]:
    """The memories that were made of messages that were live when they were found."""
    spoken = message_rows.find(connection, schema.message.c.id.in_(list(overheard)))
    digested = [each.id for each in spoken if not each.live]
    made = memories.resting_on(connection, space, digested) if digested else []
    return [about.of_memory(each, "message") for each in made]


def _hide_messages(
    change: UnitOfWork, space: str, ids: Collection[str], at: datetime, reason: str
) -> None:
    """Give messages a forgotten turn each, of the same id, which `restore` shows again.

    If a digest has made a turn of a message since it was found, that turn is hidden.
    """
    spoken = message_rows.find(change.connection, schema.message.c.id.in_(list(ids)))
    hide_turns(change, space, [each.turn_id for each in spoken if each.turn_id], at, reason)
    found = [each for each in spoken if each.turn_id is None]
    hidden = {"forgotten_at": at, "forgotten_reason": reason}
    turns = [replace(make_turn([each]).turn, id=each.id, **hidden) for each in found]
    turn_rows.add(change.connection, turns)
    message_rows.set_turns(change.connection, {each.id: each.id for each in found})
    message_rows.end_live(change.connection, [each.id for each in found])
    for each in found:
        if each.live:
            change.unindex("live", each.id, each.space)


def expire(writer: Writer, *, scope: Scope) -> Receipt:
    """Hide expired memories of the space. Recall already excludes them."""
    return hide_expired(writer, scope.space, audited=True)


def hide_expired(writer: Writer, space: str, *, audited: bool = False) -> Receipt:
    """Hide expired memories; with `audited`, record it in the audit log, as an explicit request."""
    corpus = writer.corpus
    now = corpus.store.now()
    here = schema.memory.c.space == space
    conditions = [here, memories.CURRENT, schema.memory.c.expires_at <= now]
    hidden: list[ReceiptItem] = []
    while True:
        with corpus.store.read() as connection:
            if not memories.find(connection, *conditions, limit=1):
                break
        with writer.change(from_reserve=True) as change:
            batch = memories.find(change.connection, *conditions, limit=BATCH)
            for memory in batch:
                expired = memory.expires_at or now
                hide(change, memory, max(expired, memory.created_at), "expired")
                hidden.append(about.of_memory(memory, "expired"))
            if audited:
                detail = audit.ids([memory.id for memory in batch])
                audit.record(change.connection, now, space, "expire", **detail)
    ids = tuple(item.id for item in hidden)
    return Receipt({"memory": len(hidden)}, ids, False, tuple(hidden))
