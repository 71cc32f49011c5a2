"""Write memories in a transaction: the row, the data derived from the statement, and the index."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from hippocampe.engine.documents import memory_point
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.vocabulary import Prepared
from hippocampe.ingest.asking import worth_asking
from hippocampe.language.equality import equality_digest
from hippocampe.language.equated import equated_names
from hippocampe.language.relations import relation_of
from hippocampe.language.subjects import fold_subjects, subjects_of
from hippocampe.language.text import fold
from hippocampe.store import associations, memories, statements
from hippocampe.types import Association, Memory
from hippocampe.updates.judgement import Judgement


def insert_memory(
    change: UnitOfWork, memory: Memory, names: Iterable[str], prepared: Prepared
) -> None:
    """Insert a new memory and index it.

    Args:
        names: Subjects extracted from its content.
        prepared: Its embedding and words.
    """
    memories.add(change.connection, [memory], [equality_digest(memory.content)])
    statements.add_readings(change.connection, [parse_statement(memory, names)])
    change.index("memory", memory_point(memory, prepared.dense, names), prepared)


def update_memory(change: UnitOfWork, memory: Memory, prepared: Prepared | None = None) -> None:
    """Update a stored memory and its index document.

    Args:
        prepared: Its new embedding and words; None if the statement did not change.
    """
    names = subjects_of(memory.content)
    memories.replace_row(change.connection, memory, equality_digest(memory.content))
    statements.replace_reading(change.connection, parse_statement(memory, names))
    if prepared is not None:
        change.remove_embeddings([memory.id])
        change.index("memory", memory_point(memory, prepared.dense, names), prepared)
        return
    dense = change.dense("memory", memory.id)
    if dense is not None:
        change.index("memory", memory_point(memory, dense, names))


def supersede(
    change: UnitOfWork, lost: Sequence[Memory], by: Memory, at: datetime, *, former: Collection[str]
) -> None:
    """Mark memories as replaced, the `former` ones still found, and list their pairs to review for their successor."""
    for old in lost:
        memories.supersede(change.connection, old, by.id, at, former=old.id in former)
        if old.id not in former:
            change.unindex("memory", old.id, old.space)
    _hand_over_reviews(change, lost, by, at)


def _hand_over_reviews(
    change: UnitOfWork, lost: Sequence[Memory], by: Memory, at: datetime
) -> None:
    """List each pair to review of superseded memories for their successor, unless it resolves the pair.

    It does if it states the same as the other memory, or if the two are linked already: they have been
    compared. The old pairs stay marked, and wait again after a `restore`.
    """
    connection, ids = change.connection, [old.id for old in lost]
    listed = associations.touching(connection, by.space, ids, listed=True)
    if not listed:
        return
    reasons = {id: edge.reason for edge in listed for id in (edge.source_id, edge.target_id)}
    linked = associations.touching(connection, by.space, [by.id])
    known = {by.id, *(id for edge in linked for id in (edge.source_id, edge.target_id))}
    others = memories.get(connection, by.space, reasons.keys() - known)
    same = equality_digest(by.content)
    edges: list[tuple[Association, bool]] = []
    for id, other in others.items():
        if other.current and equality_digest(other.content) != same:
            reason = associations.without_model(reasons[id])
            asked = worth_asking(by.content, other.content, reason or "")
            edges.append((Association(by.id, id, "related_to", reason, at), asked))
    associations.add(connection, by.space, edges)


def supersede_and_link(change: UnitOfWork, memory: Memory, judgement: Judgement) -> None:
    """Supersede the memories that a stored statement replaces, and link it to similar ones."""
    at = memory.updated_at
    edges = [
        (Association(memory.id, old.id, "updates", judgement.reason, at), False)
        for old in judgement.replaced
    ]
    unsure = [old.id for old in judgement.related if old.review]
    olds = memories.get(change.connection, memory.space, unsure)
    for old in judgement.related:
        asked = old.id in olds and worth_asking(memory.content, olds[old.id].content, old.reason)
        edges.append((Association(memory.id, old.id, "related_to", old.reason, at), asked))
    associations.add(change.connection, memory.space, edges)
    supersede(change, judgement.replaced, memory, at, former=judgement.former)


def parse_statement(memory: Memory, names: Iterable[str]) -> statements.Reading:
    """Derive the data stored beside a memory, in which `names` were found: its subjects, its relation, its alias."""
    claim = relation_of(memory.content)
    return statements.Reading(
        memory.id,
        memory.space,
        fold_subjects((*memory.subjects, *names)),
        (claim.name, fold(claim.subject)) if claim else None,
        equated_names(memory.content) if memory.collection == "memory" else None,
    )
