"""What a person does to memories by hand: look, edit, delete, restore, associate, settle reviews."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from hippocampe.consolidation.decide import subjects_of
from hippocampe.engine.context import Context
from hippocampe.engine.unit_of_work import Change
from hippocampe.engine.vocabulary import Prepared
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.index.documents import (
    memory_embedding_text,
    memory_text,
    turn_embedding_text,
    turn_point,
    turn_text,
)
from hippocampe.ingest.remember import (
    Draft,
    Judgement,
    double_of,
    judge,
    kept_importance,
    rewrite,
    supersede_and_link,
)
from hippocampe.language.datetimes import as_utc, parse_ttl
from hippocampe.retrieval.results import of_turn
from hippocampe.store import associations, conversations, embeddings, memories, schema
from hippocampe.store.conversations import Turn
from hippocampe.types import (
    ASSOCIATIONS,
    DEFAULT_IMPORTANCE,
    Association,
    History,
    Memory,
    Metadata,
    Recollection,
    Review,
    Scope,
)
from hippocampe.validation import (
    check_choice,
    check_collection,
    check_id,
    check_importance,
    check_limit,
    check_subjects,
    check_text,
    clean,
    own,
    safe,
    safe_metadata,
)


class Unset:
    """The value of an argument that was not given."""


UNSET = Unset()


def get(context: Context, id: str, *, scope: Scope) -> Memory:
    """One memory, current or not.

    Raises:
        NotFound: The space has no memory of this id.
    """
    check_id(id)
    with context.store.read() as connection:
        return _one(memories.get(connection, scope.space, [id]), id, scope)


def _one(found: dict[str, Memory], id: str, scope: Scope) -> Memory:
    if id not in found:
        raise NotFound(
            f"space {scope.space!r} has no memory {id!r}: take ids from recall or recent."
        )
    return found[id]


def recent(
    context: Context, limit: int, *, scope: Scope, since: datetime | str | None, channel_only: bool
) -> list[Memory]:
    """The newest memories of the space, newest first, by the time they were learnt."""
    limit = check_limit(limit)
    conditions = [
        memories.living(scope.space, context.now()),
        schema.memory.c.collection == "memory",
    ]
    after = as_utc(since, name="since")
    if after is not None:
        conditions.append(schema.memory.c.created_at >= after)
    if channel_only:
        if scope.channel is None:
            raise InvalidInput("channel_only needs a scope that names a channel.")
        conditions.append(schema.memory.c.channel == scope.channel)
    with context.store.read() as connection:
        return memories.find(connection, *conditions, limit=limit)


def history(context: Context, id: str, *, scope: Scope) -> History:
    """Every version of a statement, oldest first, and the edges that touch them.

    Raises:
        NotFound: The space has no memory of this id.
    """
    check_id(id)
    with context.store.read() as connection:
        versions = memories.versions(connection, scope.space, id)
        if not versions:
            _one({}, id, scope)
        edges = associations.touching(connection, scope.space, [memory.id for memory in versions])
    return History(tuple(versions), tuple(edges))


def edit(
    context: Context,
    id: str,
    *,
    scope: Scope,
    content: str | None,
    type: str | None,
    category: str | None,
    subjects: Sequence[str] | None,
    importance: float | None,
    ttl: str | timedelta | Unset | None,
    occurred_at: datetime | str | Unset | None,
    metadata: Metadata | None,
) -> Memory:
    """Change fields of a current memory in place; what is not given stays.

    A new statement supersedes the memories that it contradicts, as in `remember`. A new type brings
    its importance, unless the memory had one of its own.

    Raises:
        NotFound: The space has no current memory of this id.
        InvalidInput: A value cannot be used, or another current memory states the same; nothing
            was changed.
    """
    now = context.now()
    old = _current(context, id, scope)
    new = replace(
        old,
        content=old.content
        if content is None
        else safe(own(clean(content)), refuse=context.config.refuse_secrets),
        type=old.type if type is None else type,
        category=old.category if category is None else category,
        subjects=old.subjects if subjects is None else check_subjects(subjects),
        metadata=old.metadata
        if metadata is None
        else safe_metadata(metadata, refuse=context.config.refuse_secrets),
        updated_at=now,
    )
    check_choice("type", new.type, DEFAULT_IMPORTANCE)
    if importance is None:
        importance = kept_importance(old, new.type)
    new = replace(new, importance=check_importance(new.type, importance))
    check_collection(new)
    if not isinstance(ttl, Unset):
        lifetime = parse_ttl(ttl)
        new = replace(new, expires_at=now + lifetime if lifetime else None)
    if not isinstance(occurred_at, Unset):
        new = replace(new, occurred_at=as_utc(occurred_at, name="occurred_at"))
    prepared = context.prepare([memory_embedding_text(new)], [memory_text(new)])[0]
    with context.change() as change:
        if _one_current(change, id, scope).updated_at != old.updated_at:
            raise NotFound(f"memory {id!r} was changed meanwhile: look at it again.")
        if new.content != old.content:
            _take_its_place(context, change, new, prepared)
        rewrite(change, new, prepared)
    return new


def _take_its_place(
    context: Context,
    change: Change,
    memory: Memory,
    prepared: Prepared,
    *,
    successor: Memory | None = None,
) -> None:
    """Ask the rule of `remember` before a stored memory states something else, or again.

    What it contradicts is superseded. What no rule is sure of is listed for review, as is the
    `successor` that had superseded it if it stays current.

    Raises:
        InvalidInput: Another current memory states the same.
    """
    draft = Draft(memory, tuple(subjects_of(memory.content)))
    same = double_of(change, memory)
    judgement = Judgement(same=same, reason="same statement")
    if same is None:
        undone = successor.id if successor else None
        judgement = judge(context, change, draft, prepared, successor=undone)
    if judgement.same is not None:
        raise InvalidInput(
            f"memory {judgement.same.id!r} is current and states the same ({judgement.reason}): "
            "edit or delete that one first."
        )
    replaced = {old.id for old in judgement.replaced}
    related = {id: (id, why, review) for id, why, review in judgement.related}
    if successor is not None and successor.id not in replaced:
        why = related.get(successor.id, ("", "had superseded it", True))[1]
        related[successor.id] = (successor.id, why, True)
    for edge in associations.touching(change.connection, memory.space, [memory.id]):
        if edge.kind == "related_to":
            # Known to be alike: a person may have settled it.
            related.pop(edge.source_id, None)
            related.pop(edge.target_id, None)
        elif edge.kind == "updates" and edge.target_id in replaced:
            associations.remove(change.connection, edge)
    supersede_and_link(change, memory, replace(judgement, related=tuple(related.values())))


def _current(context: Context, id: str, scope: Scope) -> Memory:
    memory = get(context, id, scope=scope)
    if not memory.current:
        state = "forgotten" if memory.forgotten_at else "replaced by a newer one"
        raise NotFound(f"memory {id!r} is {state}: restore it first.")
    return memory


def _one_current(change: Change, id: str, scope: Scope) -> Memory:
    memory = _one(memories.get(change.connection, scope.space, [id]), id, scope)
    if not memory.current:
        raise NotFound(f"memory {id!r} was changed by someone else meanwhile: look at it again.")
    return memory


def delete(context: Context, id: str, *, scope: Scope, reason: str) -> Memory:
    """Hide a memory from recall; it stays in history and can be restored.

    Raises:
        NotFound: The space has no current memory of this id.
        InvalidInput: The reason is empty.
    """
    check_id(id)
    reason = clean(reason, what="reason", limit=1_000)
    with context.change() as change:
        memory = _one_current(change, id, scope)
        return hide(change, memory, context.now(), reason)


def hide(change: Change, memory: Memory, at: datetime, reason: str) -> Memory:
    """Mark a memory as forgotten and take it out of the index."""
    hidden = memories.forget(change.connection, memory, at, reason)
    change.unindex("memory", memory.id, memory.space)
    return hidden


def restore(context: Context, id: str, *, scope: Scope) -> Memory | Recollection:
    """Make a forgotten, expired or superseded memory current again, or a forgotten turn of talk.

    The rule is that of `remember`: what the memory contradicts, and what holds its key, is
    superseded; a pair that no rule is sure of is listed for review.

    Raises:
        NotFound: The space has no memory and no turn of this id.
        InvalidInput: It is current already, or another current memory states the same.
    """
    check_id(id)
    now = context.now()
    with context.store.read() as connection:
        turn = conversations.turns(connection, scope.space, [id]).get(id)
    if turn is not None:
        return _restore_turn(context, turn)
    old = get(context, id, scope=scope)
    # Its embedding may be gone: only current memories are embedded anew by a change of embedder.
    prepared = context.prepare([memory_embedding_text(old)], [memory_text(old)])[0]
    with context.change() as change:
        memory = _one(memories.get(change.connection, scope.space, [id]), id, scope)
        expired = memory.expires_at is not None and memory.expires_at <= now
        if memory.current and not expired:
            raise InvalidInput(f"memory {id!r} is current: there is nothing to restore.")
        back = replace(
            memory,
            forgotten_at=None,
            forgotten_reason=None,
            superseded_by=None,
            superseded_at=None,
            expires_at=None if expired else memory.expires_at,
            updated_at=now,
        )
        successor = _successor(change, memory)
        _take_its_place(context, change, back, prepared, successor=successor)
        rewrite(change, back, prepared)
    return back


def _successor(change: Change, memory: Memory) -> Memory | None:
    """The current memory that took the place of a superseded one, over any number of updates."""
    seen: set[str] = set()
    while memory.superseded_by is not None and memory.superseded_by not in seen:
        seen.add(memory.superseded_by)
        found = memories.get(change.connection, memory.space, [memory.superseded_by])
        if memory.superseded_by not in found:
            return None
        memory = found[memory.superseded_by]
    return memory if seen and memory.current else None


def _restore_turn(context: Context, turn: Turn) -> Recollection:
    prepared = context.prepare([turn_embedding_text(turn)], [turn_text(turn)])[0]
    with context.change() as change:
        found = conversations.turns(change.connection, turn.space, [turn.id]).get(turn.id)
        if found is None or found.forgotten_at is None:
            raise InvalidInput(f"turn {turn.id!r} is not forgotten: there is nothing to restore.")
        conversations.set_forgotten(change.connection, turn.space, [turn.id], None, None)
        embeddings.remove_vectors(change.connection, [turn.id])
        change.index("turn", turn_point(turn, prepared.dense), prepared)
    return of_turn(turn)


def associate(
    context: Context, source_id: str, target_id: str, kind: str, *, scope: Scope, reason: str | None
) -> Association:
    """Add a typed edge between two memories of the space.

    Raises:
        InvalidInput: The kind does not exist, or both ends are the same memory.
        NotFound: The space lacks one of the memories.
    """
    check_id(source_id, name="source_id")
    check_id(target_id, name="target_id")
    check_choice("association", kind, ASSOCIATIONS)
    if reason is not None:
        reason = clean(reason, what="reason", limit=1_000)
    if source_id == target_id:
        raise InvalidInput("a memory cannot be associated with itself.")
    edge = Association(source_id, target_id, kind, reason, context.now())
    with context.store.write() as connection:
        found = memories.get(connection, scope.space, [source_id, target_id])
        for id in (source_id, target_id):
            _one(found, id, scope)
        associations.associate(connection, scope.space, edge, review=False)
    return edge


def neighbours(
    context: Context, id: str, *, scope: Scope, depth: int
) -> tuple[tuple[Memory, ...], tuple[Association, ...]]:
    """The memories within `depth` edges of one, and the edges between them.

    Raises:
        NotFound: The space has no memory of this id.
        InvalidInput: `depth` is not 1 to 5.
    """
    check_id(id)
    if not isinstance(depth, int) or not 1 <= depth <= 5:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"depth must be a whole number from 1 to 5, not {depth!r}.")
    with context.store.read() as connection:
        _one(memories.get(connection, scope.space, [id]), id, scope)
        reached, edges = associations.walk(connection, scope.space, [id], depth)
        found = memories.get(connection, scope.space, reached)
    return tuple(found[each] for each in reached if each in found), tuple(edges)


def facts(context: Context, *, scope: Scope) -> dict[str, Memory]:
    """The current memories that hold a key, by key, in alphabetical order."""
    conditions = [memories.living(scope.space, context.now()), schema.memory.c.key.is_not(None)]
    with context.store.read() as connection:
        found = memories.find(connection, *conditions, newest_first=False)
    return dict(sorted((memory.key or "", memory) for memory in found))


def delete_fact(context: Context, key: str, *, scope: Scope, reason: str) -> Memory:
    """Hide the memory that holds a key.

    Raises:
        NotFound: No current memory of the space holds this key.
        InvalidInput: The key is no text, or the reason is empty.
    """
    check_id(key, name="key")
    reason = clean(reason, what="reason", limit=1_000)
    with context.change() as change:
        holder = memories.holder_of_key(change.connection, scope.space, key)
        if holder is None:
            raise NotFound(f"space {scope.space!r} has no fact {key!r}: see them with facts().")
        return hide(change, holder, context.now(), reason)


def reviews(context: Context, *, scope: Scope) -> list[Review]:
    """Pairs of current memories that no rule could tell apart, newest first."""
    with context.store.read() as connection:
        edges = associations.to_review(connection, scope.space)
        ids = {id for edge in edges for id in (edge.source_id, edge.target_id)}
        found = memories.get(connection, scope.space, ids)
    return [
        Review(found[edge.source_id], found[edge.target_id], edge.reason or "")
        for edge in edges
        if found[edge.source_id].current and found[edge.target_id].current
    ]


def settle(context: Context, id: str, other_id: str, *, scope: Scope, keep: str | None) -> None:
    """Take a pair off the review list; with `keep`, that one supersedes the other, key and all.

    Raises:
        NotFound: The space lacks one of the memories, or with `keep`, one is not current.
        InvalidInput: `keep` is neither of them, or they are one.
    """
    check_id(id)
    check_id(other_id, name="other_id")
    check_text("keep", keep)
    if id == other_id or keep not in (None, id, other_id):
        raise InvalidInput(f"give two memories, and keep one of them or none: not {keep!r}.")
    with context.change() as change:
        found = memories.get(change.connection, scope.space, [id, other_id])
        for each in (id, other_id):
            _one(found, each, scope)
        associations.settle(change.connection, [id, other_id])
        if keep is not None:
            lost = found[other_id if keep == id else id]
            if not (found[keep].current and lost.current):
                raise NotFound("one of the two is no longer current: look at them again.")
            memories.supersede(change.connection, lost, keep, context.now())
            change.unindex("memory", lost.id, lost.space)
            edge = Association(keep, lost.id, "updates", "settled by hand", context.now())
            associations.associate(change.connection, scope.space, edge, review=False)
            if lost.key is not None and found[keep].key is None:
                rewrite(change, replace(found[keep], key=lost.key, updated_at=context.now()))
