"""Named values that describe the state of the database."""

from sqlalchemy import Connection, delete, insert, select

from hippocampe.store.schema import meta


def get(connection: Connection, name: str) -> str | None:
    """The value of a name; None if not set."""
    return connection.execute(select(meta.c.value).where(meta.c.name == name)).scalar()


def put(connection: Connection, name: str, value: str) -> None:
    """Set a value."""
    connection.execute(delete(meta).where(meta.c.name == name))
    connection.execute(insert(meta).values(name=name, value=value))
