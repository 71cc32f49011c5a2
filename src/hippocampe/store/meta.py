"""Named values that describe the state of the database."""

from sqlalchemy import Connection, bindparam, select, text

from hippocampe.store.driver import read
from hippocampe.store.schema import meta

LAST_ERASURE = "last erasure"
"""In a shared database, a random mark of the last transaction that erased words."""

_GET = select(meta.c.value).where(meta.c.name == bindparam("name"))
_PUT = text(
    "INSERT INTO meta (name, value) VALUES (:name, :value) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


def get(connection: Connection, name: str) -> str | None:
    """The value of a name; None if not set."""
    found = read(connection, _GET, name=name)
    return found[0][0] if found else None


def put(connection: Connection, name: str, value: str) -> None:
    """Set a value."""
    connection.execute(_PUT, {"name": name, "value": value})
