"""Copy one database into another, of either kind: resumable, and verified row by row.

Rows are copied table by table, in the order of their keys. The target notes how far it is, so that a copy that was
interrupted goes on from there; it cannot be opened before the copy is complete.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from zlib import crc32

from sqlalchemy import Connection, Table, delete, func, insert, literal, not_, select

from hippocampe.engine.deliveries import ACKNOWLEDGED
from hippocampe.errors import InvalidInput, StoreError
from hippocampe.store import meta, schema
from hippocampe.store.driver import write
from hippocampe.store.portable import beyond
from hippocampe.store.store import Store
from hippocampe.types import Progress

COPYING: Final = "copying"
"""The `meta` entry of a database that a copy is being made in: the tables that are complete, and the last key."""
BATCH: Final = 2_000
_LEFT_OUT: Final = frozenset(("outbox", "meta"))
"""Tables that describe the index of a database, not its data."""
_NOT_COPIED: Final = frozenset((COPYING, ACKNOWLEDGED, "erasing"))


@dataclass(frozen=True, slots=True)
class Copied:
    """The rows of a table, and a checksum of them that does not depend on their order."""

    rows: int
    checksum: int


def check_complete(store: Store) -> None:
    """Refuse a database whose copy was interrupted.

    Raises:
        StoreError: It was.
    """
    with store.read() as connection:
        if meta.get(connection, COPYING):
            raise StoreError(
                "the data is not complete: a copy into it was interrupted. Run the same `hippocampe migrate` again; it "
                "goes on from there."
            )


def copy(source: Store, target: Store, progress: Progress | None = None) -> dict[str, Copied]:
    """Copy all rows; return what the target has, by table. Readers of the source go on meanwhile.

    Raises:
        InvalidInput: The target has data of its own.
        StoreError: A table of the target differs from that of the source afterwards.
    """
    done, after = _begin(source, target)
    # Writers of the source wait: the copy is of one moment.
    with source.exclusive(), source.read() as reading:
        if done or after:
            done, after = _still_equal(reading, target, done, after, progress)
        for table in _tables():
            if table.name in done:
                continue
            _copy_table(reading, target, table, after, done, progress)
            after = None
            done.append(table.name)
            with target.write() as connection:
                _note(connection, done, None)
        found = _verify(reading, target, progress)
        with target.write() as connection:
            _copy_meta(reading, connection)
            if target.shared:
                _continue_numbers(connection)
            meta.put(connection, COPYING, "")
    return found


def _tables() -> list[Table]:
    return [table for table in schema.metadata.sorted_tables if table.name not in _LEFT_OUT]


def _begin(source: Store, target: Store) -> tuple[list[str], list[Any] | None]:
    with source.read() as connection:
        for space in connection.execute(select(schema.memory.c.space).distinct()).scalars():
            target.check_space(space)
    with target.write() as connection:
        state = meta.get(connection, COPYING)
        if state:
            held: dict[str, Any] = json.loads(state)
            return held["done"], held["after"]
        for table in _tables():
            if connection.execute(select(literal(1)).select_from(table).limit(1)).first():
                raise InvalidInput(
                    f"cannot copy into data that exists (table {table.name}): give an empty folder or database."
                )
        _note(connection, [], None)
    return [], None


def _note(connection: Connection, done: list[str], after: list[Any] | None) -> None:
    meta.put(connection, COPYING, json.dumps({"done": done, "after": after}))


def _still_equal(
    reading: Connection,
    target: Store,
    done: list[str],
    after: list[Any] | None,
    progress: Progress | None,
) -> tuple[list[str], list[Any] | None]:
    """The tables of an interrupted copy, and the last key, that the source still has as they are: later rows may refer to
    rows that were added since."""
    tables = _tables()[: len(done) + (after is not None)]
    for number, table in enumerate(tables):
        if progress:
            progress("comparing", number, len(tables))
        upto = after if number == len(done) else None
        if not _agree(reading, target, table, upto):
            return _start_again(target, number), None
    return done, after


def _start_again(target: Store, number: int) -> list[str]:
    """Empty a table of the target and those that depend on it; return those that stay."""
    kept = [each.name for each in _tables()[:number]]
    with target.write() as connection:
        for each in reversed(_tables()[number:]):
            connection.execute(delete(each))
        _note(connection, kept, None)
    return kept


def _copy_table(
    reading: Connection,
    target: Store,
    table: Table,
    after: list[Any] | None,
    done: list[str],
    progress: Progress | None,
) -> None:
    total = reading.execute(select(func.count()).select_from(table)).scalar_one()
    copied = 0
    rows = _rows(reading, table, after)
    while batch := list(islice(rows, BATCH)):
        keys = [batch[-1][column.name] for column in table.primary_key]
        with target.write(durable=False) as connection:
            if table is schema.message:
                # The database derives the words of a message from its insertion.
                connection.execute(insert(table), batch)
            else:
                write(connection, insert(table), batch)
            _note(connection, done, keys)
        copied += len(batch)
        if progress:
            progress(f"copying {table.name}", copied, total)


def _rows(
    connection: Connection,
    table: Table,
    after: list[Any] | None = None,
    upto: list[Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of a table in the order of their keys, after one key and up to another."""
    keys = list(table.primary_key)
    query = select(table).order_by(*keys)
    if after is not None:
        query = query.where(beyond(keys, after))
    if upto is not None:
        query = query.where(not_(beyond(keys, upto)))
    with connection.execute(query, execution_options={"yield_per": BATCH}) as found:
        yield from (dict(row) for row in found.mappings())


def _verify(reading: Connection, target: Store, progress: Progress | None) -> dict[str, Copied]:
    found: dict[str, Copied] = {}
    for number, table in enumerate(_tables()):
        if progress:
            progress("comparing", number, len(_tables()))
        with target.read() as connection:
            found[table.name] = _checksum(connection, table)
        if _checksum(reading, table) != found[table.name]:
            # The next run copies this table and those that depend on it again.
            _start_again(target, number)
            raise StoreError(
                f"table {table.name} changed while it was copied: run the same command again; it copies it again."
            )
    return found


def _agree(reading: Connection, target: Store, table: Table, upto: list[Any] | None) -> bool:
    with target.read() as connection:
        return _checksum(connection, table, upto) == _checksum(reading, table, upto)


def _checksum(connection: Connection, table: Table, upto: list[Any] | None = None) -> Copied:
    rows, total = 0, 0
    for row in _rows(connection, table, upto=upto):
        rows += 1
        total = (total + crc32(repr(row).encode())) % 2**32
    return Copied(rows, total)


def _copy_meta(reading: Connection, connection: Connection) -> None:
    for name, value in reading.execute(select(schema.meta.c.name, schema.meta.c.value)):
        if name not in _NOT_COPIED:
            meta.put(connection, name, value)


def _continue_numbers(connection: Connection) -> None:
    """Let new rows be numbered after the copied ones."""
    for table, column in (("message", "number"), ("word", "id")):
        highest = f"SELECT max({column}) FROM {table}"
        connection.exec_driver_sql(
            f"SELECT setval('{table}_{column}_seq', coalesce(({highest}), 1), ({highest}) IS NOT NULL)"
        )
