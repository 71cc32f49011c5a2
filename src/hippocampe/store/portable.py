"""SQL that the two databases spell differently."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Connection, TextClause, literal, text, tuple_
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class JsonItems(FunctionElement[Any]):
    """The texts of a JSON array, as rows with the column `value`."""

    name = "json_items"
    inherit_cache = True


class ContainsText(FunctionElement[bool]):
    """The condition that a text, or JSON as text, contains another."""

    name = "contains_text"
    inherit_cache = True
    type = Boolean()


class HasPairs(FunctionElement[bool]):
    """The condition that a JSON object has all pairs of another, equal in value and type."""

    name = "has_pairs"
    inherit_cache = True
    type = Boolean()


@compiles(JsonItems, "sqlite")
def _json_items(element: JsonItems, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


@compiles(JsonItems, "postgresql")
def _json_items_postgres(element: JsonItems, compiler: SQLCompiler, **options: Any) -> str:
    inner = compiler.process(element.clauses, **options)
    return f"jsonb_array_elements_text(CAST({inner} AS jsonb))"


@compiles(ContainsText, "sqlite")
def _contains_text(element: ContainsText, compiler: SQLCompiler, **options: Any) -> str:
    return f"instr({compiler.process(element.clauses, **options)}) > 0"


@compiles(ContainsText, "postgresql")
def _contains_text_postgres(element: ContainsText, compiler: SQLCompiler, **options: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **options)}) > 0"


@compiles(HasPairs, "sqlite")
def _has_pairs(element: HasPairs, compiler: SQLCompiler, **options: Any) -> str:
    held, asked = (compiler.process(each, **options) for each in element.clauses)
    pair = (
        f"SELECT 1 FROM json_each({held}) AS held WHERE held.key = asked.key "
        "AND held.type = asked.type AND held.atom IS asked.atom"
    )
    return f"NOT EXISTS (SELECT 1 FROM json_each({asked}) AS asked WHERE NOT EXISTS ({pair}))"


@compiles(HasPairs, "postgresql")
def _has_pairs_postgres(element: HasPairs, compiler: SQLCompiler, **options: Any) -> str:
    held, asked = (compiler.process(each, **options) for each in element.clauses)
    # As text: as numbers, 1 and 1.0 are equal.
    return (
        f"NOT EXISTS (SELECT 1 FROM jsonb_each(CAST({asked} AS jsonb)) AS asked(key, value) WHERE "
        f"CAST(CAST({held} AS jsonb) -> asked.key AS text) IS DISTINCT FROM CAST(asked.value AS text))"
    )


def json_values(column: ColumnElement[Any]) -> Any:
    """The texts of a JSON array, as a table with the column `value`."""
    return JsonItems(column).table_valued("value")


def beyond(
    columns: Sequence[ColumnElement[Any]], last: Sequence[Any], *, descending: bool = False
) -> ColumnElement[bool]:
    """The condition for the rows after one, given by its values of the columns that order them."""
    here = tuple_(*columns)
    there = tuple_(*(literal(value, each.type) for value, each in zip(last, columns, strict=True)))
    return here < there if descending else here > there


def spelled(connection: Connection, statements: Mapping[str, TextClause]) -> TextClause:
    """The statement for the database of a connection."""
    return statements[connection.dialect.name]


def both(sqlite: str, postgresql: str) -> dict[str, TextClause]:
    """A statement in the words of each database."""
    return {"sqlite": text(sqlite), "postgresql": text(postgresql)}
