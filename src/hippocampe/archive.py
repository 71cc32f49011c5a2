"""Our own export: every row of a space that is not derived, one JSON object a line.

The first line says what the file is. Rows keep their ids and times, so reading it back loses
nothing and reading it twice adds nothing twice. In another space of the same database, where the ids
are taken, each row gets an id derived from the space and its old id.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid5

from sqlalchemy import JSON, Column, Connection, Table, insert, select

from hippocampe import rebuild, settings
from hippocampe.decide import subjects_of
from hippocampe.errors import InvalidInput, UnreadableFile
from hippocampe.output import whole_file
from hippocampe.parts import Parts
from hippocampe.rebuild import Progress
from hippocampe.remember import read_statement
from hippocampe.store import derived, memories, schema
from hippocampe.store.store import translated
from hippocampe.times import as_utc
from hippocampe.types import Imported, Scope

FORMAT = "hippocampe"
VERSION = 1
BATCH = 1_000
_TABLES: dict[str, Table] = {
    "memory": schema.memory,
    "turn": schema.turn,
    "message": schema.message,
    "association": schema.association,
    "setting": schema.setting,
}
"""In the order in which they can be inserted."""
_OWN_IDS = {"memory", "turn", "message"}
_REFERENCES = (
    *("id", "superseded_by", "previous_id", "next_id", "session", "turn_id"),
    *("source_id", "target_id"),
)
_DERIVED = {"number", "equality"}


def is_archive(path: Path) -> bool:
    """Whether a file begins like an export of ours."""
    try:
        with path.open(encoding="utf-8") as lines:
            first = json.loads(lines.readline(1_000))
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and FORMAT in first


def write(parts: Parts, path: Path, scope: Scope, *, overwrite: bool) -> int:
    """Write a space; return how many rows.

    Raises:
        InvalidInput: The file exists, or is one of the data folder's own.
        StoreError: The file cannot be written.
    """
    written = 0
    folder = parts.config.folder
    with (
        translated(),
        whole_file(path, folder=folder, overwrite=overwrite) as partial,
        partial.open("w", encoding="utf-8") as lines,
        parts.store.read() as connection,
    ):
        head = {FORMAT: VERSION, "space": scope.space, "at": parts.now().isoformat()}
        lines.write(json.dumps(head, ensure_ascii=False) + "\n")
        for name, table in _TABLES.items():
            for row in _rows(connection, table, scope.space):
                lines.write(json.dumps({"record": name} | row, ensure_ascii=False) + "\n")
                written += 1
    return written


def _rows(connection: Connection, table: Table, space: str) -> Iterator[dict[str, Any]]:
    query = select(table).where(table.c.space == space)
    order = table.c.number if "number" in table.c else next(iter(table.primary_key))
    rows = connection.execute(query.order_by(order), execution_options={"yield_per": BATCH})
    for row in rows.mappings():
        yield {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in row.items()
            if name not in _DERIVED and name != "space"
        }


def read(parts: Parts, path: Path, scope: Scope, progress: Progress | None) -> Imported:
    """Read an export back; rows already there are left as they are.

    Raises:
        UnreadableFile: It is no export of ours, or of a later version.
    """
    counts = {"read": 0, "added": 0, "turn": 0}
    problems: list[tuple[int, str]] = []
    batch: list[tuple[str, dict[str, Any]]] = []
    rename = _renaming(parts, path, scope.space)
    for number, record in _records(path):
        if isinstance(record, str):
            problems.append((number, record))
            continue
        counts["read"] += 1
        batch.append((record.pop("record"), rename(record)))
        if len(batch) == BATCH:
            _store(parts, batch, scope.space, counts)
            batch = []
            if progress:
                progress("importing", counts["read"], 0)
    _store(parts, batch, scope.space, counts)
    settings.refresh(parts, scope.space)
    rebuild.embed_imported(parts, progress)
    known = counts["read"] - counts["added"]
    return Imported(counts["read"], counts["added"], known, counts["turn"], tuple(problems))


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Numbered rows, or why a line is none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            head: object = json.loads(next(lines, "{}"))
            if not isinstance(head, dict) or cast("dict[str, Any]", head).get(FORMAT) != VERSION:
                raise UnreadableFile(
                    f"cannot read {path}: it is no export of Hippocampe, or one of a later version."
                )
            for number, line in enumerate(lines, 2):
                yield number, _record(line)
    except (OSError, ValueError) as exc:
        raise UnreadableFile(f"cannot read {path}: {exc}.") from exc


def _record(line: str) -> dict[str, Any] | str:
    try:
        parsed: object = json.loads(line)
    except ValueError:
        return "not a JSON object"
    record = cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
    if record.get("record") not in _TABLES:
        return "not a row of an export"
    table = _TABLES[record["record"]]
    allowed = {column.name for column in table.c} - _DERIVED - {"space"}
    missing = {c.name for c in table.c if not c.nullable and c.default is None} & allowed - set(
        record
    )
    if missing or set(record) - allowed - {"record"}:
        return "a row with columns missing or unknown"
    wrong = [name for name in allowed & set(record) if not _is_value(table.c[name], record[name])]
    return f"a row with an unusable {wrong[0]}" if wrong else record


def _is_value(column: Column[Any], value: Any) -> bool:
    """Whether a column can hold a value."""
    if value is None:
        return bool(column.nullable)
    if isinstance(column.type, schema.Instant):
        try:
            return as_utc(value, name=column.name) is not None
        except InvalidInput:
            return False
    if isinstance(column.type, JSON):
        return True
    number = column.type.python_type in (int, float)
    wanted = (int, float) if number else column.type.python_type
    return isinstance(value, wanted) and not (number and isinstance(value, bool))


def _renaming(parts: Parts, path: Path, space: str) -> Any:
    """How rows get their ids: as they are, unless another space of the database has them."""
    with parts.store.read() as connection:
        taken = False
        for _, record in _records(path):
            if isinstance(record, dict) and record["record"] in _OWN_IDS:
                table = _TABLES[record["record"]]
                query = select(table.c.space).where(table.c.id == record["id"])
                taken = connection.execute(query).scalar() not in (None, space)
                break

    def keep(row: dict[str, Any]) -> dict[str, Any]:
        return row

    def rename(row: dict[str, Any]) -> dict[str, Any]:
        new = {name: _derived(row[name], space) for name in _REFERENCES if row.get(name)}
        return row | new

    return rename if taken else keep


def _derived(id: str, space: str) -> str:
    return str(uuid5(UUID(id), space))


def _store(
    parts: Parts, batch: list[tuple[str, dict[str, Any]]], space: str, counts: dict[str, int]
) -> None:
    if not batch:
        return
    with parts.change() as change:
        for name, table in _TABLES.items():
            rows = [_values(table, row, space) for record, row in batch if record == name]
            fresh = _fresh(change.connection, table, rows)
            if not fresh:
                continue
            change.connection.execute(insert(table), fresh)
            # Should the process end before they are embedded, the next open does it.
            derived.set_meta(change.connection, rebuild.UNEMBEDDED, "1")
            counts["added"] += len(fresh)
            counts["turn"] += len(fresh) if name == "turn" else 0
            if name == "memory":
                added = memories.get(change.connection, space, [row["id"] for row in fresh])
                readings = [read_statement(m, subjects_of(m.content)) for m in added.values()]
                memories.add_readings(change.connection, readings)


def _values(table: Table, row: Mapping[str, Any], space: str) -> dict[str, Any]:
    values = dict(row) | {"space": space}
    for name, value in row.items():
        if isinstance(table.c[name].type, schema.Instant) and value is not None:
            values[name] = as_utc(value, name=name)
    if "equality" in table.c:
        values["equality"] = memories.equality_digest(values["content"])
    return values


def _fresh(
    connection: Connection, table: Table, rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Those rows whose identity is not in the table yet."""
    identity = ["id"] if "id" in table.c else [column.name for column in table.primary_key]
    known: set[tuple[Any, ...]] = set()
    columns = [table.c[name] for name in identity]
    for start in range(0, len(rows), 500):
        part = [row[identity[0]] for row in rows[start : start + 500]]
        known |= {
            tuple(row) for row in connection.execute(select(*columns).where(columns[0].in_(part)))
        }
    fresh: list[dict[str, Any]] = []
    for row in rows:
        key = tuple(row[name] for name in identity)
        if key not in known:
            known.add(key)
            fresh.append(row)
    return fresh
