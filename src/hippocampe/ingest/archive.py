"""Our own export: every row of a space that is not derived, one JSON object a line.

The first line says what the file is. Rows keep their ids and times, so reading it back loses
nothing and reading it twice adds nothing twice. The file is foreign all the same: each row is checked
like any other input, and one that cannot be used is reported and left out. In another space of the same database, where the ids
are taken, each row gets an id derived from the space and its old id.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid5

from sqlalchemy import JSON, Column, Connection, Table, bindparam, insert, select

from hippocampe.consolidation.decide import subjects_of
from hippocampe.engine import backlog, settings
from hippocampe.engine.context import Context
from hippocampe.engine.projection import Progress
from hippocampe.errors import InvalidInput, UnreadableFile
from hippocampe.ingest.archive_rows import REFERENCES, Row, checked
from hippocampe.ingest.remember import read_statement
from hippocampe.language.datetimes import as_utc
from hippocampe.language.equality import equality_digest
from hippocampe.store import conversations, memories, meta, schema, statements
from hippocampe.store.store import translated
from hippocampe.system.atomic_file import whole_file
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
_DERIVED = {"number", "equality"}


def is_archive(path: Path) -> bool:
    """Whether a file begins like an export of ours."""
    try:
        with path.open(encoding="utf-8") as lines:
            first = json.loads(lines.readline(1_000))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and FORMAT in first


def write(context: Context, path: Path, scope: Scope, *, overwrite: bool) -> int:
    """Write a space; return how many rows.

    Raises:
        InvalidInput: The file exists, or is one of the data folder's own.
        StoreError: The file cannot be written.
    """
    written = 0
    folder = context.config.folder
    with (
        translated(),
        whole_file(path, folder=folder, overwrite=overwrite) as partial,
        partial.open("w", encoding="utf-8") as lines,
        context.store.read() as connection,
    ):
        head = {FORMAT: VERSION, "space": scope.space, "at": context.now().isoformat()}
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


def read(context: Context, path: Path, scope: Scope, progress: Progress | None) -> Imported:
    """Read an export back; rows already there are left as they are.

    Raises:
        UnreadableFile: It is no export of ours, or of a later version.
    """
    intake = _Intake(context, scope.space, _renaming(context, path, scope.space))
    try:
        for number, line in _lines(path):
            intake.take(number, line)
            if len(intake.batch) == BATCH:
                intake.store()
                if progress:
                    progress("importing", intake.read, 0)
        intake.store()
        settings.refresh(context, scope.space)
        backlog.embed_imported(context, progress)
    except KeyboardInterrupt as exc:
        exc.add_note(
            f"{intake.added:,} rows are stored and stay. To go on, import the file again: what is there "
            "is not added twice."
        )
        raise
    known = intake.read - intake.added
    return Imported(intake.read, intake.added, known, intake.turns, tuple(intake.problems))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines after the first.

    Raises:
        UnreadableFile: It is no export of ours, or of a later version.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            head: object = json.loads(next(lines, "{}"))
            if not isinstance(head, dict) or cast("dict[str, Any]", head).get(FORMAT) != VERSION:
                raise UnreadableFile(
                    f"cannot read {path}: it is no export of Hippocampe, or one of a later version."
                )
            yield from enumerate(lines, 2)
    except (OSError, ValueError, RecursionError) as exc:
        raise UnreadableFile(f"cannot read {path}: {exc}.") from exc


def _record(line: str) -> dict[str, Any]:
    """A line as a row that its table can hold.

    Raises:
        InvalidInput: It is none.
    """
    try:
        parsed: object = json.loads(line)
        json.dumps(parsed, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as exc:
        raise InvalidInput("not a JSON object in UTF-8") from exc
    record = cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
    name = record.get("record")
    if not isinstance(name, str) or name not in _TABLES:
        raise InvalidInput("not a row of an export")
    table = _TABLES[name]
    allowed = {column.name for column in table.c} - _DERIVED - {"space"}
    missing = {c.name for c in table.c if not c.nullable and c.default is None} & allowed - set(
        record
    )
    if missing or set(record) - allowed - {"record"}:
        raise InvalidInput("a row with columns missing or unknown")
    wrong = [name for name in allowed & set(record) if not _is_value(table.c[name], record[name])]
    if wrong:
        raise InvalidInput(f"a row with an unusable {min(wrong)}")
    return record


def _is_value(column: Column[Any], value: Any) -> bool:
    """Whether a column can hold a value."""
    if value is None:
        return bool(column.nullable)
    if isinstance(column.type, schema.Instant):
        if not isinstance(value, str):
            return False
        try:
            as_utc(value, name=column.name)
        except InvalidInput:
            return False
        return True
    if isinstance(column.type, JSON):
        return True
    if column.type.python_type is bool:
        return isinstance(value, bool)
    wanted = (int, float) if column.type.python_type is float else column.type.python_type
    return isinstance(value, wanted) and not isinstance(value, bool)


def _renaming(context: Context, path: Path, space: str) -> Callable[[Row], Row]:
    """How rows get their ids: as they are, unless another space of the database has them."""
    taken = False
    with context.store.read() as connection:
        for _, line in _lines(path):
            with suppress(InvalidInput):
                row = _record(line)
                if row["record"] in _OWN_IDS:
                    table = _TABLES[row["record"]]
                    query = select(table.c.space).where(table.c.id == row["id"])
                    taken = connection.execute(query).scalar() not in (None, space)
                    break

    def rename(row: Row) -> Row:
        return row | {name: _derived(row[name], space) for name in REFERENCES if row.get(name)}

    return rename if taken else dict


def _derived(id: str, space: str) -> str:
    return str(uuid5(UUID(id), space))


@dataclass(slots=True)
class _Intake:
    """Rows on their way in: checked, stored in batches, counted."""

    context: Context
    space: str
    rename: Callable[[Row], Row]
    read: int = 0
    added: int = 0
    turns: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    batch: list[tuple[int, str, Row]] = field(default_factory=list[tuple[int, str, Row]])

    def take(self, number: int, line: str) -> None:
        """Add one line, or note what is wrong with it."""
        try:
            row = _record(line)
        except InvalidInput as exc:
            self.problems.append((number, str(exc)))
            return
        name = row.pop("record")
        try:
            row = checked(name, row, refuse=self.context.config.refuse_secrets)
        except InvalidInput as exc:
            self._refuse(number, name, row, str(exc))
            return
        self.read += 1
        self.batch.append((number, name, self.rename(row)))

    def store(self) -> None:
        """Store the rows that were taken, in one transaction."""
        batch, self.batch = self.batch, []
        if not batch:
            return
        with self.context.change() as change:
            added, turns = 0, 0
            for name, table in _TABLES.items():
                rows = {number: row for number, record, row in batch if record == name}
                for number, reason in _unusable(change.connection, name, rows, self.space).items():
                    self._refuse(number, name, rows.pop(number), reason)
                    self.read -= 1
                fresh = _fresh(
                    change.connection,
                    table,
                    [_values(table, row, self.space) for row in rows.values()],
                )
                if not fresh:
                    continue
                change.connection.execute(insert(table), fresh)
                # Should the process end before they are embedded, the next open does it.
                meta.put(change.connection, backlog.UNEMBEDDED, "1")
                added += len(fresh)
                turns += len(fresh) if name == "turn" else 0
                if name == "memory":
                    ids = [row["id"] for row in fresh]
                    new = memories.get(change.connection, self.space, ids)
                    readings = [read_statement(m, subjects_of(m.content)) for m in new.values()]
                    statements.add_readings(change.connection, readings)
        self.added += added
        self.turns += turns

    def _refuse(self, number: int, name: str, row: Row, reason: str) -> None:
        which = row.get("id") or row.get("name") or row.get("source_id")
        self.problems.append((number, f"{name} {which!r:.60}: {reason}"))


def _unusable(
    connection: Connection, name: str, rows: Mapping[int, Row], space: str
) -> dict[int, str]:
    """Rows that name what the space lacks or already has otherwise, each with the reason."""
    if name == "association":
        ends = {row[end] for row in rows.values() for end in ("source_id", "target_id")}
        there = _present(connection, schema.memory, ends, space)
        reason = "a memory that it joins is not in the space."
        return {
            number: reason
            for number, row in rows.items()
            if not {row["source_id"], row["target_id"]} <= there
        }
    if name == "message":
        turns = {row["turn_id"] for row in rows.values() if row.get("turn_id")}
        there = _present(connection, schema.turn, turns, space) | {None}
        reason = "its turn is not in the space."
        return {number: reason for number, row in rows.items() if row.get("turn_id") not in there}
    if name == "memory":
        return _keys_held(connection, rows, space)
    return {}


def _present(connection: Connection, table: Table, ids: Collection[str], space: str) -> set[str]:
    query = select(table.c.id).where(
        table.c.space == space, table.c.id.in_(bindparam("ids", expanding=True))
    )
    return set(connection.execute(query, {"ids": list(ids)}).scalars())


def _keys_held(connection: Connection, rows: Mapping[int, Row], space: str) -> dict[int, str]:
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


def _values(table: Table, row: Mapping[str, Any], space: str) -> dict[str, Any]:
    values = dict(row) | {"space": space}
    for name, value in row.items():
        if isinstance(table.c[name].type, schema.Instant) and value is not None:
            values[name] = as_utc(value, name=name)
    if table is schema.memory:
        values["equality"] = equality_digest(values["content"])
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
    return _unsaid(connection, fresh) if table is schema.message else fresh


def _unsaid(connection: Connection, rows: list[Row]) -> list[Row]:
    """Those messages that the space has not under another id."""
    named = [(row["channel"], row["external_id"]) for row in rows if row.get("external_id")]
    seen: set[tuple[str, str]] = set()
    if named:
        seen = conversations.known_external_ids(connection, rows[0]["space"], named)
    fresh: list[Row] = []
    for row in rows:
        identity = (row["channel"], row.get("external_id") or "")
        if identity not in seen:
            fresh.append(row)
        if identity[1]:
            seen.add(identity)
    return fresh
