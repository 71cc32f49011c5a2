"""Associate memories by hand, walk their associations, and settle the review list."""

from dataclasses import replace
from datetime import datetime

from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.writer import Writer
from hippocampe.errors import InvalidInput, NotFound, shown
from hippocampe.ingest.memory_writes import supersede, update_memory
from hippocampe.retrieval.lookup import require
from hippocampe.store import associations, memories
from hippocampe.store.store import Store
from hippocampe.types import ASSOCIATIONS, Association, Memory, Review, Scope
from hippocampe.updates.judgement import stays_former
from hippocampe.validation import (
    check_choice,
    check_flag,
    check_id,
    check_text,
    clean_reason,
)

MAX_DEPTH = 5


def associate(
    store: Store,
    source_id: str,
    target_id: str,
    kind: str,
    *,
    scope: Scope,
    reason: str | None = None,
    review: bool = False,
) -> Association:
    """Add a typed edge between two memories.

    Args:
        source_id: The memory from which the edge leads.
        target_id: The other one.
        kind: One of `hippocampe.types.ASSOCIATIONS`.
        scope: The space.
        reason: Why; it replaces that of an edge of the same kind.
        review: List the pair for review; `settle` takes it off.

    Raises:
        InvalidInput: The kind is not in `hippocampe.types.ASSOCIATIONS`, or both ends are the same memory.
        NotFound: The space lacks one of the memories.
    """
    check_id(source_id, name="source_id")
    check_id(target_id, name="target_id")
    check_choice("association", kind, ASSOCIATIONS)
    check_flag("review", review)
    if reason is not None:
        reason = clean_reason(reason)
    if source_id == target_id:
        raise InvalidInput("a memory cannot be associated with itself.")
    edge = Association(source_id, target_id, kind, reason, store.now())
    with store.write() as connection:
        found = memories.get(connection, scope.space, [source_id, target_id])
        for id in (source_id, target_id):
            require(found, id, scope)
        associations.associate(connection, scope.space, edge, review=review)
    return edge


def neighbours(
    store: Store, id: str, *, scope: Scope, depth: int = 2
) -> tuple[tuple[Memory, ...], tuple[Association, ...]]:
    """The memories within `depth` edges of one (itself first), and the edges between them.

    Raises:
        NotFound: The space has no memory of this id.
        InvalidInput: `depth` is not 1 to 5.
    """
    check_id(id)
    # True is an int, and equal to 1.
    if type(depth) is not int or not 1 <= depth <= MAX_DEPTH:
        raise InvalidInput(
            f"depth must be a whole number from 1 to {MAX_DEPTH}, not {shown(depth)}."
        )
    with store.read() as connection:
        require(memories.get(connection, scope.space, [id]), id, scope)
        reached, edges = associations.walk(connection, scope.space, [id], depth)
        found = memories.get(connection, scope.space, reached)
    return tuple(found[each] for each in reached if each in found), tuple(edges)


def reviews(store: Store, *, scope: Scope) -> list[Review]:
    """Pairs of memories that no rule could decide, likeliest to belong together first, then newest first."""
    with store.read() as connection:
        edges = associations.to_review(connection, scope.space)
        ids = {id for edge in edges for id in (edge.source_id, edge.target_id)}
        found = memories.get(connection, scope.space, ids)
    pairs: dict[frozenset[str], Review] = {}
    for edge in edges:
        memory, other = found[edge.source_id], found[edge.target_id]
        if memory.current and other.current:
            likely = associations.likelihood(edge.reason)
            review = Review(memory, other, edge.reason or "", likely)
            pairs.setdefault(frozenset((memory.id, other.id)), review)
    return sorted(pairs.values(), key=lambda each: -(each.likelihood or 0))


def settle(
    writer: Writer, id: str, other_id: str, *, scope: Scope, keep: str | None = None
) -> None:
    """Take a pair off the review list.

    Args:
        id: One memory of the pair.
        other_id: The other one.
        scope: The space.
        keep: The memory that supersedes the other one and takes over its key; None keeps both. If it is the
            newer one, recall still finds the older one for the facts that the newer one lacks.

    Raises:
        NotFound: The space lacks one of the memories, or `keep` is given and has expired, or one is not current.
        InvalidInput: `keep` is not in the pair, or both ids are the same.
    """
    check_id(id)
    check_id(other_id, name="other_id")
    check_text("keep", keep)
    if id == other_id or keep not in (None, id, other_id):
        raise InvalidInput(f"give two memories, and keep one of them or none: not {keep!r}.")
    with writer.change() as change:
        found = memories.get(change.connection, scope.space, [id, other_id])
        for each in (id, other_id):
            require(found, each, scope)
        associations.settle(change.connection, [id, other_id])
        if keep is not None:
            survivor, lost = found[keep], found[other_id if keep == id else id]
            if not (survivor.current and lost.current):
                raise NotFound("one of the two is no longer current: look at them again.")
            now = writer.corpus.store.now()
            if survivor.has_expired(now):
                raise NotFound(f"memory {keep!r} has expired: restore it first.")
            former = stays_former(lost, survivor)
            replace_by(change, survivor, lost, associations.BY_HAND, now, former=former)


def replace_by(
    change: UnitOfWork,
    survivor: Memory,
    lost: Memory,
    reason: str,
    at: datetime,
    *,
    former: bool = False,
) -> None:
    """Let one current memory supersede another, which recall still finds if it is `former`, and take over its key."""
    edge = Association(survivor.id, lost.id, "updates", reason, at)
    associations.associate(change.connection, survivor.space, edge, review=False)
    supersede(change, [lost], survivor, at, former=[lost.id] if former else ())
    if lost.key is not None and survivor.key is None:
        update_memory(change, replace(survivor, key=lost.key, updated_at=at))
