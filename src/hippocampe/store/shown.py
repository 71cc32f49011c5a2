"""The searchable rows: those that belong in the index, and those that a read-only process searches."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    and_,
    bindparam,
    func,
    literal,
    select,
    true,
    type_coerce,
)

from hippocampe.store import memories
from hippocampe.store.driver import IDS, parts, read, read_by_ids, read_in_batches
from hippocampe.store.schema import memory, message, note, subject, turn, vector

TABLES = {"memory": memory, "turn": turn, "live": message, "note": note}
SHOWN: dict[str, ColumnElement[bool]] = {
    "memory": memories.FOUND,
    "turn": turn.c.forgotten_at.is_(None),
    "live": message.c.live.is_(True),
    "note": true(),
}
BATCH = 5_000

_NONE = literal(None)
_MODEL: BindParameter[str] = bindparam("model")
_SPACE: BindParameter[str] = bindparam("space")
_AT = func.coalesce(memory.c.occurred_at, memory.c.created_at)
_FILTERED: dict[str, tuple[ColumnElement[Any], ...]] = {
    "memory": (
        *(memory.c.collection, memory.c.type, memory.c.category),
        *(memory.c.user, memory.c.channel),
        *(type_coerce(_AT, BigInteger), type_coerce(memory.c.expires_at, BigInteger)),
    ),
    "turn": (
        *(literal("turn"), _NONE, _NONE, turn.c.author, turn.c.channel),
        *(type_coerce(turn.c.at, BigInteger), _NONE),
    ),
    "live": (
        *(literal("live"), _NONE, _NONE, message.c.author, message.c.channel),
        *(type_coerce(message.c.at, BigInteger), _NONE),
    ),
    "note": (
        *(literal("note"), _NONE, _NONE, _NONE, _NONE),
        *(type_coerce(note.c.modified_at, BigInteger), _NONE),
    ),
}
"""By kind: collection, type, category, user, channel, time, expiry; times in microseconds."""


def _embedded(kind: str, *columns: Any) -> Any:
    table = TABLES[kind]
    same = and_(vector.c.id == table.c.id, vector.c.model == _MODEL)
    return select(*columns).select_from(table.join(vector, same)).where(SHOWN[kind])


def _searched(kind: str) -> Any:
    table = TABLES[kind]
    columns = (table.c.id, vector.c.dense, vector.c.words, *_FILTERED[kind])
    return _embedded(kind, *columns).where(table.c.space == _SPACE)


_OF_SPACE = {kind: _searched(kind) for kind in TABLES}
_BY_IDS = {kind: _searched(kind).where(table.c.id.in_(IDS)) for kind, table in TABLES.items()}
_COUNT = {kind: _embedded(kind, func.count()) for kind in TABLES}
_IDS = {kind: _embedded(kind, table.c.id) for kind, table in TABLES.items()}
_ABOUT = select(subject.c.memory_id).where(
    subject.c.space == _SPACE, subject.c.name == bindparam("name")
)


def searched(
    connection: Connection, kind: str, model: str, space: str, ids: Sequence[str] | None = None
) -> Iterator[list[Any]]:
    """Iterate over the embedded rows of a kind and space in batches: all, or those of some ids.

    Each row is the id, the vector and words as stored, then the filtered columns: collection, type,
    category, user, channel, `at` and `expires_at` in microseconds since the epoch.
    """
    if ids is None:
        yield from read_in_batches(connection, _OF_SPACE[kind], BATCH, model=model, space=space)
        return
    for batch in parts(ids, BATCH):
        yield read_by_ids(connection, _BY_IDS[kind], batch, model=model, space=space)


def about(connection: Connection, space: str, name: str) -> list[str]:
    """The ids of the memories with a folded subject."""
    return [row[0] for row in read(connection, _ABOUT, space=space, name=name)]


def largest_space(connection: Connection, kind: str) -> int:
    """Count the searchable rows of a kind in the space with the most."""
    table, many = TABLES[kind], func.count()
    of_spaces = select(many).select_from(table).where(SHOWN[kind]).group_by(table.c.space)
    return connection.execute(of_spaces.order_by(many.desc()).limit(1)).scalar() or 0


def embedded_ids(connection: Connection, kind: str, model: str) -> list[str]:
    """The ids of all searchable rows of a kind that a model has embedded."""
    return [row[0] for row in read(connection, _IDS[kind], model=model)]


def embedded_count(connection: Connection, kind: str, model: str) -> int:
    """Count the rows of `embedded_ids`."""
    return read(connection, _COUNT[kind], model=model)[0][0]
