"""How things are hidden (`forget`, `expire`) and how they are physically removed (`erase`)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection
from uuid6 import uuid7

from hippocampe import journal, maintain, relations, settings, statement, text
from hippocampe.checks import check_flag, check_text, clean
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.index import bm25
from hippocampe.parts import Parts
from hippocampe.points import memory_text, turn_text
from hippocampe.protocols import KINDS, Filter
from hippocampe.recall import recall
from hippocampe.revise import hide
from hippocampe.store import erasing, memories, schema, talk
from hippocampe.store.erasing import Selection
from hippocampe.store.store import Store
from hippocampe.text import STOP_WORDS, content_words, words
from hippocampe.types import (
    MEMORY_COLLECTIONS,
    Memory,
    Receipt,
    ReceiptItem,
    Recollection,
    Scope,
)

RELEVANT = 0.5
"""Relevance from which something found is taken to be about the topic (seed 003, section 4)."""
_FOUND_BY_MEANING = 50
_FOUND_BY_WORDS = 500
_BATCH = 1_000


def forget(parts: Parts, topic: str, *, scope: Scope, dry_run: bool) -> Receipt:
    """Hide everything about a topic: memories, facts, turns and live messages.

    What is about the topic is what recall finds relevant (0.5 or more) and meets most of its words
    in meaning, and what holds all of them to the letter; a fact also when its key does.

    Raises:
        InvalidInput: The topic is empty.
    """
    topic = clean(topic, what="topic", limit=1_000)
    check_flag("dry_run", dry_run)
    found = _about(parts, topic, scope)
    if not dry_run:
        _hide(parts, found, scope, f"forgotten: {topic}")
    counts: dict[str, int] = {}
    for item in found:
        kind = "fact" if item.memory is not None and item.memory.key else item.kind
        counts[kind] = counts.get(kind, 0) + 1
    return Receipt(counts, tuple(item.id for item in found), dry_run, tuple(found))


def _about(parts: Parts, topic: str, scope: Scope) -> list[ReceiptItem]:
    everywhere = (*MEMORY_COLLECTIONS, "turn", "live")
    space = Scope(space=scope.space)
    by_meaning = recall(
        parts,
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
        at = hit.at or parts.now()
        found[hit.id] = ReceiptItem(hit.id, hit.kind, hit.content, at, ("meaning",), hit.memory)
    if wanted:
        for item in _holding(parts, topic, wanted, scope.space):
            known = found.get(item.id)
            before = known.matched if known else ()
            found[item.id] = replace(known or item, matched=(*before, *item.matched))
    return list(found.values())


def _meets_most(item: Recollection) -> bool:
    """Whether it meets more than half of what the topic says: "dev = Mickael" is relevant to
    Mickael's illness, but it is not about it."""
    return any(signal.name == "soft" and signal.value > 0.5 for signal in item.why)


def _holding(parts: Parts, topic: str, wanted: set[str], space: str) -> Iterable[ReceiptItem]:
    """What holds all of the words, whatever its relevance."""
    now = parts.now()
    with parts.store.read() as connection:
        for kind, collections in (
            ("memory", MEMORY_COLLECTIONS),
            ("turn", ("turn",)),
            ("live", ("live",)),
        ):
            where = Filter(space=space, collections=collections, now=now.timestamp())
            hits = parts.index.matching(kind, topic, limit=_FOUND_BY_WORDS, where=where)
            ids = [hit.id for hit in hits]
            if kind == "memory":
                for memory in memories.get(connection, space, ids).values():
                    if wanted <= set(words(memory_text(memory))):
                        yield _of_memory(memory, "words")
            elif kind == "turn":
                for turn in talk.turns(connection, space, ids).values():
                    if wanted <= set(words(turn_text(turn))):
                        yield ReceiptItem(turn.id, "turn", turn.content, turn.at, ("words",))
            else:
                for message in talk.find_messages(connection, schema.message.c.id.in_(ids)):
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


def _hide(parts: Parts, found: Collection[ReceiptItem], scope: Scope, reason: str) -> None:
    now = parts.now()
    with parts.change() as change:
        ids = [item.id for item in found if item.memory is not None]
        for memory in memories.get(change.connection, scope.space, ids).values():
            if memory.current:
                hide(change, memory, now, reason)
        turns = [item.id for item in found if item.kind == "turn"]
        talk.set_forgotten(change.connection, scope.space, turns, now, reason)
        live = [item.id for item in found if item.kind == "live"]
        talk.set_live(change.connection, live, False)
        for kind, hidden in (("turn", turns), ("live", live)):
            for id in hidden:
                change.unindex(kind, id, scope.space)


def expire(parts: Parts, *, space: str | None = None) -> Receipt:
    """Hide the memories whose time is over, of one space or of all."""
    now = parts.now()
    conditions = [memories.CURRENT, schema.memory.c.expires_at <= now]
    if space is not None:
        conditions.append(schema.memory.c.space == space)
    hidden: list[ReceiptItem] = []
    while True:
        with parts.store.read() as connection:
            if not memories.find(connection, *conditions, limit=1):
                break
        with parts.change() as change:
            for memory in memories.find(change.connection, *conditions, limit=_BATCH):
                hide(change, memory, now, "expired")
                hidden.append(_of_memory(memory, "expired"))
    ids = tuple(item.id for item in hidden)
    return Receipt({"memory": len(hidden)}, ids, False, tuple(hidden))


@dataclass(frozen=True, slots=True)
class _Order:
    """What to erase: exactly one of `id`, `user`, `subject` and `whole_space`."""

    space: str
    id: str | None
    user: str | None
    subject: str | None
    whole_space: bool

    def select(self, connection: Connection) -> Selection:
        """Everything of one database that it means."""
        return erasing.select(
            connection,
            self.space,
            id=self.id,
            user=self.user,
            subject=self.subject,
            whole_space=self.whole_space,
        )

    def remove(self, connection: Connection, selection: Selection) -> None:
        """Remove it from one database."""
        erasing.remove(
            connection,
            self.space,
            selection=selection,
            user=self.user,
            subject=self.subject,
            whole_space=self.whole_space,
        )


def erase(
    parts: Parts,
    *,
    scope: Scope,
    id: str | None,
    user: str | None,
    subject: str | None,
    whole_space: bool,
    dry_run: bool,
) -> Receipt:
    """Remove physically, everywhere: rows, history, full text, vectors, words, index, backups.

    Exactly one of `id`, `user`, `subject` and `whole_space` says what. A subject is matched as a tag,
    an alias, a key or a source, and in texts as a name: with its capital (see `ProperName`).
    Versions that superseded an erased memory, or that it superseded, go with it; so does the whole
    turn of an erased message. Of notes the indexed pieces go; the files are the user's, and are read
    again while they are there. Settings stay; the receipt says which ones name the subject.
    If the rows cannot be removed, nothing is changed but the backups; after that, what a failure or a
    kill leaves in the files is removed at the next opening.

    Raises:
        InvalidInput: None or several of them are given.
        NotFound: The space has nothing of this id.
    """
    for name, value in (("id", id), ("user", user), ("subject", subject)):
        check_text(name, value)
    check_flag("whole_space", whole_space)
    check_flag("dry_run", dry_run)
    given = [name for name in (id, user, subject) if name is not None]
    if len(given) + whole_space != 1:
        raise InvalidInput("say exactly one of id, user, subject or whole_space.")
    if subject is not None and not content_words(clean(subject, what="subject")):
        raise InvalidInput(f"subject {subject!r} holds no word to look for.")
    order = _Order(scope.space, id, user, subject, whole_space)
    with parts.rebuilding:
        with parts.store.exclusive():
            parts.check_serving()
            with parts.store.read() as connection:
                doomed = order.select(connection)
                items = erasing.describe(connection, doomed)
                named = subject and erasing.settings_naming(connection, scope.space, subject)
            if id is not None and not doomed.ids:
                raise NotFound(
                    f"space {scope.space!r} has nothing of id {id!r}: nothing was erased."
                )
            if not dry_run:
                with parts.store.copying:
                    _erase(parts, order, doomed)
        if not dry_run:
            # Other writers go on meanwhile.
            maintain.finish_erasure(parts)
    counts = {kind: len(ids) for kind, ids in doomed.of_tables().items() if ids or kind != "note"}
    return Receipt(counts, tuple(sorted(doomed.ids)), dry_run, tuple(items), named or ())


def _erase(parts: Parts, order: _Order, doomed: Selection) -> None:
    journal.write(parts)
    # Backups first: once the rows are gone, nobody could tell what was to go from them.
    parts.store.remove_partial_backups()
    for path in parts.store.backups():
        _scrub_backup(path, order, doomed)
    with parts.change() as change:
        for table, ids in doomed.of_tables().items():
            for each in ids:
                change.unindex("live" if table == "message" else table, each, order.space)
        kinds = erasing.kinds_of(change.connection, doomed.ids)
        if order.subject is not None:
            # Their points may have named it before they were edited.
            kinds |= {"memory", "note"}
        elif order.whole_space:
            kinds.update(KINDS)
        maintain.mark_erasure(change.connection, kinds)
        order.remove(change.connection, doomed)
        note = {"erased": len(doomed.ids)}
        erasing.leave_note(change.connection, str(uuid7()), order.space, parts.now(), note)
    settings.refresh(parts, order.space)
    parts.lexicon.forget()
    parts.given.forget(order.space)
    for module in (text, statement, relations, bm25):
        module.clear_caches()
    parts.changes += 1


def _scrub_backup(path: Path, order: _Order, doomed: Selection) -> None:
    """Erase from a backup too; one of another schema cannot be searched, so it is deleted whole."""
    copy = Store(path, path.parent)
    try:
        if copy.revision() != schema.REVISION:
            path.unlink()
            return
        with copy.write() as connection:
            # It may hold what was edited or erased since under other words.
            order.remove(connection, order.select(connection) | doomed)
        copy.scrub()
    finally:
        copy.close()
