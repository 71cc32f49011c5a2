"""Rows read past the layers above the driver: recall reads some hundreds for each question.

SQLAlchemy writes the SQL of a statement once for each size of the list of ids; sizes are powers of
two, the last id repeated. Half of the time of such a read is spared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from sqlalchemy import ClauseElement, Connection, Dialect
from sqlalchemy.sql.compiler import SQLCompiler

SMALLEST = 8


@dataclass(frozen=True, slots=True)
class _Written:
    """SQL for a number of ids. `order` names its parameters, `numbers` those that are ids, and
    `fixed` holds the values of those that the statement brought with it."""

    sql: str
    order: tuple[str, ...]
    numbers: dict[str, int]
    fixed: dict[str, Any]


def read_by_ids(
    connection: Connection, statement: ClauseElement, ids: Sequence[str], **values: Any
) -> list[Any]:
    """The driver's own tuples of a statement with a list `ids`: no type is converted.

    Args:
        statement: Made once; its parameters are an expanding `ids`, and `values`.
        ids: At least one; repeats do no harm.
    """
    size = max(SMALLEST, 1 << (len(ids) - 1).bit_length())
    return _read(connection, statement, [*ids, *[ids[-1]] * (size - len(ids))], values)


def read(connection: Connection, statement: ClauseElement, **values: Any) -> list[Any]:
    """The driver's own tuples of a statement made once: no type is converted."""
    return _read(connection, statement, (), values)


def _read(
    connection: Connection, statement: ClauseElement, ids: Sequence[str], values: dict[str, Any]
) -> list[Any]:
    written = _written(statement, len(ids), tuple(values), connection.dialect)
    given = written.fixed | values
    given |= {name: ids[number] for name, number in written.numbers.items()}
    ordered = tuple([given[name] for name in written.order])
    cursor = connection.exec_driver_sql(
        written.sql, ordered if connection.dialect.positional else given
    ).cursor
    assert cursor is not None
    return list(cursor.fetchall())


@lru_cache(maxsize=256)
def _written(
    statement: ClauseElement, size: int, names: tuple[str, ...], dialect: Dialect
) -> _Written:
    marks = [f"\0{number}" for number in range(size)]
    compiled = cast("SQLCompiler", statement.compile(dialect=dialect))
    state = compiled.construct_expanded_state({"ids": marks, **dict.fromkeys(names)})
    held = cast("dict[str, Any]", state.parameters)
    at = {mark: number for number, mark in enumerate(marks)}
    numbers = {name: at[value] for name, value in held.items() if value in at}
    fixed = {name: value for name, value in held.items() if name not in (*names, *numbers)}
    return _Written(state.statement, tuple(state.positiontup or held), numbers, fixed)
