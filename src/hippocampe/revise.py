"""What a person does to memories by hand: look, edit, delete, restore, associate, settle reviews."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from hippocampe.checks import (
    check_drawer,
    check_importance,
    check_limit,
    check_subjects,
    clean,
    own,
    safe,
    safe_metadata,
)
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.parts import Change, Parts
from hippocampe.points import (
    memory_embedding_text,
    memory_text,
    turn_embedding_text,
    turn_point,
    turn_text,
)
from hippocampe.recall import of_turn
from hippocampe.remember import rewrite
from hippocampe.store import associations, derived, memories, schema, talk
from hippocampe.store.talk import Turn
from hippocampe.times import as_utc, parse_ttl
from hippocampe.types import (
    ASSOCIATIONS,
    Association,
    History,
    Memory,
    Metadata,
    Recollection,
    Review,
    Scope,
)


class Unset:
    """The value of an argument that was not given."""


UNSET = Unset()


def get(parts: Parts, id: str, *, scope: Scope) -> Memory:
    """One memory, current or not.

    Raises:
        NotFound: The space has no memory of this id.
    """
    with parts.store.read() as connection:
        return _one(memories.get(connection, scope.space, [id]), id, scope)


def _one(found: dict[str, Memory], id: str, scope: Scope) -> Memory:
    if id not in found:
        raise NotFound(
            f"space {scope.space!r} has no memory {id!r}: take ids from recall or recent."
        )
    return found[id]


def recent(
    parts: Parts, limit: int, *, scope: Scope, since: datetime | str | None, channel_only: bool
) -> list[Memory]:
    """The newest memories of the space, newest first, by the time they were learnt."""
    limit = check_limit(limit)
    conditions = [
        memories.living(scope.space, parts.now()),
        schema.memory.c.collection == "memory",
    ]
    after = as_utc(since, name="since")
    if after is not None:
        conditions.append(schema.memory.c.created_at >= after)
    if channel_only:
        if scope.channel is None:
            raise InvalidInput("channel_only needs a scope that names a channel.")
        conditions.append(schema.memory.c.channel == scope.channel)
    with parts.store.read() as connection:
        return memories.find(connection, *conditions, limit=limit)


def history(parts: Parts, id: str, *, scope: Scope) -> History:
    """Every version of a statement, oldest first, and the edges that touch them.

    Raises:
        NotFound: The space has no memory of this id.
    """
    with parts.store.read() as connection:
        versions = memories.versions(connection, scope.space, id)
        if not versions:
            _one({}, id, scope)
        edges = associations.touching(connection, scope.space, [memory.id for memory in versions])
    return History(tuple(versions), tuple(edges))


def edit(
    parts: Parts,
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

    Raises:
        NotFound: The space has no current memory of this id.
        InvalidInput: A value cannot be used; nothing was changed.
    """
    now = parts.now()
    old = _current(parts, id, scope)
    new = replace(
        old,
        content=old.content
        if content is None
        else safe(own(clean(content)), refuse=parts.config.refuse_secrets),
        type=old.type if type is None else type,
        category=old.category if category is None else category,
        subjects=old.subjects if subjects is None else check_subjects(subjects),
        importance=old.importance if importance is None else importance,
        metadata=old.metadata
        if metadata is None
        else safe_metadata(metadata, refuse=parts.config.refuse_secrets),
        updated_at=now,
    )
    check_importance(new.type, new.importance)
    check_drawer(new)
    if not isinstance(ttl, Unset):
        lifetime = parse_ttl(ttl)
        new = replace(new, expires_at=now + lifetime if lifetime else None)
    if not isinstance(occurred_at, Unset):
        new = replace(new, occurred_at=as_utc(occurred_at, name="occurred_at"))
    prepared = parts.prepare([memory_embedding_text(new)], [memory_text(new)])[0]
    with parts.change() as change:
        if _one_current(change, id, scope).updated_at != old.updated_at:
            raise NotFound(f"memory {id!r} was changed meanwhile: look at it again.")
        rewrite(change, new, prepared)
    return new


def _current(parts: Parts, id: str, scope: Scope) -> Memory:
    memory = get(parts, id, scope=scope)
    if not memory.current:
        state = "forgotten" if memory.forgotten_at else "replaced by a newer one"
        raise NotFound(f"memory {id!r} is {state}: restore it first.")
    return memory


def _one_current(change: Change, id: str, scope: Scope) -> Memory:
    memory = _one(memories.get(change.connection, scope.space, [id]), id, scope)
    if not memory.current:
        raise NotFound(f"memory {id!r} was changed by someone else meanwhile: look at it again.")
    return memory


def delete(parts: Parts, id: str, *, scope: Scope, reason: str) -> Memory:
    """Hide a memory from recall; it stays in history and can be restored.

    Raises:
        NotFound: The space has no current memory of this id.
        InvalidInput: The reason is empty.
    """
    reason = clean(reason, what="reason", limit=1_000)
    with parts.change() as change:
        memory = _one_current(change, id, scope)
        return hide(change, memory, parts.now(), reason)


def hide(change: Change, memory: Memory, at: datetime, reason: str) -> Memory:
    """Mark a memory as forgotten and take it out of the index."""
    hidden = replace(memory, forgotten_at=at, forgotten_reason=reason, updated_at=at)
    memories.replace_row(change.connection, hidden)
    change.unindex("memory", memory.id, memory.space)
    return hidden


def restore(parts: Parts, id: str, *, scope: Scope) -> Memory | Recollection:
    """Make a forgotten or superseded memory current again, or a forgotten turn of talk.

    A memory that had replaced it stays; both are then current, unless they hold the same key: the
    newer one then becomes history.

    Raises:
        NotFound: The space has no memory and no turn of this id.
        InvalidInput: It is current already.
    """
    now = parts.now()
    with parts.store.read() as connection:
        turn = talk.turns(connection, scope.space, [id]).get(id)
    if turn is not None:
        return _restore_turn(parts, turn)
    old = get(parts, id, scope=scope)
    # Its embedding may be gone: only current memories are embedded anew by a change of embedder.
    prepared = parts.prepare([memory_embedding_text(old)], [memory_text(old)])[0]
    with parts.change() as change:
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
        if memory.key is not None:
            holder = memories.holder_of_key(change.connection, scope.space, memory.key)
            if holder is not None and holder.id != id:
                memories.supersede(change.connection, holder, id, now)
                change.unindex("memory", holder.id, holder.space)
        rewrite(change, back, prepared)
    return back


def _restore_turn(parts: Parts, turn: Turn) -> Recollection:
    prepared = parts.prepare([turn_embedding_text(turn)], [turn_text(turn)])[0]
    with parts.change() as change:
        found = talk.turns(change.connection, turn.space, [turn.id]).get(turn.id)
        if found is None or found.forgotten_at is None:
            raise InvalidInput(f"turn {turn.id!r} is not forgotten: there is nothing to restore.")
        talk.set_forgotten(change.connection, turn.space, [turn.id], None, None)
        derived.remove_vectors(change.connection, [turn.id])
        change.index("turn", turn_point(turn, prepared.dense), prepared)
    return of_turn(turn)


def associate(
    parts: Parts, source_id: str, target_id: str, kind: str, *, scope: Scope, reason: str | None
) -> Association:
    """Add a typed edge between two memories of the space.

    Raises:
        InvalidInput: The kind does not exist, or both ends are the same memory.
        NotFound: The space lacks one of the memories.
    """
    if kind not in ASSOCIATIONS:
        raise InvalidInput(f"unknown association {kind!r}: choose from {', '.join(ASSOCIATIONS)}.")
    if source_id == target_id:
        raise InvalidInput("a memory cannot be associated with itself.")
    edge = Association(source_id, target_id, kind, reason, parts.now())
    with parts.store.write() as connection:
        found = memories.get(connection, scope.space, [source_id, target_id])
        for id in (source_id, target_id):
            _one(found, id, scope)
        associations.associate(connection, scope.space, edge, review=False)
    return edge


def neighbours(
    parts: Parts, id: str, *, scope: Scope, depth: int
) -> tuple[tuple[Memory, ...], tuple[Association, ...]]:
    """The memories within `depth` edges of one, and the edges between them.

    Raises:
        NotFound: The space has no memory of this id.
        InvalidInput: `depth` is not 1 to 5.
    """
    if not 1 <= depth <= 5:
        raise InvalidInput(f"depth must be 1 to 5, not {depth}.")
    with parts.store.read() as connection:
        _one(memories.get(connection, scope.space, [id]), id, scope)
        reached, edges = associations.walk(connection, scope.space, [id], depth)
        found = memories.get(connection, scope.space, reached)
    return tuple(found[each] for each in reached if each in found), tuple(edges)


def facts(parts: Parts, *, scope: Scope) -> dict[str, Memory]:
    """The current memories that hold a key, by key, in alphabetical order."""
    conditions = [memories.living(scope.space, parts.now()), schema.memory.c.key.is_not(None)]
    with parts.store.read() as connection:
        found = memories.find(connection, *conditions, newest_first=False)
    return dict(sorted((memory.key or "", memory) for memory in found))


def delete_fact(parts: Parts, key: str, *, scope: Scope, reason: str) -> Memory:
    """Hide the memory that holds a key.

    Raises:
        NotFound: No current memory of the space holds this key.
    """
    with parts.change() as change:
        holder = memories.holder_of_key(change.connection, scope.space, key)
        if holder is None:
            raise NotFound(f"space {scope.space!r} has no fact {key!r}: see them with facts().")
        return hide(change, holder, parts.now(), reason)


def reviews(parts: Parts, *, scope: Scope) -> list[Review]:
    """Pairs of current memories that no rule could tell apart, newest first."""
    with parts.store.read() as connection:
        edges = associations.to_review(connection, scope.space)
        ids = {id for edge in edges for id in (edge.source_id, edge.target_id)}
        found = memories.get(connection, scope.space, ids)
    return [
        Review(found[edge.source_id], found[edge.target_id], edge.reason or "")
        for edge in edges
        if found[edge.source_id].current and found[edge.target_id].current
    ]


def settle(parts: Parts, id: str, other_id: str, *, scope: Scope, keep: str | None) -> None:
    """Take a pair off the review list; with `keep`, that one supersedes the other.

    Raises:
        NotFound: The space lacks one of the memories, or with `keep`, one is not current.
        InvalidInput: `keep` is neither of them, or they are one.
    """
    if id == other_id or keep not in (None, id, other_id):
        raise InvalidInput(f"give two memories, and keep one of them or none: not {keep!r}.")
    with parts.change() as change:
        found = memories.get(change.connection, scope.space, [id, other_id])
        for each in (id, other_id):
            _one(found, each, scope)
        associations.settle(change.connection, [id, other_id])
        if keep is not None:
            lost = found[other_id if keep == id else id]
            if not (found[keep].current and lost.current):
                raise NotFound("one of the two is no longer current: look at them again.")
            memories.supersede(change.connection, lost, keep, parts.now())
            change.unindex("memory", lost.id, lost.space)
            edge = Association(keep, lost.id, "updates", "settled by hand", parts.now())
            associations.associate(change.connection, scope.space, edge, review=False)
