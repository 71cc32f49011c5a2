"""Rows of the settings changed by a space. Each function takes a connection."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from hippocampe.store.schema import setting


def load(connection: Connection, space: str) -> dict[str, Any]:
    """The stored values of a space, by name."""
    query = select(setting.c.name, setting.c.value).where(setting.c.space == space)
    return {row.name: row.value for row in connection.execute(query)}


def everything(connection: Connection) -> list[tuple[str, str, Any]]:
    """All stored values, as (space, name, value)."""
    query = select(setting.c.space, setting.c.name, setting.c.value)
    return [(row.space, row.name, row.value) for row in connection.execute(query)]


def write(
    connection: Connection, space: str, values: Mapping[str, Any], at: datetime, *, remove: set[str]
) -> None:
    """Set values, and remove those named in `remove`."""
    names = {*values, *remove}
    connection.execute(delete(setting).where(setting.c.space == space, setting.c.name.in_(names)))
    rows = [
        {"space": space, "name": name, "value": value, "updated_at": at}
        for name, value in values.items()
    ]
    if rows:
        connection.execute(insert(setting), rows)
