"""The outbox: changes that may not be durable in the index yet."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import ARRAY, BigInteger, Connection, all_, delete, func, insert, literal, select

from hippocampe.store.driver import parts, read, write
from hippocampe.store.schema import outbox

_INSERT = insert(outbox)
_LAST = select(func.max(outbox.c.seq))


class Pending(NamedTuple):
    """A changed item; `seq` is its position in the outbox."""

    seq: int
    kind: str
    item_id: str
    space: str


def queue(connection: Connection, items: Sequence[tuple[str, str, str]]) -> list[int]:
    """Add changed items, each as (kind, item id, space).

    Returns:
        In a shared database, the numbers of the rows: those of other processes may lie between them.
    """
    rows = [{"kind": kind, "item_id": id, "space": space} for kind, id, space in items]
    if connection.dialect.name == "sqlite" or not rows:
        write(connection, _INSERT, rows)
        return []
    query = "SELECT nextval('outbox_seq_seq') FROM generate_series(1, %s)"
    numbers = list(connection.exec_driver_sql(query, (len(rows),)).scalars())
    write(connection, _INSERT, [{"seq": n, **row} for n, row in zip(numbers, rows, strict=True)])
    return numbers


def pending(connection: Connection, after: int) -> list[Pending]:
    """Rows above a position, oldest first."""
    query = select(outbox).where(outbox.c.seq > after).order_by(outbox.c.seq)
    return [Pending(*row) for row in connection.execute(query)]


def pending_count(connection: Connection) -> int:
    """Count the rows."""
    return connection.execute(select(func.count()).select_from(outbox)).scalar_one()


def position(connection: Connection) -> int:
    """The position of the last row; 0 if there is none."""
    return read(connection, _LAST)[0][0] or 0


def last_position(connection: Connection) -> int:
    """The last position ever assigned, even if its row was deleted."""
    if connection.dialect.name == "sqlite":
        query = "SELECT seq FROM sqlite_sequence WHERE name = 'outbox'"
    else:
        query = "SELECT last_value FROM outbox_seq_seq"
    return connection.exec_driver_sql(query).scalar() or 0


def oldest(connection: Connection, limit: int) -> list[Pending]:
    """The oldest rows."""
    query = select(outbox).order_by(outbox.c.seq).limit(limit)
    return [Pending(*row) for row in connection.execute(query)]


def claim(
    connection: Connection, space: str, without: Collection[int], limit: int
) -> list[Pending]:
    """The oldest rows of a space that no other process has claimed, `without` some, until the transaction ends."""
    # An array is one parameter, of the 65,535 that a statement may have.
    others = outbox.c.seq != all_(literal([*without], ARRAY(BigInteger)))
    query = select(outbox).where(outbox.c.space == space, others)
    claimed = query.order_by(outbox.c.seq).limit(limit).with_for_update(skip_locked=True)
    return [Pending(*row) for row in connection.execute(claimed)]


def remove(connection: Connection, rows: Collection[int]) -> None:
    """Delete rows by number."""
    for some in parts(list(rows), 5_000):
        connection.execute(delete(outbox).where(outbox.c.seq.in_(some)))


def acknowledge(connection: Connection, upto: int) -> None:
    """Delete the rows that the index has made durable, up to a position."""
    connection.execute(delete(outbox).where(outbox.c.seq <= upto))
