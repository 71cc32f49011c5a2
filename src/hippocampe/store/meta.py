"""Named values that describe the state of the database."""

from sqlalchemy import Connection, select, text

from hippocampe.store.schema import meta

_PUT = text(
    "INSERT INTO meta (name, value) VALUES (:name, :value) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


def get(connection: Connection, name: str) -> str | None:
    """The value of a name; None if not set."""
    return connection.execute(select(meta.c.value).where(meta.c.name == name)).scalar()


def put(connection: Connection, name: str, value: str) -> None:
    """Set a value."""
    connection.execute(_PUT, {"name": name, "value": value})
