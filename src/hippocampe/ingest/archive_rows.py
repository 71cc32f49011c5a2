"""Read the rows of a space to archive, and check those of an archive like any other input."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from sqlalchemy import JSON, Column, ColumnElement, Connection, Table, and_, false, or_, select

from hippocampe.engine import settings
from hippocampe.errors import InvalidInput, shown
from hippocampe.ingest.formats.document import has_too_many_values
from hippocampe.ingest.formats.record import ROLES
from hippocampe.language.datetimes import as_utc
from hippocampe.protocols import is_point_id
from hippocampe.store import schema
from hippocampe.types import (
    ASSOCIATIONS,
    MAX_CONTENT_CHARACTERS,
    MAX_LABEL_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    Memory,
    Scope,
    normal_label,
)
from hippocampe.validation import (
    MAX_EVIDENCE,
    check_collection,
    check_importance,
    check_list,
    clean_text,
    redact,
    redact_metadata,
    redact_named,
    redact_subjects,
    strip_injection,
)

FORMAT = "hippocampe"
VERSION = 1
MAX_LINE_BYTES = 16 * 2**20
"""Longest row in bytes: the longest message, with escapes."""
TABLES: Mapping[str, Table] = {
    "memory": schema.memory,
    "turn": schema.turn,
    "message": schema.message,
    "association": schema.association,
    "setting": schema.setting,
}
"""The archived tables. Rows are inserted in this order because of their references."""
DERIVED_COLUMNS = frozenset({"number", "equality"})
"""Columns that are computed again instead of archived."""
REFERENCES = (
    *("id", "superseded_by", "previous_id", "next_id", "session", "turn_id"),
    *("source_id", "target_id"),
)
"""Columns that contain ids."""
_MAX_TURN_CHARACTERS = 2 * MAX_MESSAGE_CHARACTERS + MAX_LABEL_CHARACTERS + 3
"""Longest turn: a message, a line break, and a reply after its author, a colon and a space."""
_MAX_COUNT = 2**31
_ROLES = (*ROLES, "tool")
"""Roles of stored messages: an export also contains the results of tools."""

Row = dict[str, Any]

BATCH = 1_000
"""Rows per read and per transaction."""


Wanted = Mapping[str, ColumnElement[bool]]
"""The rows to archive: a condition for each table."""


def rows_of(space: str, user: str | None) -> Wanted:
    """The rows of a space, or of one user of it: memories, exchanges, and associations among these memories."""
    every = {name: table.c.space == space for name, table in TABLES.items()}
    if user is None:
        return every
    memory, association = schema.memory, schema.association
    turn, message = schema.turn, schema.message
    told = select(memory.c.id).where(every["memory"], memory.c.user == user)
    turns = select(turn.c.id).where(every["turn"], turn.c.author == user)
    own = {
        "memory": memory.c.user == user,
        "turn": turn.c.author == user,
        "message": or_(message.c.author == user, message.c.turn_id.in_(turns)),
        "association": and_(association.c.source_id.in_(told), association.c.target_id.in_(told)),
        "setting": false(),
    }
    return {name: and_(every[name], own[name]) for name in every}


def lines_of(
    connection: Connection,
    space: str,
    now: datetime,
    wanted: Wanted,
    tables: Collection[str] = TABLES,
) -> Iterator[str]:
    """The lines of an archive: its header, then a row each."""
    yield json.dumps({FORMAT: VERSION, "space": space, "at": now.isoformat()}, ensure_ascii=False)
    for name in tables:
        for row in stored_rows(connection, TABLES[name], wanted):
            yield json.dumps({"record": name} | row, ensure_ascii=False)


def stored_rows(connection: Connection, table: Table, wanted: Wanted) -> Iterator[Row]:
    """The archived columns of the wanted rows of a table, times as text."""
    query = select(table).where(wanted[table.name])
    order = [table.c.number] if "number" in table.c else table.primary_key
    rows = connection.execute(query.order_by(*order), execution_options={"yield_per": BATCH})
    for row in rows.mappings():
        yield {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in row.items()
            if name not in DERIVED_COLUMNS and name != "space"
        }


def parse_row(line: str) -> Row:
    """Parse a line into a row whose values have the types of its table's columns.

    Returns:
        The columns, and under `record` the name of the table.

    Raises:
        InvalidInput: The line is not such a row.
    """
    if has_too_many_values(line):
        raise InvalidInput("a row with too many values")
    try:
        parsed: object = json.loads(line)
        json.dumps(parsed, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as exc:
        raise InvalidInput("not a JSON object in UTF-8") from exc
    record = cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
    name = record.get("record")
    if not isinstance(name, str) or name not in TABLES:
        raise InvalidInput("not a row of an export")
    table = TABLES[name]
    allowed = {column.name for column in table.c} - DERIVED_COLUMNS - {"space"}
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
    """Return whether a value has the type of a column."""
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


def check_row(record: str, row: Row, *, refuse: bool) -> Row:
    """Check a parsed row by the rules of the library's own verbs.

    Args:
        record: Name of the table.
        row: The columns, without `record`.
        refuse: Refuse secrets instead of masking them.

    Returns:
        The row without secrets, control characters and injected text.

    Raises:
        InvalidInput: The library would not have stored a value.
    """
    for name in REFERENCES:
        if row.get(name) is not None and not is_point_id(row[name]):
            raise InvalidInput(f"{name} {shown(row[name])} is no UUID in lower case.")
    scope = Scope(user=row.get("user"), channel=row.get("channel") or None)
    checked = row | _CHECKS[record](row, refuse)
    # Archives of earlier versions contain labels as they were typed.
    for name, label in (("user", scope.user), ("channel", scope.channel)):
        if label is not None:
            checked[name] = label
    if checked.get("author") is not None:
        checked["author"] = normal_label(checked["author"])
    return checked


def _content(row: Row, limit: int, refuse: bool) -> str:
    return redact(strip_injection(clean_text(row["content"], limit=limit)), refuse=refuse)


def _labels(row: Row, *names: str) -> Row:
    return {
        name: clean_text(row[name], what=name, limit=MAX_LABEL_CHARACTERS)
        for name in names
        if row.get(name) is not None
    }


def _reason(row: Row, name: str, refuse: bool) -> Row:
    if not row.get(name):
        return {}
    return {name: redact(clean_text(row[name], what=name), refuse=refuse, what=name)}


def _list(row: Row, name: str) -> list[str]:
    if not isinstance(row[name], list):
        raise InvalidInput(f"{name} must be a list of texts, not {shown(row[name])}.")
    return list(check_list(name, row[name], most=MAX_EVIDENCE, limit=MAX_CONTENT_CHARACTERS))


def _memory(row: Row, refuse: bool) -> Row:
    learnt = datetime.fromisoformat(row["created_at"])
    check_collection(
        Memory(
            row["id"],
            "default",
            row["content"],
            row["collection"],
            category=row.get("category"),
            created_at=learnt,
            updated_at=learnt,
        )
    )
    if not 0 <= row.get("access_count", 0) < _MAX_COUNT:
        raise InvalidInput(f"access_count {shown(row['access_count'])} is out of range.")
    labels = _labels(row, "key", "source")
    content = strip_injection(clean_text(row["content"], limit=MAX_CONTENT_CHARACTERS))
    return {
        "content": redact_named(labels.get("key", ""), content, refuse=refuse),
        "importance": check_importance(row["type"], row["importance"]),
        "subjects": list(redact_subjects(_list(row, "subjects"), refuse=refuse)),
        # Older archives have no metadata.
        "metadata": redact_metadata(row.get("metadata", {}), refuse=refuse),
        "evidence": [clean_text(each, what="evidence") for each in _list(row, "evidence")],
        **labels,
        **_reason(row, "forgotten_reason", refuse),
    }


def _turn(row: Row, refuse: bool) -> Row:
    return {
        "content": _content(row, _MAX_TURN_CHARACTERS, refuse),
        **_labels(row, "author"),
        **_reason(row, "forgotten_reason", refuse),
    }


def _message(row: Row, refuse: bool) -> Row:
    if row.get("role") not in (None, *_ROLES):
        raise InvalidInput(f"unknown role {shown(row['role'])}: choose from {', '.join(_ROLES)}.")
    return {
        "content": _content(row, MAX_MESSAGE_CHARACTERS, refuse),
        **_labels(row, "author", "external_id", "reply_to"),
    }


def _association(row: Row, refuse: bool) -> Row:
    if row["kind"] not in ASSOCIATIONS:
        raise InvalidInput(
            f"unknown association {shown(row['kind'])}: choose from {', '.join(ASSOCIATIONS)}."
        )
    if row["source_id"] == row["target_id"]:
        raise InvalidInput("a memory cannot be associated with itself.")
    return _reason(row, "reason", refuse)


def _setting(row: Row, refuse: bool) -> Row:
    return {"value": settings.check(row["name"], row["value"])}


_CHECKS: Mapping[str, Callable[[Row, bool], Row]] = {
    "memory": _memory,
    "turn": _turn,
    "message": _message,
    "association": _association,
    "setting": _setting,
}
