"""The outbox: changes that may not be durable in the index yet."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, insert, select

from hippocampe.store.driver import parts, read, write
from hippocampe.store.schema import outbox

_INSERT = insert(outbox)
_LAST = select(func.max(outbox.c.seq))


class Pending(NamedTuple):
    """A row: a changed item. `seq` is its number."""

    seq: int
    kind: str
    item_id: str
    space: str


def queue(connection: Connection, items: Sequence[tuple[str, str, str]]) -> Sequence[int]:
    """Add changed items, each as (kind, item id, space); return the numbers of the rows."""
    rows = [{"kind": kind, "item_id": id, "space": space} for kind, id, space in items]
    if not rows:
        return ()
    if connection.dialect.name == "sqlite":
        write(connection, _INSERT, rows)
        # It has one writer, which counts on.
        last = read(connection, _LAST)[0][0]
        return range(last - len(rows) + 1, last + 1)
    query = "SELECT nextval('outbox_seq_seq') FROM generate_series(1, %s)"
    numbers = list(connection.exec_driver_sql(query, (len(rows),)).scalars())
    write(connection, _INSERT, [{"seq": n, **row} for n, row in zip(numbers, rows, strict=True)])
    return numbers


def pending(connection: Connection, after: int, limit: int | None = None) -> list[Pending]:
    """The rows above a number, oldest first."""
    query = select(outbox).where(outbox.c.seq > after).order_by(outbox.c.seq).limit(limit)
    return [Pending(*row) for row in connection.execute(query)]


def pending_count(connection: Connection, space: str | None = None) -> int:
    """Count the rows, of a space or of all."""
    query = select(func.count()).select_from(outbox)
    if space is not None:
        query = query.where(outbox.c.space == space)
    return connection.execute(query).scalar_one()


def last_position(connection: Connection) -> int:
    """The last number ever assigned, even if its row was deleted."""
    if connection.dialect.name == "sqlite":
        query = "SELECT seq FROM sqlite_sequence WHERE name = 'outbox'"
    else:
        # A sequence that gave no number yet has the first one as its last value.
        query = "SELECT CASE WHEN is_called THEN last_value END FROM outbox_seq_seq"
    return connection.exec_driver_sql(query).scalar() or 0


def remove(connection: Connection, rows: Collection[int]) -> None:
    """Delete rows by number."""
    for some in parts(list(rows), 5_000):
        connection.execute(delete(outbox).where(outbox.c.seq.in_(some)))
