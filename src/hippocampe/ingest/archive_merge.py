"""Merge archived rows into a space: find the new rows, and the conflicts with stored ones."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Table, select

from hippocampe.ingest.archive_rows import Row
from hippocampe.language.datetimes import as_utc
from hippocampe.language.equality import equality_digest
from hippocampe.store import memories, message_rows, schema
from hippocampe.store.driver import parts

_CHUNK = 500
_REFERENCES: Mapping[str, tuple[Table, tuple[str, ...], str]] = {
    "association": (
        *(schema.memory, ("source_id", "target_id")),
        "a memory that it joins is not in the space.",
    ),
    "message": (schema.turn, ("turn_id",), "its turn is not in the space."),
}
"""By table: the table that its rows refer to, the columns that do, and the reason if it lacks one."""


def find_conflicts(
    connection: Connection, name: str, rows: Mapping[int, Row], space: str
) -> dict[int, str]:
    """Find rows whose references are missing from the space, or whose key is taken.

    Args:
        rows: Rows by line number.

    Returns:
        The reason by line number, for each row that cannot be stored.
    """
    if name == "memory":
        return _taken_keys(connection, rows, space)
    if name not in _REFERENCES:
        return {}
    table, columns, reason = _REFERENCES[name]
    wanted = {row[column] for row in rows.values() for column in columns if row.get(column)}
    query = select(table.c.id).where(table.c.space == space, table.c.id.in_(wanted))
    missing = wanted.difference(connection.execute(query).scalars())
    return {
        number: reason
        for number, row in rows.items()
        if any(row.get(column) in missing for column in columns)
    }


def _taken_keys(connection: Connection, rows: Mapping[int, Row], space: str) -> dict[int, str]:
    """Current memories whose key another current memory has, stored or earlier in the batch."""
    held: dict[int, str] = {}
    holders: dict[str, str] = {}
    for number, row in rows.items():
        key = row.get("key")
        if key is None or row.get("forgotten_at") or row.get("superseded_by"):
            continue
        if key not in holders:
            holder = memories.holder_of_key(connection, space, key)
            holders[key] = holder.id if holder else row["id"]
        if holders[key] != row["id"]:
            held[number] = f"the key {key!r} is held by another memory, which stays."
    return held


def column_values(table: Table, row: Mapping[str, Any], space: str) -> dict[str, Any]:
    """The values to insert: times as datetimes, derived columns computed."""
    values = dict(row) | {"space": space}
    for name, value in row.items():
        if isinstance(table.c[name].type, schema.Instant) and value is not None:
            values[name] = as_utc(value, name=name)
    if table is schema.memory:
        values["equality"] = equality_digest(values["content"])
    return values


def new_rows(connection: Connection, table: Table, rows: list[Row]) -> list[Row]:
    """Drop rows that are stored already, and duplicates within the batch."""
    identity = ["id"] if "id" in table.c else [column.name for column in table.primary_key]
    known: set[tuple[Any, ...]] = set()
    columns = [table.c[name] for name in identity]
    for part in parts([row[identity[0]] for row in rows], _CHUNK):
        known |= {
            tuple(row) for row in connection.execute(select(*columns).where(columns[0].in_(part)))
        }
    fresh: list[Row] = []
    for row in rows:
        key = tuple(row[name] for name in identity)
        if key not in known:
            known.add(key)
            fresh.append(row)
    return _new_messages(connection, fresh) if table is schema.message else fresh


def _new_messages(connection: Connection, rows: list[Row]) -> list[Row]:
    """Drop messages whose external id is stored already, under another id."""
    seen: set[tuple[str, str]] = set()
    if named := {row["external_id"] for row in rows if row.get("external_id")}:
        stored = message_rows.with_external_ids(connection, rows[0]["space"], named)
        seen = {(channel, external_id) for channel, external_id, _ in stored}
    fresh: list[Row] = []
    for row in rows:
        identity = (row["channel"], row.get("external_id") or "")
        if identity not in seen:
            fresh.append(row)
        if identity[1]:
            seen.add(identity)
    return fresh
