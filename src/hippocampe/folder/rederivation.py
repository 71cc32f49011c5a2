"""Derive stored values again when the rules change.

Rules compute the subjects, claims, aliases and equality of memories and the traits of every embedded
text. The store keeps the digest of these rules. When it differs, a background pass updates all rows
in small transactions and stores its position, so that it resumes after a restart.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, and_, func, select

from hippocampe.engine import backlog
from hippocampe.engine.documents import memory_point
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.writer import Writer
from hippocampe.ingest.memory_writes import parse_statement
from hippocampe.language import lexicon
from hippocampe.language.equality import equality_digest
from hippocampe.language.subjects import subjects_of
from hippocampe.language.traits import traits
from hippocampe.store import embeddings, memories, meta, statements
from hippocampe.store.schema import vector
from hippocampe.store.shown import TABLES
from hippocampe.store.store import Store
from hippocampe.types import Memory

RULES: Final = "rules"
"""The `meta` entry with the digest of the rules that all rows follow."""
REACHED: Final = "rules reached"
"""The `meta` entry with the digest of newer rules, and the kind and id reached so far."""
BATCH: Final = 25
"""Rows per transaction: other writers wait a few milliseconds."""
PAUSE: Final = 0.005
"""Seconds between transactions, so that other writers get a turn."""

_END: Final = "\U0010ffff"
"""Greater than every id."""


def mark_current(store: Store) -> None:
    """Record that all rows of a new store follow the rules."""
    with store.write() as connection:
        meta.put(connection, RULES, lexicon.rules_digest())


def rederive(writer: Writer, stop: Callable[[], bool] = lambda: False) -> bool:
    """Derive rows again if the rules have changed, until `stop`, then from there; return whether all are up to date."""
    corpus = writer.corpus
    digest = lexicon.rules_digest()
    with corpus.store.read() as connection:
        if meta.get(connection, RULES) == digest:
            return True
        rules, kind, after = (meta.get(connection, REACHED) or " memory ").split(" ", 2)
    if rules != digest:
        kind, after = "memory", ""
    kinds = list(TABLES)
    for each in kinds[kinds.index(kind) :]:
        # Rows written from now on already follow the current rules.
        with corpus.store.read() as connection:
            last = connection.execute(select(func.max(TABLES[each].c.id))).scalar() or ""
        while after < last:
            if stop():
                return False
            after = _batch(writer, digest, each, after)
            time.sleep(PAUSE)
        after = ""
    with corpus.store.write() as connection:
        meta.put(connection, RULES, digest)
        meta.put(connection, REACHED, "")
    return True


def _batch(writer: Writer, digest: str, kind: str, after: str) -> str:
    """Update the next rows of a kind; return the last id."""
    table = TABLES[kind]
    model = writer.corpus.model
    stored = table.outerjoin(vector, and_(vector.c.id == table.c.id, vector.c.model == model))
    query = select(table, vector.c.traits).select_from(stored).where(table.c.id > after)
    with writer.change() as change:
        rows = list(change.connection.execute(query.order_by(table.c.id).limit(BATCH)))
        if not rows:  # erased meanwhile
            return _END
        if kind == "memory":
            for item, equality in [(memories.of_row(row), row.equality) for row in rows]:
                _rederive_memory(change, item, equality)
        _rederive_traits(change.connection, kind, model, rows)
        meta.put(change.connection, REACHED, f"{digest} {kind} {rows[-1].id}")
    return rows[-1].id


def _rederive_memory(change: UnitOfWork, item: Memory, equality: str) -> None:
    names = subjects_of(item.content)
    reading = parse_statement(item, names)
    connection = change.connection
    derived = equality_digest(item.content)
    if equality != derived:
        memories.replace_row(connection, item, derived)
    expected = replace(reading, subjects=tuple(sorted(reading.subjects)))
    if statements.get_reading(connection, item) == expected:
        return
    statements.replace_reading(connection, reading)
    stored = embeddings.vectors(connection, change.model, [item.id]).get(item.id)
    if stored is not None and item.current:
        change.index("memory", memory_point(item, stored.dense, names))


def _rederive_traits(connection: Connection, kind: str, model: str, rows: Sequence[Any]) -> None:
    contents = backlog.texts(kind, rows)[1]
    changed = {
        row.id: now
        for row, now in zip(rows, map(traits, contents), strict=True)
        if row.traits is not None and row.traits != now
    }
    embeddings.replace_traits(connection, model, changed)
