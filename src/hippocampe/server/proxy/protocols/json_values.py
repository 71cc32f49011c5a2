"""Read the JSON of clients and providers, which may have any form. No I/O."""

import json
from typing import Any, TypeGuard, cast

from hippocampe.server.http.json_limit import has_too_many_values

Json = dict[str, Any]


def parsed(data: bytes) -> Json:
    """Parse a JSON object; empty if it is not one, or has too many values for a conversation."""
    if has_too_many_values(data):
        return {}
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return as_object(found)


def as_object(value: object) -> Json:
    """The value if it is a JSON object; else an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


def objects(value: object) -> list[Json]:
    """The objects of a list; empty for any other value."""
    listed = value if _is_list(value) else []
    return [cast("Json", each) for each in listed if isinstance(each, dict)]


def all_objects(value: object) -> list[Json] | None:
    """A list of objects; None for any other value."""
    found = objects(value)
    return found if _is_list(value) and len(found) == len(value) else None


def as_text(value: object) -> str | None:
    """The value if it is a non-empty text."""
    return value if isinstance(value, str) and value else None


def as_count(value: object) -> int | None:
    """The value if it is a whole number, and not negative as some servers write an unknown one."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if value >= 0 else None


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
