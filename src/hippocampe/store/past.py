"""A view of the store as of an earlier time.

Temporary views with the names of the tables hide rows stored later or hidden by then, and show rows superseded
or forgotten since. Every query reads the past through them unchanged.
"""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import event

from hippocampe.store.postgres import PostgresStore
from hippocampe.store.postgres_schema import FULL_TEXT
from hippocampe.store.schema import association, memory, message, microseconds, note, turn
from hippocampe.store.store import Store

_HIDDEN_SINCE = {
    "superseded_by": "superseded_at",
    "superseded_at": "superseded_at",
    "forgotten_at": "forgotten_at",
    "forgotten_reason": "forgotten_at",
    "former": "superseded_at",
}
"""Columns that are empty, or false, until the time in another column."""
_KNOWN_FROM = {
    memory: "created_at",
    message: "created_at",
    association: "created_at",
    turn: "at",
    note: "modified_at",
}
"""By table, the column with the time from which a row is visible."""


@contextmanager
def known_at(store: Store, at: datetime) -> Generator[Store]:
    """Open a store for reading as of a time.

    Not reconstructed: memories before an edit in place, importances before they changed, notes before their last
    change, and the live flag of messages.

    Args:
        at: The time, which is that of its clock too.
    """
    moment = microseconds(at)
    if isinstance(store, PostgresStore):
        past = PostgresStore(store.url, store.folder, clock=lambda: at)
        past.views = tuple(_views(moment, "public"))
        past.read_only = True
    else:
        past = Store(store.path, store.folder, read_only=True, clock=lambda: at)

        @event.listens_for(past.engine, "connect")
        def _connect(connection: sqlite3.Connection, _record: Any) -> None:  # pyright: ignore[reportUnusedFunction]
            for statement in _views(moment):
                connection.execute(statement)

    with closing(past):
        yield past


def _views(moment: int, of: str = "main") -> Generator[str]:
    for table, known_from in _KNOWN_FROM.items():
        names = [column.name for column in table.c]
        if of != "main" and table is message:
            names.append(FULL_TEXT)
        columns = ", ".join(_column(name, moment) for name in names)
        rowid = "rowid AS rowid, " if of == "main" else ""
        yield (
            f'CREATE TEMP VIEW "{table.name}" AS SELECT {rowid}{columns} '
            f'FROM {of}."{table.name}" WHERE {known_from} <= {moment}'
        )


def _column(name: str, moment: int) -> str:
    hidden = _HIDDEN_SINCE.get(name)
    if hidden is None:
        return f'"{name}"'
    empty = "false" if name == "former" else "NULL"
    return f'CASE WHEN {hidden} <= {moment} THEN "{name}" ELSE {empty} END AS "{name}"'
