"""How things are hidden (`forget`, `expire`) and how they are physically removed (`erase`)."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from hippocampe.curation.revise import hide
from hippocampe.engine.context import Context
from hippocampe.index.documents import memory_text, turn_text
from hippocampe.language.text import STOP_WORDS, content_words, words
from hippocampe.protocols import Filter
from hippocampe.retrieval.recall import recall
from hippocampe.store import conversations, memories, schema
from hippocampe.types import (
    MEMORY_COLLECTIONS,
    Memory,
    Receipt,
    ReceiptItem,
    Recollection,
    Scope,
)
from hippocampe.validation import check_flag, clean_text

RELEVANT = 0.5
"""Relevance from which something found is taken to be about the topic (seed 003, section 4)."""
_FOUND_BY_MEANING = 50
_FOUND_BY_WORDS = 500
_BATCH = 1_000


def forget(context: Context, topic: str, *, scope: Scope, dry_run: bool) -> Receipt:
    """Hide everything about a topic: memories, facts, turns and live messages.

    What is about the topic is what recall finds relevant (0.5 or more) and meets most of its words
    in meaning, and what holds all of them to the letter; a fact also when its key does.

    Raises:
        InvalidInput: The topic is empty.
    """
    topic = clean_text(topic, what="topic", limit=1_000)
    check_flag("dry_run", dry_run)
    found = _about(context, topic, scope)
    if not dry_run:
        _hide(context, found, scope, f"forgotten: {topic}")
    counts: dict[str, int] = {}
    for item in found:
        kind = "fact" if item.memory is not None and item.memory.key else item.kind
        counts[kind] = counts.get(kind, 0) + 1
    return Receipt(counts, tuple(item.id for item in found), dry_run, tuple(found))


def _about(context: Context, topic: str, scope: Scope) -> list[ReceiptItem]:
    everywhere = (*MEMORY_COLLECTIONS, "turn", "live")
    space = Scope(space=scope.space)
    by_meaning = recall(
        context,
        topic,
        scope=space,
        limit=_FOUND_BY_MEANING,
        collections=everywhere,
        min_score=RELEVANT,
        explain=True,
    )
    wanted = {word for word in content_words(topic) if word not in STOP_WORDS}
    found: dict[str, ReceiptItem] = {}
    for hit in filter(_meets_most, by_meaning):
        at = hit.at or context.now()
        found[hit.id] = ReceiptItem(hit.id, hit.kind, hit.content, at, ("meaning",), hit.memory)
    if wanted:
        for item in _holding(context, topic, wanted, scope.space):
            known = found.get(item.id)
            before = known.matched if known else ()
            found[item.id] = replace(known or item, matched=(*before, *item.matched))
    return list(found.values())


def _meets_most(item: Recollection) -> bool:
    """Whether it meets more than half of what the topic says: "dev = Mickael" is relevant to
    Mickael's illness, but it is not about it."""
    return any(signal.name == "soft" and signal.value > 0.5 for signal in item.why)


def _holding(context: Context, topic: str, wanted: set[str], space: str) -> Iterable[ReceiptItem]:
    """What holds all of the words, whatever its relevance."""
    now = context.now()
    with context.store.read() as connection:
        for kind, collections in (
            ("memory", MEMORY_COLLECTIONS),
            ("turn", ("turn",)),
            ("live", ("live",)),
        ):
            where = Filter(space=space, collections=collections, now=now.timestamp())
            hits = context.index.matching(kind, topic, limit=_FOUND_BY_WORDS, where=where)
            ids = [hit.id for hit in hits]
            if kind == "memory":
                for memory in memories.get(connection, space, ids).values():
                    if wanted <= set(words(memory_text(memory))):
                        yield _of_memory(memory, "words")
            elif kind == "turn":
                for turn in conversations.turns(connection, space, ids).values():
                    if wanted <= set(words(turn_text(turn))):
                        yield ReceiptItem(turn.id, "turn", turn.content, turn.at, ("words",))
            else:
                for message in conversations.find_messages(
                    connection, schema.message.c.id.in_(ids)
                ):
                    if wanted <= set(words(message.content)):
                        at = message.at
                        yield ReceiptItem(message.id, "live", message.content, at, ("words",))
        keyed = [memories.living(space, now), schema.memory.c.key.is_not(None)]
        for memory in memories.find(connection, *keyed):
            if wanted <= set(words((memory.key or "").replace("_", " "))):
                yield _of_memory(memory, "key")


def _of_memory(memory: Memory, matched: str) -> ReceiptItem:
    at = memory.created_at
    return ReceiptItem(memory.id, memory.collection, memory.content, at, (matched,), memory)


def _hide(context: Context, found: Collection[ReceiptItem], scope: Scope, reason: str) -> None:
    now = context.now()
    with context.change() as change:
        ids = [item.id for item in found if item.memory is not None]
        for memory in memories.get(change.connection, scope.space, ids).values():
            if memory.current:
                hide(change, memory, now, reason)
        turns = [item.id for item in found if item.kind == "turn"]
        conversations.set_forgotten(change.connection, scope.space, turns, now, reason)
        live = [item.id for item in found if item.kind == "live"]
        conversations.set_live(change.connection, live, False)
        for kind, hidden in (("turn", turns), ("live", live)):
            for id in hidden:
                change.unindex(kind, id, scope.space)


def expire(context: Context, *, space: str | None = None) -> Receipt:
    """Hide the memories whose time is over, of one space or of all."""
    now = context.now()
    conditions = [memories.CURRENT, schema.memory.c.expires_at <= now]
    if space is not None:
        conditions.append(schema.memory.c.space == space)
    hidden: list[ReceiptItem] = []
    while True:
        with context.store.read() as connection:
            if not memories.find(connection, *conditions, limit=1):
                break
        with context.change() as change:
            for memory in memories.find(change.connection, *conditions, limit=_BATCH):
                hide(change, memory, now, "expired")
                hidden.append(_of_memory(memory, "expired"))
    ids = tuple(item.id for item in hidden)
    return Receipt({"memory": len(hidden)}, ids, False, tuple(hidden))
