"""Rows of candidates and of the turns around them: each text with its vector, its words and its traits.

Three queries, for any number of candidates: the candidates, the turns next to them, and the
turns next to those.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Connection,
    and_,
    bindparam,
    func,
    literal,
    select,
    type_coerce,
)

from hippocampe.engine.caches import CachedRows
from hippocampe.store.driver import read_by_ids
from hippocampe.store.schema import memory, message, note, turn, vector


class Row(NamedTuple):
    """One text with its vector, words and traits; `at` in microseconds since the epoch."""

    id: str
    author: str | None
    at: int
    channel: str | None
    session: str | None
    previous_id: str | None
    next_id: str | None
    importance: float | None
    uses: int | None
    teller: str | None
    dense: bytes
    words: bytes
    traits: int


def rows_around(
    connection: Connection,
    model: str,
    ids: Sequence[str],
    kinds: Mapping[str, str],
    cached: CachedRows[Row] | None,
) -> tuple[dict[str, Row], dict[str, Row], dict[str, Row]]:
    """The rows of candidates, of the turns next to them, and of the turns next to those, by id."""
    own: dict[str, Row] = {}
    for kind in dict.fromkeys(kinds[id] for id in ids):
        own |= _rows(connection, kind, model, [id for id in ids if kinds[id] == kind], cached)
    near = _rows(connection, "turn", model, _beside(own.values(), own), cached)
    two_away = _beside(near.values(), own | near)
    return own, near, _rows(connection, "turn two away", model, two_away, cached)


def _rows(
    connection: Connection,
    kind: str,
    model: str,
    ids: Sequence[str],
    cached: CachedRows[Row] | None,
) -> dict[str, Row]:
    """The rows of texts by id: those in memory, and the others from the store."""
    if cached is None:
        return _fetch(connection, kind, model, ids)
    found = cached.find(kind, ids)
    if len(found) < len(ids):
        fetched = _fetch(connection, kind, model, [id for id in ids if id not in found])
        cached.put(kind, fetched)
        found |= fetched
    return found


def _fetch(connection: Connection, kind: str, model: str, ids: Collection[str]) -> dict[str, Row]:
    if not ids:
        return {}
    rows = read_by_ids(connection, _STATEMENTS[kind], list(ids), model=model)
    return {row[0]: Row._make(row) for row in rows}


def _statement(table: Any, columns: tuple[Any, ...], dense: Any = vector.c.dense) -> Any:
    same = and_(vector.c.id == table.c.id, vector.c.model == bindparam("model"))
    return (
        select(*columns, dense, vector.c.words, vector.c.traits)
        .select_from(table.join(vector, same))
        .where(table.c.id.in_(bindparam("ids", expanding=True)))
    )


_NONE = literal(None)
_OF_TURN = (
    *(turn.c.id, turn.c.author, type_coerce(turn.c.at, BigInteger), turn.c.channel),
    *(turn.c.session, turn.c.previous_id, turn.c.next_id, _NONE, _NONE, turn.c.author),
)
# A forgotten turn must not support its neighbours either.
_NOT_FORGOTTEN = turn.c.forgotten_at.is_(None)
_STATEMENTS: dict[str, Any] = {
    "memory": _statement(
        memory,
        (
            memory.c.id,
            # The user of a memory is not its author: they do not speak in it.
            _NONE,
            type_coerce(func.coalesce(memory.c.occurred_at, memory.c.created_at), BigInteger),
            *(memory.c.channel, _NONE, _NONE, _NONE, memory.c.importance, memory.c.access_count),
            memory.c.user,
        ),
    ),
    "turn": _statement(turn, _OF_TURN).where(_NOT_FORGOTTEN),
    # Turns two away are measured by their words only, so their vectors are not loaded.
    "turn two away": _statement(turn, _OF_TURN, dense=_NONE).where(_NOT_FORGOTTEN),
    "live": _statement(
        message,
        (
            *(message.c.id, message.c.author, type_coerce(message.c.at, BigInteger)),
            *(message.c.channel, _NONE, _NONE, _NONE, _NONE, _NONE, message.c.author),
        ),
    ),
    "note": _statement(
        note,
        (
            *(note.c.id, _NONE, type_coerce(note.c.modified_at, BigInteger)),
            *(_NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE),
        ),
    ),
}


def _beside(rows: Collection[Row], known: Collection[str]) -> list[str]:
    ends = (end for row in rows for end in (row.previous_id, row.next_id))
    return list(dict.fromkeys(end for end in ends if end is not None and end not in known))
