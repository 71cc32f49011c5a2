"""Normalise the labels of earlier versions, which stored spaces and accents as they were typed.

Two spaces are never merged. Names of users and channels that differ only in their form become one,
inside their space.
"""

from typing import Final

from sqlalchemy import Column, Connection, Table, select, update

from hippocampe.engine.outages import log
from hippocampe.folder.rederivation import RULES
from hippocampe.store import meta, schema
from hippocampe.store.store import Store
from hippocampe.types import MAX_LABEL_CHARACTERS, normal_label

LABELS: Final = "labels"
"""The `meta` entry with the state of the labels: normalised in the store, or also in the index."""
STORED: Final = "in the store"
DONE: Final = "everywhere"

_USERS = (
    schema.memory.c.user,
    schema.turn.c.author,
    schema.message.c.author,
    schema.retrieval.c.user,
)
_CHANNELS = (
    schema.memory.c.channel,
    schema.turn.c.channel,
    schema.message.c.channel,
    schema.retrieval.c.channel,
)


def relabel(store: Store) -> bool:
    """Normalise all labels, once per folder; return whether the index has old ones.

    The database is copied to the backups first.
    """
    if store.created:
        finish(store)
        return False
    with store.read() as connection:
        done = meta.get(connection, LABELS)
        if done is not None:
            return done == STORED
        wrong = _wrong(connection)
    if wrong:
        store.backup_before("labels")
        log.warning(
            "%d names of spaces, users and channels get their normal form: without white space around them, "
            "accents composed. Names of spaces that were taken got a number: see hippocampe spaces.",
            wrong,
        )
    with store.write(from_reserve=True) as connection:
        if wrong:
            _rename_spaces(connection)
            _rename_channels(connection)
            for column in (*_USERS, *_CHANNELS):
                for label in _unusual(connection, column):
                    _replace(connection, column, label, _normal(label))
            _rename_rooms(connection)
            # Claims and aliases are derived from names.
            meta.put(connection, RULES, "")
        meta.put(connection, LABELS, STORED if wrong else DONE)
    return wrong > 0


def finish(store: Store) -> None:
    """Record that all labels are normalised, those of the index too."""
    with store.write(from_reserve=True) as connection:
        meta.put(connection, LABELS, DONE)


def _normal(label: str) -> str:
    return normal_label(normal_label(label)[:MAX_LABEL_CHARACTERS])


def _wrong(connection: Connection) -> int:
    spaces = [name for name in _spaces(connection) if name != _normal(name)]
    return len(spaces) + sum(len(_unusual(connection, column)) for column in (*_USERS, *_CHANNELS))


def _tables() -> list[Table]:
    return [each for each in schema.metadata.sorted_tables if "space" in each.c]


def _spaces(connection: Connection) -> set[str]:
    return {
        name
        for table in _tables()
        for name in connection.execute(select(table.c.space).distinct()).scalars()
    }


def _unusual(connection: Connection, column: "Column[str]") -> list[str]:
    """The labels of a column that are not in normal form."""
    found = connection.execute(select(column).distinct().where(column.is_not(None))).scalars()
    return sorted(label for label in found if label != _normal(label))


def _replace(connection: Connection, column: "Column[str]", old: str, new: str) -> None:
    connection.execute(update(column.table).where(column == old).values({column: new}))


def _rename_spaces(connection: Connection) -> None:
    taken = _spaces(connection)
    for name in sorted(taken):
        if name == _normal(name):
            continue
        free = _free(_normal(name), taken)
        for table in _tables():
            _replace(connection, table.c.space, name, free)
        taken.add(free)


def _free(name: str, taken: set[str]) -> str:
    """A free name of a space: the name itself, or with a number."""
    found, number = name, 1
    while found in taken:
        number += 1
        behind = f" ({number})"
        found = name[: MAX_LABEL_CHARACTERS - len(behind)].strip() + behind
    return found


def _rename_channels(connection: Connection) -> None:
    """Rename the channels of messages, whose external ids are unique in a channel."""
    message = schema.message
    other = message.alias()
    for label in _unusual(connection, message.c.channel):
        name = _normal(label)
        twin = select(other.c.number).where(
            other.c.space == message.c.space,
            other.c.channel == name,
            other.c.external_id == message.c.external_id,
        )
        # One row with the id suffices to recognise the message in a later import.
        connection.execute(
            update(message)
            .where(message.c.channel == label, message.c.external_id.is_not(None), twin.exists())
            .values(external_id=None)
        )
        _replace(connection, message.c.channel, label, name)


def _rename_rooms(connection: Connection) -> None:
    """Rename the observed channels in the settings."""
    setting = schema.setting
    named = select(setting.c.space, setting.c.value).where(setting.c.name == "live_rooms")
    for space, rooms in connection.execute(named).all():
        names = list(dict.fromkeys(map(_normal, rooms)))
        chosen = (setting.c.space == space, setting.c.name == "live_rooms")
        connection.execute(update(setting).where(*chosen).values(value=names))
