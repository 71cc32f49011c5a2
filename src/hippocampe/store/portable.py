"""SQL that the two databases spell differently."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Boolean, ColumnElement, Select, Table, literal, select, tuple_
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class _Spelled(FunctionElement[Any]):
    """A function of SQL that each database spells in its own way, around its arguments."""

    spellings: ClassVar[Mapping[str, str]]


@compiles(_Spelled)
def _spell(element: _Spelled, compiler: SQLCompiler, **options: Any) -> str:  # pyright: ignore[reportUnusedFunction]
    arguments = (compiler.process(each, **options) for each in element.clauses)
    return element.spellings[compiler.dialect.name].format(*arguments)


class JsonItems(_Spelled):
    """The texts of a JSON array, as rows with the column `value`."""

    name = "json_items"
    inherit_cache = True
    spellings: ClassVar = {
        "sqlite": "json_each({0})",
        "postgresql": "jsonb_array_elements_text(CAST({0} AS jsonb))",
    }


class ContainsText(_Spelled):
    """The condition that a text, or JSON as text, contains another."""

    name = "contains_text"
    inherit_cache = True
    type = Boolean()
    spellings: ClassVar = {"sqlite": "instr({0}, {1}) > 0", "postgresql": "strpos({0}, {1}) > 0"}


class HasPairs(_Spelled):
    """The condition that a JSON object has all pairs of another, equal in value and type."""

    name = "has_pairs"
    inherit_cache = True
    type = Boolean()
    spellings: ClassVar = {
        "sqlite": """NOT EXISTS (SELECT 1 FROM json_each({1}) AS asked WHERE NOT EXISTS (
            SELECT 1 FROM json_each({0}) AS held WHERE held.key = asked.key
            AND held.type = asked.type AND held.atom IS asked.atom))""",
        # As text: as numbers, 1 and 1.0 are equal.
        "postgresql": """NOT EXISTS (
            SELECT 1 FROM jsonb_each(CAST({1} AS jsonb)) AS asked(key, value)
            WHERE CAST(CAST({0} AS jsonb) -> asked.key AS text) IS DISTINCT FROM CAST(asked.value AS text))""",
    }


def json_values(column: ColumnElement[Any]) -> Any:
    """The texts of a JSON array, as a table with the column `value`."""
    return JsonItems(column).table_valued("value")


def newest(
    table: Table, space: str, *, since: datetime | None, limit: int, **equal: str | None
) -> Select[Any]:
    """The latest rows of a space, newest first, with some values in columns; None for any value."""
    query = select(table).where(table.c.space == space)
    query = query.where(
        *(table.c[name] == value for name, value in equal.items() if value is not None)
    )
    if since is not None:
        query = query.where(table.c.created_at >= since)
    return query.order_by(table.c.created_at.desc(), table.c.id.desc()).limit(limit)


def beyond(
    columns: Sequence[ColumnElement[Any]], last: Sequence[Any], *, descending: bool = False
) -> ColumnElement[bool]:
    """The condition for the rows after one, given by its values of the columns that order them."""
    here = tuple_(*columns)
    there = tuple_(*(literal(value, each.type) for value, each in zip(last, columns, strict=True)))
    return here < there if descending else here > there
