"""The tables in PostgreSQL, made of those of `schema`.

What differs: the tables with most rows are partitioned by a hash of the space, so that their keys contain the space;
text has no maximum length and is ordered by code point; each row is visible to its space only (row-level
security); messages have their words beside them for full-text search.
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Connection,
    ForeignKeyConstraint,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Sequence,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import TSVECTOR

from hippocampe.store import schema

PARTITIONS = 8
"""Each partition has its own small indexes and is vacuumed by itself; more of them slow down planning."""
PARTITIONED = frozenset(
    ("memory", "subject", "claim", "association", "alias", "turn", "message", "note", "vector")
)
SPACE = "hippocampe.space"
"""The setting with the space of a transaction; `EVERY` for work on all spaces. Without it, no row is visible."""
EVERY = "*"
FULL_TEXT = "full_text"
"""The column of the words of a message."""

_CODE_POINTS = "C"


def tables() -> MetaData:
    """The tables, their indexes and constraints."""
    made = MetaData(naming_convention=schema.metadata.naming_convention)
    for table in schema.metadata.sorted_tables:
        _copy(table, made)
    return made


def _copy(table: Table, made: MetaData) -> None:
    split = table.name in PARTITIONED
    columns = [_column(column, made) for column in table.c]
    if table is schema.message:
        columns.append(Column(FULL_TEXT, TSVECTOR))
    keys = [column.name for column in table.primary_key]
    parts: list[Any] = [PrimaryKeyConstraint(*_with_space(keys, split))]
    for constraint in table.constraints:
        if isinstance(constraint, UniqueConstraint):
            names = [column.name for column in constraint.columns]
            parts.append(UniqueConstraint(*_with_space(names, split)))
        elif isinstance(constraint, ForeignKeyConstraint):
            parts.append(_reference(constraint, split))
    options: dict[str, Any] = {"postgresql_partition_by": "HASH (space)"} if split else {}
    copied = Table(table.name, made, *columns, *parts, **options)
    for index in table.indexes:
        Index(
            str(index.name),
            *(copied.c[column.name] for column in index.columns),
            postgresql_where=index.dialect_options["postgresql"]["where"],
        )


def _column(column: Column[Any], made: MetaData) -> Column[Any]:
    kind: Any = column.type
    if isinstance(kind, String | Text | JSON):
        kind = Text(collation=_CODE_POINTS)
    name = f"{column.table.name}_{column.name}_seq"
    numbered = column.primary_key and isinstance(column.type, BigInteger)
    if numbered:
        # One sequence for all partitions.
        numbers = Sequence(name, metadata=made)
        return Column(
            column.name,
            BigInteger,
            numbers,
            server_default=numbers.next_value(),
            nullable=False,
            autoincrement=False,
        )
    return Column(column.name, kind, nullable=column.nullable, autoincrement=False)


def _with_space(names: list[str], split: bool) -> list[str]:
    return names if not split or "space" in names else [*names, "space"]


def _reference(constraint: ForeignKeyConstraint, split: bool) -> ForeignKeyConstraint:
    own = [column.name for column in constraint.columns]
    [element] = constraint.elements
    target, name = element.target_fullname.split(".")
    others = [f"{target}.{name}"]
    ondelete = constraint.ondelete
    if split:
        if ondelete == "SET NULL":
            # Of the reference alone, not of the space.
            ondelete = f"SET NULL ({own[0]})"
        own, others = [*own, "space"], [*others, f"{target}.space"]
    return ForeignKeyConstraint(own, others, ondelete=ondelete)


def extras() -> Iterator[str]:
    """The statements that make the partitions and the policies."""
    for table in schema.metadata.sorted_tables:
        if table.name in PARTITIONED:
            for number in range(PARTITIONS):
                yield (
                    f"CREATE TABLE {table.name}_{number} PARTITION OF {table.name} "
                    f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number})"
                )
    for table, condition in _policies():
        yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
        # For the owner of the tables too.
        yield f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"
        yield f"CREATE POLICY {table}_of_space ON {table} USING ({condition})"


def _policies() -> Iterator[tuple[str, str]]:
    setting = f"current_setting('{SPACE}', true)"
    for table in schema.metadata.sorted_tables:
        if "space" in table.c:
            yield table.name, f"space = {setting} OR {setting} = '{EVERY}'"
    shown = "SELECT 1 FROM retrieval WHERE retrieval.id = retrieval_id"
    yield "retrieval_item", f"{setting} = '{EVERY}' OR EXISTS ({shown})"


def create(connection: Connection) -> None:
    """Create the tables in an empty database."""
    tables().create_all(connection, checkfirst=False)
    for statement in extras():
        connection.exec_driver_sql(statement)
