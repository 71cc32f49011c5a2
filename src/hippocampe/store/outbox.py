"""Changes that the index has not made durable yet."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, insert, select

from hippocampe.store.driver import read, write
from hippocampe.store.schema import outbox

_QUEUE = insert(outbox)


_LAST = select(func.max(outbox.c.seq))


class Pending(NamedTuple):
    """An item that changed in the store and may not be durable in the index yet."""

    seq: int
    kind: str
    item_id: str
    space: str


def queue(connection: Connection, items: Sequence[tuple[str, str, str]]) -> None:
    """Write outbox rows for (kind, item id, space)."""
    rows = [{"kind": kind, "item_id": id, "space": space} for kind, id, space in items]
    write(connection, _QUEUE, rows)


def pending(connection: Connection, after: int = 0, limit: int | None = None) -> list[Pending]:
    """Outbox rows above a position, oldest first."""
    query = select(outbox).where(outbox.c.seq > after).order_by(outbox.c.seq).limit(limit)
    return [Pending(*row) for row in connection.execute(query)]


def pending_count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(outbox)).scalar_one()


def position(connection: Connection) -> int:
    """The last outbox position given out."""
    return read(connection, _LAST)[0][0] or 0


def acknowledge(connection: Connection, upto: int) -> None:
    """Remove the outbox rows that the index has durably."""
    connection.execute(delete(outbox).where(outbox.c.seq <= upto))
