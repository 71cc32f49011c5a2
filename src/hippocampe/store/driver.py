"""Rows read and written past the layers above the driver, where most of the time was theirs.

Recall reads some hundreds of rows for each question, and every memory is a handful of inserts.
The SQL of each statement is compiled once, whatever the number of ids.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Any, cast

from sqlalchemy import ClauseElement, Connection, Dialect, Insert
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.sql.compiler import SQLCompiler

TOGETHER = (512, 64)
"""How many rows one statement inserts, where there are as many."""


@dataclass(frozen=True, slots=True)
class _Written:
    """The SQL of a statement. `order` names its parameters, and `fixed` holds the values of those
    that the statement brought with it."""

    sql: str
    order: tuple[str, ...]
    fixed: dict[str, Any]


def read_by_ids(
    connection: Connection, statement: ClauseElement, ids: Sequence[str], **values: Any
) -> list[Any]:
    """The driver's own tuples of a statement with a list `ids`: no type is converted.

    Args:
        statement: Made once; its parameters are an expanding `ids`, and `values`.
        ids: Any number; repeats do no harm.
    """
    return list(
        _cursor(
            connection, statement, {"ids": json.dumps(ids, ensure_ascii=False), **values}
        ).fetchall()
    )


def read(connection: Connection, statement: ClauseElement, **values: Any) -> list[Any]:
    """The driver's own tuples of a statement made once: no type is converted."""
    return list(_cursor(connection, statement, values).fetchall())


def read_in_batches(
    connection: Connection, statement: ClauseElement, size: int, **values: Any
) -> Iterator[list[Any]]:
    """The same, no more than `size` at a time: there may be hundreds of thousands."""
    cursor = _cursor(connection, statement, values)
    while rows := cursor.fetchmany(size):
        yield list(rows)


def write(connection: Connection, statement: Insert, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows that all name the same columns, and every column that has a default of ours."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return
    sql, columns = _insertion(statement, tuple(first), connection.dialect)
    ready = (
        [convert(row[name]) if convert else row[name] for name, convert in columns]
        for row in chain((first,), rows)
    )
    _insert(connection, sql, ready)


def write_ready(connection: Connection, statement: Insert, rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows of every column of a table, in its order, their values the driver's already."""
    names = tuple(column.name for column in statement.table.c)
    sql, _ = _insertion(statement, names, connection.dialect)
    _insert(connection, sql, rows)


def _insert(connection: Connection, sql: str, rows: Iterable[Sequence[Any]]) -> None:
    rows = iter(rows)
    while batch := list(islice(rows, TOGETHER[0])):
        # The driver gives the interpreter lock back for each statement, and under load waits longer
        # for it than it inserts.
        done = 0
        for size in TOGETHER:
            while len(batch) - done >= size:
                flat = tuple(chain.from_iterable(batch[done : done + size]))
                connection.exec_driver_sql(_several(sql, size), flat)
                done += size
        if rest := [tuple(row) for row in batch[done:]]:
            connection.exec_driver_sql(sql, rest)


@lru_cache(maxsize=64)
def _several(sql: str, rows: int) -> str:
    """The SQL that inserts so many rows, from that which inserts one."""
    before, mark, values = sql.rpartition("(")
    return before + ", ".join([mark + values] * rows)


def _cursor(
    connection: Connection, statement: ClauseElement, values: dict[str, Any]
) -> DBAPICursor:
    written = _written(statement, tuple(values), connection.dialect)
    given = written.fixed | values
    cursor = connection.connection.cursor()
    cursor.execute(written.sql, [given[name] for name in written.order])
    return cursor


@lru_cache(maxsize=256)
def _written(statement: ClauseElement, names: tuple[str, ...], dialect: Dialect) -> _Written:
    compiled = cast("SQLCompiler", statement.compile(dialect=dialect))
    # A list is one JSON parameter, so the same SQL serves a list of any length.
    sql = compiled.string.replace("__[POSTCOMPILE_ids]", "SELECT value FROM json_each(?)")
    order = tuple(compiled.positiontup or ())
    fixed = {name: value for name, value in compiled.params.items() if name not in names}
    return _Written(sql, order, fixed)


@lru_cache(maxsize=64)
def _insertion(
    statement: Insert, names: tuple[str, ...], dialect: Dialect
) -> tuple[str, tuple[tuple[str, Callable[[Any], Any] | None], ...]]:
    """SQL that inserts these columns, and what makes the driver's value of each, in its order."""
    compiled = statement.compile(dialect=dialect, column_keys=names)
    types = {column.name: column.type.dialect_impl(dialect) for column in statement.table.c}
    order = compiled.positiontup or names
    return str(compiled), tuple((name, types[name].bind_processor(dialect)) for name in order)
