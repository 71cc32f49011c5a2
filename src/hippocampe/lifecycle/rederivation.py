"""What rules derived from stored texts, derived again when the rules change.

Subjects, claims, aliases and equality of memories, and the traits of every embedded text, are
computed by code and by data of the languages. The store keeps the digest of the rules they come
from. When it differs, all rows are gone through in small batches: each is one short transaction
under the writers' lock, and the place reached is stored, so that a restart goes on from there.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, and_, bindparam, func, select, update

from hippocampe.consolidation.decide import subjects_of
from hippocampe.engine import backlog
from hippocampe.engine.context import Context
from hippocampe.engine.unit_of_work import Change
from hippocampe.index.documents import memory_point
from hippocampe.ingest.remember import read_statement
from hippocampe.language import lexicon
from hippocampe.language.equality import equality_digest
from hippocampe.language.traits import traits
from hippocampe.store import embeddings, memories, meta, statements
from hippocampe.store.schema import vector
from hippocampe.store.shown import TABLES
from hippocampe.types import Memory

RULES: Final = "rules"
"""The `meta` with the digest of the rules that all rows come from."""
REACHED: Final = "rules reached"
"""The `meta` with the digest of newer rules, and the kind and id up to which rows come from them."""
BATCH: Final = 25
"""Rows of one transaction: some milliseconds, in which other writers wait."""
PAUSE: Final = 0.005
"""Seconds between two, so that they come in."""

_END: Final = "\U0010ffff"
"""Past every id."""

_TRAITS = (
    update(vector)
    .where(vector.c.id == bindparam("of"), vector.c.model == bindparam("by"))
    .values(traits=bindparam("now"))
)


def rederive(context: Context, stop: Callable[[], bool] = lambda: False) -> bool:
    """Derive rows again if the rules have changed; return whether all rows come from today's.

    Args:
        parts: Where they are.
        stop: Asked between batches; the next call goes on from there.
    """
    digest = lexicon.digest()
    with context.store.read() as connection:
        if meta.get(connection, RULES) == digest:
            return True
        rules, kind, after = (meta.get(connection, REACHED) or " memory ").split(" ", 2)
    if rules != digest:
        kind, after = "memory", ""
    kinds = list(TABLES)
    for each in kinds[kinds.index(kind) :]:
        # Rows written from now on already follow the current rules.
        with context.store.read() as connection:
            last = connection.execute(select(func.max(TABLES[each].c.id))).scalar() or ""
        while after < last:
            if stop():
                return False
            after = _batch(context, digest, each, after)
            time.sleep(PAUSE)
        after = ""
    with context.store.write() as connection:
        meta.put(connection, RULES, digest)
        meta.put(connection, REACHED, "")
    return True


def _batch(context: Context, digest: str, kind: str, after: str) -> str:
    """Derive the next rows of a kind again; return the last id."""
    table = TABLES[kind]
    model = context.embedder.model
    stored = table.outerjoin(vector, and_(vector.c.id == table.c.id, vector.c.model == model))
    query = select(table, vector.c.traits).select_from(stored).where(table.c.id > after)
    with context.change() as change:
        rows = list(change.connection.execute(query.order_by(table.c.id).limit(BATCH)))
        if not rows:  # erased meanwhile
            return _END
        if kind == "memory":
            for item, equality in [(memories.of_row(row), row.equality) for row in rows]:
                _rederive_memory(change, item, equality)
        _rederive_traits(change.connection, kind, model, rows)
        meta.put(change.connection, REACHED, f"{digest} {kind} {rows[-1].id}")
    return rows[-1].id


def _rederive_memory(change: Change, item: Memory, equality: str) -> None:
    names = subjects_of(item.content)
    reading = read_statement(item, names)
    connection = change.connection
    derived = equality_digest(item.content)
    if equality != derived:
        memories.replace_row(connection, item, derived)
    kept = replace(reading, subjects=tuple(sorted(reading.subjects)))
    if statements.get_reading(connection, item) == kept:
        return
    statements.replace_reading(connection, reading)
    stored = embeddings.vectors(connection, change.model, [item.id]).get(item.id)
    if stored is not None and item.current:
        change.index("memory", memory_point(item, stored.dense, names))


def _rederive_traits(connection: Connection, kind: str, model: str, rows: Sequence[Any]) -> None:
    contents = backlog.texts(kind, rows)[1]
    changed = [
        {"of": row.id, "by": model, "now": now}
        for row, now in zip(rows, map(traits, contents), strict=True)
        if row.traits is not None and row.traits != now
    ]
    if changed:
        connection.execute(_TRAITS, changed)
