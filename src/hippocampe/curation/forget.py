"""Hide memories and conversations from recall: everything on a topic, and expired memories."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from hippocampe.curation.revise import hide
from hippocampe.engine import audit
from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.documents import memory_text, turn_text
from hippocampe.engine.writer import Writer
from hippocampe.language.text import STOP_WORDS, content_words, words
from hippocampe.protocols import Filter
from hippocampe.retrieval.recall import recall
from hippocampe.store import memories, message_rows, schema, turn_rows
from hippocampe.types import (
    MEMORY_COLLECTIONS,
    Memory,
    Receipt,
    ReceiptItem,
    Recollection,
    Scope,
)
from hippocampe.validation import MAX_REASON_CHARACTERS, check_flag, clean_text

MIN_RELEVANCE = 0.5
"""Minimum relevance of a recalled item that is about the topic (seed 003, section 4)."""
MIN_SEMANTIC_OVERLAP = 0.5
MAX_BY_MEANING = 50
MAX_BY_WORDS = 500
BATCH = 1_000


def forget(context: Context, topic: str, *, scope: Scope, dry_run: bool = False) -> Receipt:
    """Hide everything about a topic from recall; `restore` brings memories back.

    An item is about the topic if recall finds it relevant (0.5 or more) and it matches most of the
    topic's words by meaning, or if its text or its key contains all of them.

    Args:
        topic: What to forget, as narrow as meant.
        scope: The space.
        dry_run: Only list what would be forgotten.

    Raises:
        InvalidInput: The topic is empty.
    """
    topic = clean_text(topic, what="topic", limit=MAX_REASON_CHARACTERS)
    check_flag("dry_run", dry_run)
    found = _about(context, topic, scope)
    if not dry_run:
        _hide(context.writer, found, scope, f"forgotten: {topic}")
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
        limit=MAX_BY_MEANING,
        collections=everywhere,
        min_score=MIN_RELEVANCE,
        explain=True,
    )
    wanted = {word for word in content_words(topic) if word not in STOP_WORDS}
    found: dict[str, ReceiptItem] = {}
    for hit in filter(_matches_most, by_meaning):
        at = hit.at or context.corpus.store.now()
        found[hit.id] = ReceiptItem(hit.id, hit.kind, hit.content, at, ("meaning",), hit.memory)
    if wanted:
        for item in _containing(context.corpus, topic, wanted, scope.space):
            known = found.get(item.id)
            before = known.matched if known else ()
            found[item.id] = replace(known or item, matched=(*before, *item.matched))
    return list(found.values())


def _matches_most(item: Recollection) -> bool:
    """Return whether an item matches more than half of the topic by meaning.

    "dev = Mickael" is relevant to Mickael's illness but not about it.
    """
    return any(signal.name == "soft" and signal.value > MIN_SEMANTIC_OVERLAP for signal in item.why)


def _containing(corpus: Corpus, topic: str, wanted: set[str], space: str) -> Iterator[ReceiptItem]:
    """Items whose text or key contains all the words, regardless of relevance."""
    now = corpus.store.now()

    def matching(kind: str, *collections: str) -> list[str]:
        where = Filter(space=space, collections=collections, now=now.timestamp())
        hits = corpus.index.matching(kind, topic, limit=MAX_BY_WORDS, where=where)
        return [hit.id for hit in hits]

    def contains(text: str) -> bool:
        return wanted <= set(words(text))

    with corpus.store.read() as connection:
        found = memories.get(connection, space, matching("memory", *MEMORY_COLLECTIONS))
        for memory in found.values():
            if contains(memory_text(memory)):
                yield _of_memory(memory, "words")
        turns = turn_rows.get(connection, space, matching("turn", "turn"))
        for turn in turns.values():
            if contains(turn_text(turn)):
                yield ReceiptItem(turn.id, "turn", turn.content, turn.at, ("words",))
        live = schema.message.c.id.in_(matching("live", "live"))
        for message in message_rows.find(connection, live):
            if contains(message.content):
                yield ReceiptItem(message.id, "live", message.content, message.at, ("words",))
        keyed = [memories.living(space, now), schema.memory.c.key.is_not(None)]
        for memory in memories.find(connection, *keyed):
            if contains((memory.key or "").replace("_", " ")):
                yield _of_memory(memory, "key")


def _of_memory(memory: Memory, matched: str) -> ReceiptItem:
    at = memory.created_at
    return ReceiptItem(memory.id, memory.collection, memory.content, at, (matched,), memory)


def _hide(writer: Writer, found: Collection[ReceiptItem], scope: Scope, reason: str) -> None:
    now = writer.corpus.store.now()
    with writer.change(from_reserve=True) as change:
        ids = [item.id for item in found if item.memory is not None]
        for memory in memories.get(change.connection, scope.space, ids).values():
            if memory.forgotten_at is None:
                hide(change, memory, now, reason)
        turns = [item.id for item in found if item.kind == "turn"]
        turn_rows.set_forgotten(change.connection, scope.space, turns, now, reason)
        live = [item.id for item in found if item.kind == "live"]
        message_rows.set_live(change.connection, live, False)
        for kind, hidden in (("turn", turns), ("live", live)):
            for id in hidden:
                change.unindex(kind, id, scope.space)
        detail = audit.ids([item.id for item in found])
        audit.record(change.connection, now, scope.space, "forget", **detail)


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
                hide(change, memory, now, "expired")
                hidden.append(_of_memory(memory, "expired"))
            if audited:
                detail = audit.ids([memory.id for memory in batch])
                audit.record(change.connection, now, space, "expire", **detail)
    ids = tuple(item.id for item in hidden)
    return Receipt({"memory": len(hidden)}, ids, False, tuple(hidden))
