"""Find the memories that say in another language what an update replaces.

Two statements of one fact in two languages are often too far apart to be merged when they are stored, so that the
pair waits for review. After an update of one of them, the other must not answer with the old value.
"""

from collections.abc import Sequence

from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.language.statement import Statement, parse
from hippocampe.store import associations, memories
from hippocampe.types import Memory


def twins_of(change: UnitOfWork, replaced: Sequence[Memory], content: str) -> list[Memory]:
    """Return the current memories that a statement replaces along with their twins in another language.

    Args:
        change: The transaction, for reading only.
        replaced: The memories that the statement replaces, of one space.
        content: The statement.
    """
    olds = {old.id: parse(old.content) for old in replaced}
    space, new = replaced[0].space, parse(content)
    listed = associations.touching(change.connection, space, olds, listed=True)
    ids = [(edge.source_id, edge.target_id) for edge in listed]
    pairs = [pair for (one, two) in ids for pair in ((one, two), (two, one))]
    others = memories.get(change.connection, space, [other for _, other in pairs])
    found = {
        other: others[other]
        for old, other in pairs
        if old in olds
        and other not in olds
        and others[other].current
        and _say_the_same(olds[old], parse(others[other].content), new)
    }
    return list(found.values())


def _say_the_same(old: Statement, other: Statement, new: Statement) -> bool:
    """Return whether two statements in two languages have the same values, and the new one drops one of them."""
    values = set(old.values)
    same = old.language != other.language and values == set(other.values)
    return same and not values <= set(new.values)
