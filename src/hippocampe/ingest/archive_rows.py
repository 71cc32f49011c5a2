"""The rows of an export, checked like any other input before they are stored."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from hippocampe.engine import settings
from hippocampe.errors import InvalidInput
from hippocampe.ingest.formats.jsonl import ROLES
from hippocampe.protocols import is_point_id
from hippocampe.types import (
    ASSOCIATIONS,
    MAX_CONTENT_CHARACTERS,
    MAX_LABEL_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    Memory,
    Scope,
)
from hippocampe.validation import (
    check_collection,
    check_importance,
    check_list,
    check_subjects,
    clean,
    own,
    safe,
    safe_metadata,
)

REFERENCES = (
    *("id", "superseded_by", "previous_id", "next_id", "session", "turn_id"),
    *("source_id", "target_id"),
)
"""The columns that hold ids."""
# A question and a reply, with the name in front of the reply.
_MAX_TURN_CHARACTERS = 2 * MAX_MESSAGE_CHARACTERS + MAX_LABEL_CHARACTERS + 3
_MAX_COUNT = 2**31

Row = dict[str, Any]


def checked(record: str, row: Row, *, refuse: bool) -> Row:
    """A row as it is stored: without secrets, control characters and injected text.

    Args:
        record: The table; every column of the row has a value of its type.
        row: Its columns.
        refuse: Refuse secrets instead of masking them.

    Raises:
        InvalidInput: A value is none that the library itself would have stored.
    """
    for name in REFERENCES:
        if row.get(name) is not None and not is_point_id(row[name]):
            raise InvalidInput(f"{name} {row[name]!r:.60} is no UUID in lower case.")
    Scope(user=row.get("user"), channel=row.get("channel") or None)
    return row | _CHECKS[record](row, refuse)


def _text(row: Row, name: str, limit: int, refuse: bool) -> str:
    return safe(own(clean(row[name], limit=limit)), refuse=refuse)


def _labels(row: Row, *names: str) -> Row:
    return {
        name: clean(row[name], what=name, limit=MAX_LABEL_CHARACTERS)
        for name in names
        if row.get(name) is not None
    }


def _reason(row: Row, name: str, refuse: bool) -> Row:
    if not row.get(name):
        return {}
    return {name: safe(clean(row[name], what=name), refuse=refuse, what=name)}


def _list(row: Row, name: str) -> list[str]:
    if not isinstance(row[name], list):
        raise InvalidInput(f"{name} must be a list of texts, not {row[name]!r:.60}.")
    return list(check_list(name, row[name]))


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
        raise InvalidInput(f"access_count {row['access_count']} is no count.")
    return {
        "content": _text(row, "content", MAX_CONTENT_CHARACTERS, refuse),
        "importance": check_importance(row["type"], row["importance"]),
        "subjects": list(check_subjects(_list(row, "subjects"))),
        # An export of an older version has none.
        "metadata": safe_metadata(row.get("metadata", {}), refuse=refuse),
        "evidence": [clean(each, what="evidence") for each in _list(row, "evidence")],
        **_labels(row, "key", "source"),
        **_reason(row, "forgotten_reason", refuse),
    }


def _turn(row: Row, refuse: bool) -> Row:
    return {
        "content": _text(row, "content", _MAX_TURN_CHARACTERS, refuse),
        **_labels(row, "author"),
        **_reason(row, "forgotten_reason", refuse),
    }


def _message(row: Row, refuse: bool) -> Row:
    if row.get("role") not in (None, *ROLES):
        raise InvalidInput(f"unknown role {row['role']!r:.60}: choose from {', '.join(ROLES)}.")
    return {
        "content": _text(row, "content", MAX_MESSAGE_CHARACTERS, refuse),
        **_labels(row, "author", "external_id", "reply_to"),
    }


def _association(row: Row, refuse: bool) -> Row:
    if row["kind"] not in ASSOCIATIONS:
        raise InvalidInput(
            f"unknown association {row['kind']!r:.60}: choose from {', '.join(ASSOCIATIONS)}."
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
