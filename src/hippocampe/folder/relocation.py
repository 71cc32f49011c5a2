"""Copy a space to another data folder, row by row: nothing is derived or embedded again.

The copy travels as a database of its own, with the tables of a data folder and the rows of one space.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, Table, insert, select

from hippocampe.curation.erase import remove_moved
from hippocampe.curation.turns import Turns
from hippocampe.engine import backlog, deliveries
from hippocampe.engine.context import Context
from hippocampe.errors import InvalidInput
from hippocampe.retrieval import log as retrieval_log
from hippocampe.store import outbox, schema
from hippocampe.store.driver import parts
from hippocampe.store.embeddings import WORD_IDS, checksum
from hippocampe.store.schema import api_key, meta, retrieval, retrieval_item, vector, word
from hippocampe.store.store import Store
from hippocampe.system import private

BATCH = 1_000
_ELSEWHERE = (meta, api_key, schema.outbox, word)
"""Tables that are not copied: the state of a folder, the keys, the changes to its index, the words of all spaces."""
_TABLES = [each for each in schema.metadata.sorted_tables if each not in _ELSEWHERE]
_NUMBERED = frozenset({"number"})
"""Columns that each database assigns itself."""


@dataclass(frozen=True, slots=True)
class Relocation:
    """Copies spaces out of an open data folder, and into it."""

    context: Context
    turns: Turns

    def copy_out(self, space: str, path: Path) -> int:
        """Write the rows of a space to a new file; return their number.

        Raises:
            InvalidInput: The file exists.
            StoreError: It cannot be written.
        """
        store = self.context.corpus.store
        retrieval_log.flush(store, self.turns.retrievals)
        if path.exists():
            raise InvalidInput(f"cannot write {path}: it exists.")
        copied, used = 0, set[int]()
        private.make_folder(path.parent)
        with (
            closing(Store.open(path, path.parent)) as target,
            store.read() as source,
            target.write() as connection,
        ):
            for table in _TABLES:
                for rows in _batches(source, _rows_of(table, space)):
                    connection.execute(insert(table), rows)
                    copied += len(rows)
                    if table is vector:
                        for row in rows:
                            used.update(np.frombuffer(row["words"], WORD_IDS).tolist())
            for ids in parts(sorted(used), BATCH):
                of_ids = select(word).where(word.c.id.in_(ids))
                rows = [dict(row) for row in source.execute(of_ids).mappings()]
                if rows:
                    connection.execute(insert(word), rows)
        return copied

    def copy_in(self, space: str, path: Path) -> int:
        """Store the rows of a file of `copy_out` in one transaction, and index them; return their number.

        What an interrupted copy left of the space is removed before.

        Raises:
            StoreError: The file cannot be read, or the rows cannot be stored; nothing was stored.
        """
        writer = self.context.writer
        corpus = writer.corpus
        self.remove([space])
        copied = 0
        # Until the new words are known: another write would store one of them again.
        with (
            closing(Store.open(path, path.parent, read_only=True)) as source,
            corpus.store.exclusive(),
        ):
            with source.read() as rows_in, writer.change() as change:
                renumbered = _store_words(rows_in, change.connection)
                for table in _TABLES:
                    for rows in _batches(rows_in, _rows_of(table, space)):
                        if table is vector:
                            rows = [_renumbered(row, renumbered) for row in rows]
                            queued = [(row["kind"], row["id"], space) for row in rows]
                            outbox.queue(change.connection, queued)
                        change.connection.execute(insert(table), rows)
                        copied += len(rows)
                # The rows wait in the outbox, also if this process ends before they are indexed.
                writer.deliveries.behind = True
            corpus.vocabulary.follow([space])
        corpus.settings.refresh(space)
        corpus.store.memory_changes += 1
        deliveries.replay(writer)
        backlog.embed_imported(writer)
        return copied

    def remove(self, spaces: Sequence[str]) -> None:
        """Remove all of some spaces from the files of this folder, because other ones have them. Idempotent."""
        with self.context.corpus.store.read() as connection:
            found = [space for space in spaces if _has(connection, space)]
        if found:
            remove_moved(self.context.writer, self.turns, found)


def spaces_of(connection: Connection) -> list[str]:
    """All spaces with a row in any table, but for keys."""
    found = set[str]()
    for table in _TABLES:
        if "space" in table.c:
            found.update(connection.execute(select(table.c.space).distinct()).scalars())
    return sorted(found)


def _has(connection: Connection, space: str) -> bool:
    tables = [each for each in _TABLES if "space" in each.c]
    return any(
        connection.execute(select(each.c.space).where(each.c.space == space).limit(1)).first()
        for each in tables
    )


def _rows_of(table: Table, space: str) -> Select[Any]:
    columns = [column for column in table.c if column.name not in _NUMBERED]
    query = select(*columns)
    if table is retrieval_item:
        return query.join(retrieval).where(retrieval.c.space == space)
    if table is schema.message:
        # Full text and cursors count in the order in which messages were stored.
        query = query.order_by(table.c.number)
    return query.where(table.c.space == space)


def _batches(connection: Connection, query: Any) -> Iterator[list[dict[str, Any]]]:
    rows = connection.execute(query, execution_options={"yield_per": BATCH}).mappings()
    for part in rows.partitions(BATCH):
        yield [dict(row) for row in part]


def _store_words(source: Connection, target: Connection) -> dict[int, int]:
    """Store the words that the target lacks; return the ids of all there, by their ids in the source."""

    def known(rows: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
        texts = [row["text"] for row in rows]
        query = select(word.c.id, word.c.model, word.c.text).where(word.c.text.in_(texts))
        return {(model, text): id for id, model, text in target.execute(query)}

    renumbered: dict[int, int] = {}
    for rows in _batches(source, select(word)):
        before = known(rows)
        new = [row for row in rows if (row["model"], row["text"]) not in before]
        if new:
            columns = (word.c.model, word.c.text, word.c.vector, word.c.checksum)
            target.execute(insert(word), [{c.name: row[c.name] for c in columns} for row in new])
        after = known(rows) if new else before
        renumbered |= {row["id"]: after[row["model"], row["text"]] for row in rows}
    return renumbered


def _renumbered(row: dict[str, Any], ids: dict[int, int]) -> dict[str, Any]:
    """A row of a vector with the word ids of the target. A damaged row keeps a checksum that does not match."""
    words = np.frombuffer(row["words"], WORD_IDS)
    moved = np.array([ids.get(id, 0) for id in words.tolist()], WORD_IDS).tobytes()
    sound = checksum(row["dense"], row["words"], row["traits"]) == row["checksum"]
    total = checksum(row["dense"], moved, row["traits"]) if sound else row["checksum"]
    return {**row, "words": moved, "checksum": total}
