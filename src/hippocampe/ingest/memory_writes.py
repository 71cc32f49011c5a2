"""Write memories in a transaction: the row, the data derived from the statement, and the index."""

from collections.abc import Iterable
from datetime import datetime

from hippocampe.engine.documents import memory_point
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.vocabulary import Prepared
from hippocampe.language.equality import equality_digest
from hippocampe.language.equated import equated_names
from hippocampe.language.relations import relation_of
from hippocampe.language.subjects import fold_subjects, subjects_of
from hippocampe.language.text import fold
from hippocampe.store import associations, embeddings, memories, statements
from hippocampe.types import Association, Memory
from hippocampe.updates.judgement import Judgement


def insert_memory(
    change: UnitOfWork, memory: Memory, names: Iterable[str], prepared: Prepared
) -> None:
    """Insert a new memory and index it.

    Args:
        change: The transaction.
        memory: The memory.
        names: Subjects extracted from its content.
        prepared: Its embedding and words.
    """
    memories.add(change.connection, [memory], [equality_digest(memory.content)])
    statements.add_readings(change.connection, [parse_statement(memory, names)])
    change.index("memory", memory_point(memory, prepared.dense, names), prepared)


def update_memory(change: UnitOfWork, memory: Memory, prepared: Prepared | None = None) -> None:
    """Update a stored memory and its index document.

    Args:
        change: The transaction.
        memory: The memory with its new values.
        prepared: Its new embedding and words; None if the statement did not change.
    """
    names = subjects_of(memory.content)
    memories.replace_row(change.connection, memory, equality_digest(memory.content))
    statements.replace_reading(change.connection, parse_statement(memory, names))
    if prepared is not None:
        embeddings.remove_vectors(change.connection, [memory.id])
        change.index("memory", memory_point(memory, prepared.dense, names), prepared)
        return
    dense = change.dense("memory", memory.id)
    if dense is not None:
        change.index("memory", memory_point(memory, dense, names))


def supersede(change: UnitOfWork, old: Memory, by: str, at: datetime, *, former: bool) -> None:
    """Mark a memory as replaced; a former one stays in the index.

    Args:
        change: The transaction.
        old: The memory.
        by: Id of its successor.
        at: The time of the replacement.
        former: Whether recall still finds it.
    """
    memories.supersede(change.connection, old, by, at, former=former)
    if not former:
        change.unindex("memory", old.id, old.space)


def supersede_and_link(change: UnitOfWork, memory: Memory, judgement: Judgement) -> None:
    """Supersede the memories that a stored statement replaces, and link it to similar ones."""
    at = memory.updated_at
    for old in judgement.replaced:
        supersede(change, old, memory.id, at, former=old.id in judgement.former)
    edges = [
        (Association(memory.id, old.id, "updates", judgement.reason, at), False)
        for old in judgement.replaced
    ]
    edges += [
        (Association(memory.id, old.id, "related_to", old.reason, at), old.review)
        for old in judgement.related
    ]
    associations.add(change.connection, memory.space, edges)


def parse_statement(memory: Memory, names: Iterable[str]) -> statements.Reading:
    """Derive the data stored beside a memory: its subjects, its relation, its alias.

    Args:
        memory: The memory.
        names: Subjects extracted from its content.
    """
    claim = relation_of(memory.content)
    return statements.Reading(
        memory.id,
        memory.space,
        fold_subjects((*memory.subjects, *names)),
        (claim.name, fold(claim.subject)) if claim else None,
        equated_names(memory.content) if memory.collection == "memory" else None,
    )
