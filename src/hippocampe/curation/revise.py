"""Edit, delete and restore memories by hand, with the rules of `remember`."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from hippocampe.curation.turns import Turns
from hippocampe.engine import audit
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.documents import (
    memory_embedding_text,
    memory_text,
    turn_embedding_text,
    turn_point,
    turn_text,
)
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.vocabulary import Prepared
from hippocampe.engine.writer import Writer
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.ingest.conversation import hide_turns
from hippocampe.ingest.draft import event_time
from hippocampe.ingest.memory_writes import supersede_and_link, update_memory
from hippocampe.ingest.remember import inherited_importance
from hippocampe.language.datetimes import as_utc, parse_ttl
from hippocampe.language.subjects import subjects_of
from hippocampe.retrieval.lookup import get, require
from hippocampe.retrieval.results import of_turn
from hippocampe.store import associations, memories, turn_rows
from hippocampe.store.turn_rows import Turn
from hippocampe.types import (
    DEFAULT_IMPORTANCE,
    UNSET,
    Association,
    Memory,
    Metadata,
    Recollection,
    Scope,
    Unset,
)
from hippocampe.updates.draft import Draft
from hippocampe.updates.judgement import Judgement, Related, find_duplicate, judge
from hippocampe.validation import (
    check_choice,
    check_collection,
    check_id,
    check_importance,
    clean_key,
    clean_reason,
    clean_text,
    redact_metadata,
    redact_named,
    redact_subjects,
    strip_injection,
)


def edit(
    writer: Writer,
    id: str,
    *,
    scope: Scope,
    content: str | None = None,
    type: str | None = None,
    category: str | None = None,
    subjects: Sequence[str] | None = None,
    importance: float | None = None,
    ttl: str | timedelta | Unset | None = UNSET,
    occurred_at: datetime | str | Unset | None = UNSET,
    metadata: Metadata | None = None,
) -> Memory:
    """Change fields of a current memory in place; omitted fields stay.

    A new statement supersedes the memories that it contradicts, as in `remember`.

    Args:
        id: The memory.
        scope: The space.
        content: The statement, 1 to 100,000 characters. Secrets in it are masked.
        type: One of `hippocampe.types.DEFAULT_IMPORTANCE`; it brings its default importance, unless the memory
            had a custom one.
        category: Of `self` and `goal`: one of `hippocampe.types.CATEGORIES`.
        subjects: Flat tags.
        importance: 0 to 1.
        ttl: Time to live from now: `"1h"`, `"7d"`, `"2w"`, a timedelta, or None for ever.
        occurred_at: When it happened; None for no time. By default it follows a time in the content, such as
            "tomorrow", that the edit changes.
        metadata: All of its key-value pairs, as in `remember`; `{}` removes them.

    Raises:
        NotFound: The space has no current memory of this id, or it has expired and gets no new `ttl`.
        InvalidInput: A value is invalid, or another current memory states the same; nothing was
            changed.
    """
    corpus = writer.corpus
    old = get(corpus.store, id, scope=scope)
    now = corpus.store.now()
    expired = old.has_expired(now)
    _check_editable(old, lasts=not expired or not isinstance(ttl, Unset))
    refuse = corpus.config.refuse_secrets
    new = replace(
        old,
        content=old.content
        if content is None
        else redact_named(old.key or "", strip_injection(clean_text(content)), refuse=refuse),
        type=old.type if type is None else type,
        category=old.category if category is None else category,
        subjects=old.subjects
        if subjects is None
        else redact_subjects(subjects, refuse=refuse, beside=content or ""),
        metadata=old.metadata
        if metadata is None
        else redact_metadata(metadata, refuse=refuse, beside=content or ""),
        updated_at=now,
    )
    check_choice("type", new.type, DEFAULT_IMPORTANCE)
    if importance is None:
        importance = inherited_importance(old, new.type)
    new = replace(new, importance=check_importance(new.type, importance))
    check_collection(new)
    if not isinstance(ttl, Unset):
        lifetime = parse_ttl(ttl)
        new = replace(new, expires_at=now + lifetime if lifetime else None)
    if not isinstance(occurred_at, Unset):
        new = replace(new, occurred_at=as_utc(occurred_at, name="occurred_at"))
    else:
        before, after = (
            event_time(corpus.settings, text, scope, old.created_at)
            for text in (old.content, new.content)
        )
        # Another time in the text is one of today; a time that the caller gave stays.
        if after != before == old.occurred_at:
            new = replace(new, occurred_at=event_time(corpus.settings, new.content, scope, now))
    prepared = corpus.vocabulary.prepare([memory_embedding_text(new)], [memory_text(new)])[0]
    with writer.change() as change:
        if _require_current(change, id, scope).updated_at != old.updated_at:
            raise NotFound(f"memory {id!r} was changed meanwhile: look at it again.")
        if new.content != old.content or expired:
            _reconcile(corpus, change, new, prepared)
        update_memory(change, new, prepared)
    return new


def _check_editable(memory: Memory, *, lasts: bool) -> None:
    if not memory.current:
        state = "forgotten" if memory.forgotten_at else "replaced by a newer one"
        raise NotFound(f"memory {memory.id!r} is {state}: restore it first.")
    if not lasts:
        raise NotFound(f"memory {memory.id!r} has expired: restore it first.")


def delete(
    writer: Writer, turns: Turns, id: str, *, scope: Scope, reason: str
) -> Memory | Recollection:
    """Forget a memory or a turn of talk: recall no longer finds it, and `restore` brings it back.

    A memory stays in history. What was learnt from a turn stays current.

    Args:
        id: Its id, exactly as a search gave it.
        scope: The space.
        reason: Why; it is kept in the history.

    Raises:
        NotFound: The space has no current memory of this id, and no turn that is not forgotten.
        InvalidInput: The reason is empty.
    """
    check_id(id)
    reason = clean_reason(reason)
    with writer.change(from_reserve=True) as change:
        turn = turn_rows.get(change.connection, scope.space, [id]).get(id)
        now = writer.corpus.store.now()
        if turn is not None:
            deleted = _delete_turn(change, now, turn, reason)
        else:
            deleted = _delete(change, now, _require_current(change, id, scope), reason)
    turns.forget(scope.space)
    return deleted


def delete_fact(
    writer: Writer, turns: Turns, key: str, *, scope: Scope, reason: str = "deleted"
) -> Memory:
    """Forget a fact.

    Raises:
        NotFound: The space has no fact of this key.
        InvalidInput: The key is not text or is empty, or the reason is empty.
    """
    key = clean_key(key)
    reason = clean_reason(reason)
    with writer.change(from_reserve=True) as change:
        holder = memories.holder_of_key(change.connection, scope.space, key)
        if holder is None:
            raise NotFound(
                f"space {scope.space!r} has no fact {key!r}: take keys from the list of facts."
            )
        deleted = _delete(change, writer.corpus.store.now(), holder, reason)
    turns.forget(scope.space)
    return deleted


def _delete(change: UnitOfWork, now: datetime, memory: Memory, reason: str) -> Memory:
    audit.record(change.connection, now, memory.space, "delete", **audit.ids([memory.id]))
    return hide(change, memory, now, reason)


def _delete_turn(change: UnitOfWork, now: datetime, turn: Turn, reason: str) -> Recollection:
    if turn.forgotten_at is not None:
        raise NotFound(f"turn {turn.id!r} is forgotten already: restore it to show it again.")
    audit.record(change.connection, now, turn.space, "delete_turn", **audit.ids([turn.id]))
    hide_turns(change, turn.space, [turn.id], now, reason)
    return of_turn(turn)


def hide(change: UnitOfWork, memory: Memory, at: datetime, reason: str) -> Memory:
    """Mark a memory as forgotten and remove it from the index."""
    hidden = memories.forget(change.connection, memory, at, reason)
    change.unindex("memory", memory.id, memory.space)
    return hidden


def restore(writer: Writer, id: str, *, scope: Scope) -> Memory | Recollection:
    """Make a forgotten, expired or superseded memory current again, or a forgotten turn of talk.

    The rule is that of `remember`: what the memory contradicts, and what holds its key, becomes
    history; a pair that no rule is sure of is listed for review.

    Raises:
        NotFound: The space has no memory and no turn of this id.
        InvalidInput: It is current already, or another current memory states the same.
    """
    check_id(id)
    with writer.corpus.store.read() as connection:
        turn = turn_rows.get(connection, scope.space, [id]).get(id)
        memory = memories.get(connection, scope.space, [id]).get(id)
    if turn is not None:
        return _restore_turn(writer, turn)
    if memory is None:
        raise NotFound(
            f"space {scope.space!r} has nothing with id {id!r} to restore: list --state forgotten shows the "
            "memories that can be, and audit the ids of turns."
        )
    return _restore_memory(writer, memory, scope)


def _restore_memory(writer: Writer, old: Memory, scope: Scope) -> Memory:
    corpus, id = writer.corpus, old.id
    now = corpus.store.now()
    # A change of embedder only re-embeds current memories, so the stored vector may be missing.
    prepared = corpus.vocabulary.prepare([memory_embedding_text(old)], [memory_text(old)])[0]
    with writer.change() as change:
        memory = require(memories.get(change.connection, scope.space, [id]), id, scope)
        expired = memory.has_expired(now)
        if memory.current and not expired:
            raise InvalidInput(f"memory {id!r} is current: there is nothing to restore.")
        restored = replace(
            memory,
            forgotten_at=None,
            forgotten_reason=None,
            superseded_by=None,
            superseded_at=None,
            former=False,
            expires_at=None if expired else memory.expires_at,
            updated_at=now,
        )
        successor = memories.successor(change.connection, memory)
        compared = memory.forgotten_at if memory.superseded_by is None else None
        _reconcile(corpus, change, restored, prepared, successor=successor, compared=compared)
        if compared is not None:
            # Nobody stated it again. It was used, so that it is not pruned at once.
            told = memory.updated_at if memory.updated_at < compared else memory.created_at
            restored = replace(restored, updated_at=told, last_accessed_at=now)
        update_memory(change, restored, prepared)
        audit.record(change.connection, now, scope.space, "restore", **audit.ids([id]))
    return restored


def _restore_turn(writer: Writer, turn: Turn) -> Recollection:
    prepared = writer.corpus.vocabulary.prepare([turn_embedding_text(turn)], [turn_text(turn)])[0]
    with writer.change() as change:
        found = turn_rows.get(change.connection, turn.space, [turn.id]).get(turn.id)
        if found is None or found.forgotten_at is None:
            raise InvalidInput(f"turn {turn.id!r} is not forgotten: there is nothing to restore.")
        turn_rows.set_forgotten(change.connection, turn.space, [turn.id], None, None)
        change.remove_embeddings([turn.id])
        change.index("turn", turn_point(turn, prepared.dense), prepared)
        audit.record(
            change.connection,
            writer.corpus.store.now(),
            turn.space,
            "restore",
            **audit.ids([turn.id]),
        )
    return of_turn(turn)


def _require_current(change: UnitOfWork, id: str, scope: Scope) -> Memory:
    memory = require(memories.get(change.connection, scope.space, [id]), id, scope)
    if not memory.current:
        if memory.forgotten_at is not None:
            raise NotFound(f"memory {id!r} is forgotten already: restore it to change it.")
        raise NotFound(f"memory {id!r} was replaced by a newer one: look at its history.")
    return memory


def _reconcile(
    corpus: Corpus,
    change: UnitOfWork,
    memory: Memory,
    prepared: Prepared,
    *,
    successor: Memory | None = None,
    compared: datetime | None = None,
) -> None:
    """Apply the rules of `remember` before an edited or restored memory becomes current.

    Contradicted memories are superseded. Undecided pairs are listed for review, as is the
    `successor` that had superseded the memory if it stays current. What was current beside the memory, unchanged
    since the time `compared`, was compared with it then, and stays.

    Raises:
        InvalidInput: Another current memory states the same.
    """
    draft = Draft(memory, tuple(subjects_of(memory.content)))
    duplicate = find_duplicate(corpus, change, memory)
    judgement = Judgement(duplicate=duplicate, reason="same statement")
    if duplicate is None:
        undone = successor.id if successor else None
        judgement = judge(corpus, change, draft, prepared, successor=undone)
    if judgement.duplicate is not None:
        raise InvalidInput(
            f"memory {judgement.duplicate.id!r} is current and states the same "
            f"({judgement.reason}): edit or forget that one first."
        )
    if compared is not None:
        newer = tuple(old for old in judgement.replaced if old.updated_at > compared)
        judgement = replace(judgement, replaced=newer)
    edges = associations.touching(change.connection, memory.space, [memory.id])
    linked = {
        id for edge in edges if edge.kind == "related_to" for id in (edge.source_id, edge.target_id)
    }
    if successor is not None:
        if judgement.reason != "same key" and _was_decided(successor, edges):
            # The restore contradicts it: list the two again.
            remaining = tuple(old for old in judgement.replaced if old.id != successor.id)
            judgement = replace(judgement, replaced=remaining)
            linked.discard(successor.id)
            associations.unrelate(change.connection, [memory.id, successor.id])
        judgement = _with_successor(judgement, successor)
    replaced = {old.id for old in judgement.replaced}
    for edge in edges:
        if edge.kind == "updates" and edge.target_id in replaced:
            associations.remove(change.connection, edge)
    # Already linked: a person may have settled the pair.
    related = tuple(each for each in judgement.related if each.id not in linked)
    supersede_and_link(change, memory, replace(judgement, related=related))


def _was_decided(successor: Memory, edges: Sequence[Association]) -> bool:
    """Return whether a model or a person had decided that a memory supersedes another, by the edges of that one."""
    return any(
        edge.source_id == successor.id and associations.is_for_a_person(edge) for edge in edges
    )


def _with_successor(judgement: Judgement, successor: Memory) -> Judgement:
    """List the memory that had superseded a restored one for review, if it stays current."""
    if any(old.id == successor.id for old in judgement.replaced):
        return judgement
    related = {each.id: each for each in judgement.related}
    known = related.get(successor.id)
    reason = f"{associations.RESTORED}: {known.reason}" if known else associations.RESTORED
    related[successor.id] = Related(successor.id, reason, review=True)
    return replace(judgement, related=tuple(related.values()))
