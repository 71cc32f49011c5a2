"""How things are hidden (`forget`, `expire`) and how they are physically removed (`erase`)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection
from uuid6 import uuid7

from hippocampe import journal, maintain, settings
from hippocampe.checks import clean
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.parts import Parts
from hippocampe.points import memory_text, turn_text
from hippocampe.protocols import Filter
from hippocampe.recall import recall
from hippocampe.revise import hide
from hippocampe.store import derived, erasing, memories, schema, talk
from hippocampe.store.store import Store
from hippocampe.text import STOP_WORDS, content_words, words
from hippocampe.types import MEMORY_COLLECTIONS, Memory, Receipt, Recollection, Scope

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
    found = _about(parts, topic, scope)
    if not dry_run:
        _hide(parts, found, scope, f"forgotten: {topic}")
    counts: dict[str, int] = {}
    for item in found:
        kind = "fact" if item.memory is not None and item.memory.key else item.kind
        counts[kind] = counts.get(kind, 0) + 1
    return Receipt(counts, tuple(item.id for item in found), dry_run, tuple(found))


def _about(parts: Parts, topic: str, scope: Scope) -> list[Recollection]:
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
    found = {item.id: replace(item, why=()) for item in by_meaning if _meets_most(item)}
    if wanted:
        for item in _holding(parts, topic, wanted, scope.space):
            found.setdefault(item.id, item)
    return list(found.values())


def _meets_most(item: Recollection) -> bool:
    """Whether it meets more than half of what the topic says: "dev = Mickael" is relevant to
    Mickael's illness, but it is not about it."""
    return any(signal.name == "soft" and signal.value > 0.5 for signal in item.why)


def _holding(parts: Parts, topic: str, wanted: set[str], space: str) -> Iterable[Recollection]:
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
                        yield _of_memory(memory)
            elif kind == "turn":
                for turn in talk.turns(connection, space, ids).values():
                    if wanted <= set(words(turn_text(turn))):
                        yield Recollection(turn.id, "turn", turn.content, 1.0, at=turn.at)
            else:
                for message in talk.find_messages(connection, schema.message.c.id.in_(ids)):
                    if wanted <= set(words(message.content)):
                        yield Recollection(message.id, "live", message.content, 1.0, at=message.at)
        keyed = [memories.living(space, now), schema.memory.c.key.is_not(None)]
        for memory in memories.find(connection, *keyed):
            if wanted <= set(words((memory.key or "").replace("_", " "))):
                yield _of_memory(memory)


def _of_memory(memory: Memory) -> Recollection:
    return Recollection(
        memory.id, memory.collection, memory.content, 1.0, memory, at=memory.created_at
    )


def _hide(parts: Parts, found: Collection[Recollection], scope: Scope, reason: str) -> None:
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
    hidden: list[str] = []
    while True:
        with parts.store.read() as connection:
            if not memories.find(connection, *conditions, limit=1):
                break
        with parts.change() as change:
            for memory in memories.find(change.connection, *conditions, limit=_BATCH):
                hide(change, memory, now, "expired")
                hidden.append(memory.id)
    return Receipt({"memory": len(hidden)}, tuple(hidden), False)


@dataclass(frozen=True, slots=True)
class _Order:
    """What to erase: exactly one of `id`, `user`, `subject` and `whole_space`."""

    space: str
    id: str | None
    user: str | None
    subject: str | None
    whole_space: bool

    def select(self, connection: Connection) -> "_Doomed":
        """Everything of one database that it means."""
        found = erasing.select(
            connection,
            self.space,
            id=self.id,
            user=self.user,
            subject=self.subject,
            whole_space=self.whole_space,
        )
        return _Doomed(*found)

    def remove(self, connection: Connection, doomed: "_Doomed") -> None:
        """Remove it from one database."""
        erasing.remove(
            connection,
            self.space,
            memory_ids=doomed.memories,
            turn_ids=doomed.turns,
            message_ids=doomed.messages,
            piece_ids=doomed.pieces,
            user=self.user,
            subject=self.subject,
            whole_space=self.whole_space,
        )


@dataclass(frozen=True, slots=True)
class _Doomed:
    """What an erasure removes, by id."""

    memories: set[str]
    turns: set[str]
    messages: set[str]
    pieces: set[str]

    @property
    def ids(self) -> set[str]:
        return self.memories | self.turns | self.messages | self.pieces

    def of_kinds(self) -> tuple[tuple[str, set[str]], ...]:
        return (
            *(("memory", self.memories), ("turn", self.turns)),
            *(("live", self.messages), ("note", self.pieces)),
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

    Exactly one of `id`, `user`, `subject` and `whole_space` says what. Versions that superseded an
    erased memory, or that it superseded, go with it; so does the whole turn of an erased message.
    Of notes the indexed pieces go; the files are the user's, and are read again while they are there.
    If the rows cannot be removed, nothing is changed but the backups; after that, what a failure or a
    kill leaves in the files is removed at the next opening.

    Raises:
        InvalidInput: None or several of them are given.
        NotFound: The space has nothing of this id.
    """
    given = [name for name in (id, user, subject) if name is not None]
    if len(given) + whole_space != 1:
        raise InvalidInput("say exactly one of id, user, subject or whole_space.")
    if subject is not None and not content_words(clean(subject, what="subject")):
        raise InvalidInput(f"subject {subject!r} holds no word to look for.")
    order = _Order(scope.space, id, user, subject, whole_space)
    with parts.rebuilding, parts.store.exclusive():
        parts.check_serving()
        with parts.store.read() as connection:
            doomed = order.select(connection)
        if id is not None and not doomed.ids:
            raise NotFound(f"space {scope.space!r} has nothing of id {id!r}: nothing was erased.")
        if not dry_run:
            with parts.store.copying:
                _erase(parts, order, doomed)
    counts = {
        "memory": len(doomed.memories),
        "turn": len(doomed.turns),
        "message": len(doomed.messages),
    }
    if doomed.pieces:
        counts["note"] = len(doomed.pieces)
    return Receipt(counts, tuple(sorted(doomed.ids)), dry_run)


def _erase(parts: Parts, order: _Order, doomed: _Doomed) -> None:
    journal.write(parts)
    parts.store.remove_partial_backups()
    # Backups first: once the rows are gone, nobody could tell what was to go from them.
    for path in parts.store.backups():
        _scrub_backup(path, order, doomed)
    with parts.change() as change:
        for kind, ids in doomed.of_kinds():
            for each in ids:
                change.unindex(kind, each, order.space)
        order.remove(change.connection, doomed)
        note = {"erased": len(doomed.ids)}
        erasing.leave_note(change.connection, str(uuid7()), order.space, parts.now(), note)
        derived.set_meta(change.connection, maintain.ERASING, "1")
    settings.refresh(parts, order.space)
    parts.lexicon.forget()
    parts.given.forget(order.space)
    parts.changes += 1
    maintain.finish_erasure(parts)


def _scrub_backup(path: Path, order: _Order, doomed: _Doomed) -> None:
    """Erase from a backup too; one of another schema cannot be searched, so it is deleted whole."""
    copy = Store(path, path.parent)
    try:
        if copy.revision() != schema.REVISION:
            path.unlink()
            return
        with copy.write() as connection:
            # It may hold what was edited or erased since under other words.
            older = order.select(connection)
            both = _Doomed(
                older.memories | doomed.memories,
                older.turns | doomed.turns,
                older.messages | doomed.messages,
                older.pieces | doomed.pieces,
            )
            order.remove(connection, both)
        copy.scrub()
    finally:
        copy.close()
