"""Rows of associations, the edges between memories. Each function takes a connection."""

import re
from collections.abc import Collection, Sequence
from dataclasses import asdict

from sqlalchemy import (
    ColumnElement,
    Connection,
    delete,
    insert,
    or_,
    select,
    text,
    update,
)

from hippocampe.store.driver import IDS, read_by_ids, write
from hippocampe.store.schema import association, instant
from hippocampe.types import Association

_ADD = insert(association)
_TOUCHING = (
    select(
        *(association.c.space, association.c.source_id, association.c.target_id),
        *(association.c.kind, association.c.reason, association.c.created_at),
    )
    .where(or_(association.c.source_id.in_(IDS), association.c.target_id.in_(IDS)))
    .order_by(association.c.created_at, *association.primary_key)
)
_LISTED = _TOUCHING.where(association.c.review.is_(True))
_INSIDE = select(
    *(association.c.space, association.c.source_id, association.c.target_id, association.c.kind)
).where(association.c.source_id.in_(IDS))
_PERHAPS = select(
    *(association.c.space, association.c.source_id, association.c.target_id, association.c.reason)
).where(association.c.source_id.in_(IDS), association.c.reason.contains("perhaps "))

BY_HAND = "settled by hand"
"""The reason of an edge that a person decided."""
BY_MODEL = "settled by model "
"""The beginning of the reason of an edge that a language model decided."""
LEFT_BY_MODEL = "left to a person by model "
"""The beginning of the reason of a pair that a language model could not settle."""
BY_READER = "settled by the local reader: "
"""The beginning of the reason of an edge that the reader of an earlier version decided in the background."""
RESTORED = "had superseded it"
"""The beginning of the reason of a pair that a `restore` made undecided."""
FOR_A_PERSON = (BY_HAND, BY_MODEL, LEFT_BY_MODEL, BY_READER, RESTORED)
"""The beginnings of the reasons of pairs that only a person can settle: a model or a person has judged them, or a
settlement was undone."""

_LIKELIHOOD = re.compile(r"\b(?:perhaps|another owner:) (?:update|same|detail), (\d+)%")
# The name of a relation has one or two words.
_UPDATE = re.compile(r"\bperhaps (?:update, (\d+)%|\w+(?: \w+)?: )")

PER_MEMORY = 16
"""Edges followed per memory and direction: a hub has thousands, and recall needs a few."""
# Each subquery stops after PER_MEMORY index rows, so the other edges of a hub are not read.
_NEAR = {
    "sqlite": text(f"""
    SELECT edge.space, edge.source_id, edge.target_id
    FROM json_each(:ids) AS start CROSS JOIN association AS edge
    WHERE edge.rowid IN (
        SELECT rowid FROM association WHERE source_id = start.value
        ORDER BY target_id DESC LIMIT {PER_MEMORY}
    ) OR edge.rowid IN (
        SELECT rowid FROM association WHERE target_id = start.value
        ORDER BY rowid DESC LIMIT {PER_MEMORY}
    )
    ORDER BY start.key, edge.review, edge.created_at DESC
    """),
    "postgresql": text(f"""
    SELECT edge.space, edge.source_id, edge.target_id
    FROM unnest(CAST(:ids AS text[])) WITH ORDINALITY AS start(value, key)
    CROSS JOIN LATERAL (
        (SELECT * FROM association WHERE source_id = start.value AND space = :space
            ORDER BY target_id DESC LIMIT {PER_MEMORY})
        UNION
        (SELECT * FROM association WHERE target_id = start.value AND space = :space
            ORDER BY created_at DESC LIMIT {PER_MEMORY})
    ) AS edge
    ORDER BY start.key, edge.review, edge.created_at DESC
    """),
}


def associate(connection: Connection, space: str, edge: Association, *, review: bool) -> None:
    """Add an edge, or replace the reason of an existing one."""
    remove(connection, edge)
    add(connection, space, [(edge, review)])


def remove(connection: Connection, edge: Association) -> None:
    """Remove an edge, whatever its reason."""
    same = {"source_id": edge.source_id, "target_id": edge.target_id, "kind": edge.kind}
    connection.execute(delete(association).filter_by(**same))


def unrelate(connection: Connection, ids: Collection[str]) -> None:
    """Remove the `related_to` edges between memories."""
    connection.execute(delete(association).where(*_among(ids), association.c.kind == "related_to"))


def _among(ids: Collection[str]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return association.c.source_id.in_(ids), association.c.target_id.in_(ids)


def add(connection: Connection, space: str, edges: Sequence[tuple[Association, bool]]) -> None:
    """Insert new edges, each with its flag for the review list."""
    rows = [{**asdict(edge), "space": space, "review": review} for edge, review in edges]
    write(connection, _ADD, rows)


def touching(
    connection: Connection, space: str, ids: Collection[str], *, listed: bool = False
) -> list[Association]:
    """The edges that touch any of these memories, or those of them listed for review, oldest first."""
    rows = read_by_ids(connection, _LISTED if listed else _TOUCHING, list(ids))
    return [
        Association(source, target, kind, reason, instant(at))
        for of, source, target, kind, reason, at in rows
        if of == space
    ]


def inside(connection: Connection, space: str, ids: Collection[str]) -> list[tuple[str, str, str]]:
    """The edges between these memories: source, target and kind."""
    among = set(ids)
    rows = read_by_ids(connection, _INSIDE, list(ids))
    return [
        (source, target, kind)
        for of, source, target, kind in rows
        if of == space and target in among
    ]


def perhaps_updates(
    connection: Connection, space: str, ids: Collection[str]
) -> list[tuple[str, str, float]]:
    """The undecided pairs of these memories, one of them likely to replace the other: both ids and the probability.

    Another value of a relation ("perhaps employer: …") is as likely as not to replace it.
    """
    among = set(ids)
    rows = read_by_ids(connection, _PERHAPS, list(ids))
    return [
        (source, target, int(found[1] or 50) / 100)
        for of, source, target, reason in rows
        if of == space and target in among and (found := _UPDATE.search(reason))
    ]


def to_review(connection: Connection, space: str) -> list[Association]:
    """The edges listed for review, newest first."""
    query = select(association).where(association.c.space == space, association.c.review.is_(True))
    return [
        Association(row.source_id, row.target_id, row.kind, row.reason, row.created_at)
        for row in connection.execute(
            query.order_by(association.c.created_at.desc(), *association.primary_key)
        )
    ]


def is_for_a_person(edge: Association) -> bool:
    """Return whether only a person can settle the pair of an edge."""
    return (edge.reason or "").startswith(FOR_A_PERSON)


def likelihood(reason: str | None) -> float | None:
    """The probability of a merge in the reason of an undecided pair, 0 to 1; None if it states none."""
    found = _LIKELIHOOD.search(reason or "")
    return int(found[1]) / 100 if found else None


def without_model(reason: str | None) -> str | None:
    """The reason of a pair as before a model left it to a person."""
    left = (reason or "").startswith(LEFT_BY_MODEL)
    return (reason or "").partition(": ")[2] if left else reason


def between(connection: Connection, space: str, id: str, other_id: str) -> list[Association]:
    """The edges between two memories, in both directions, oldest first."""
    ends = {id, other_id}
    found = touching(connection, space, [id])
    return [edge for edge in found if {edge.source_id, edge.target_id} == ends]


def explain(connection: Connection, ids: Collection[str], reason: str, *, review: bool) -> None:
    """Set the reason of the `related_to` edges between memories, and whether they are to review."""
    related = update(association).where(*_among(ids), association.c.kind == "related_to")
    connection.execute(related.values(reason=reason, review=review))


def settle(connection: Connection, ids: Collection[str]) -> None:
    """Remove the edges between these memories from the review list."""
    connection.execute(update(association).where(*_among(ids)).values(review=False))


def near(
    connection: Connection, space: str, starts: Sequence[str], depth: int, *, most: int
) -> list[str]:
    """At most `most` ids reachable along edges, without the starts.

    The order is by distance, then by the order of the starts; the edges of one memory are ordered
    sure ones before those to review, then newest first. At most `PER_MEMORY` edges per memory and
    direction are followed.
    """
    passed = set(starts)
    found: list[str] = []
    wave = list(starts)
    for _ in range(depth):
        rows = read_by_ids(connection, _NEAR[connection.dialect.name], wave, space=space)
        ends = (id for row in rows if row[0] == space for id in row[1:])
        wave = [id for id in dict.fromkeys(ends) if id not in passed][: most - len(found)]
        passed.update(wave)
        found += wave
    return found


def walk(
    connection: Connection, space: str, starts: Sequence[str], depth: int
) -> tuple[list[str], list[Association]]:
    """Walk edges breadth first, in both directions.

    Returns:
        The ids reached, the starts first, then by distance; and the edges seen, oldest first.
    """
    reached, seen = dict.fromkeys(starts), dict[Association, None]()
    wave = list(reached)
    for _ in range(depth):
        edges = touching(connection, space, wave)
        seen |= dict.fromkeys(edges)
        ends = dict.fromkeys(id for edge in edges for id in (edge.source_id, edge.target_id))
        wave = [id for id in ends if id not in reached]
        reached |= dict.fromkeys(wave)
    return list(reached), sorted(seen, key=lambda edge: edge.created_at)
