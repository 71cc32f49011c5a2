"""The archive of a space: every row that is not derived, as JSON Lines after a header line.

Rows keep their ids and times, so a load restores everything and is idempotent. The file is
untrusted: each row is validated like any other input; invalid rows are reported and skipped. If
another space of the database has one of the ids, every row gets an id derived from the space and its
old id, in later loads into that space too: the other one may be gone by then.
"""

import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid5

from sqlalchemy import and_, insert, or_, select

from hippocampe.engine import backlog
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.writer import Writer
from hippocampe.errors import InvalidInput, UnreadableFile, shown
from hippocampe.ingest import bundle
from hippocampe.ingest.archive_merge import column_values, find_conflicts, new_rows
from hippocampe.ingest.archive_rows import (
    BATCH,
    FORMAT,
    MAX_LINE_BYTES,
    REFERENCES,
    TABLES,
    VERSION,
    Row,
    check_row,
    lines_of,
    parse_row,
    rows_of,
)
from hippocampe.ingest.formats.source import file_source, read_lines
from hippocampe.ingest.memory_writes import parse_statement
from hippocampe.ingest.problems import Problems
from hippocampe.language.subjects import subjects_of
from hippocampe.protocols import is_point_id
from hippocampe.store import memories, meta, statements
from hippocampe.store.store import Store
from hippocampe.store.translation import translated
from hippocampe.system import free_space
from hippocampe.system.atomic_file import whole_file
from hippocampe.types import Imported, Progress, Scope

BATCH_CHARACTERS = 8_000_000
"""Characters after which a transaction ends even with fewer rows, to bound the memory."""
MAX_HEADER_CHARACTERS = 1_000
_WITH_ID = frozenset({"memory", "turn", "message"})


def is_archive(path: Path) -> bool:
    """Return whether a file starts with the header of an archive, or is a bundle of one."""
    if path.is_dir() or zipfile.is_zipfile(path):
        return bundle.is_bundle(path)
    try:
        with file_source(path).open() as stream:
            first = json.loads(stream.readline(MAX_HEADER_CHARACTERS).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and FORMAT in first


def count_rows(path: Path) -> dict[str, int]:
    """The numbers of rows of an archive by table, most first.

    Raises:
        UnreadableFile: The file is not an archive, or of a later version.
    """
    found = Counter[str]()
    for _, line in _lines(path):
        with suppress(ValueError, RecursionError, LookupError, TypeError):
            found[str(json.loads(line)["record"])] += 1
    return {name: number for name, number in found.most_common() if name in TABLES}


def save(store: Store, path: Path, scope: Scope, user: str | None, *, overwrite: bool) -> int:
    """Write a space, or what one user of it said, to a file; return the number of rows.

    Raises:
        InvalidInput: The file exists, or belongs to the data folder.
        StoreFull: The disk is full.
        StoreError: The file cannot be written.
    """
    written = 0
    folder = store.folder
    with (
        translated(),
        whole_file(path, folder=folder, overwrite=overwrite) as partial,
        partial.open("w", encoding="utf-8") as lines,
        store.read() as connection,
    ):
        lines_wanted = lines_of(connection, scope.space, store.now(), rows_of(scope.space, user))
        for written, line in enumerate(lines_wanted):
            if written % BATCH == 0:
                free_space.check(path.parent)
            lines.write(f"{line}\n")
    return written


def load(
    writer: Writer, path: Path, scope: Scope, progress: Progress | None, *, dry_run: bool = False
) -> Imported:
    """Load an archive into a space, or count what that would add; stored rows are left unchanged.

    Raises:
        UnreadableFile: The file is not an archive, or of a later version.
    """
    renaming = _renaming(writer.corpus.store, path, scope.space)
    loading = _RowImport(writer, scope.space, renaming, dry_run)
    try:
        for number, line in _lines(path):
            loading.add(number, line)
            if len(loading.batch) >= BATCH or loading.characters >= BATCH_CHARACTERS:
                loading.store()
                if progress:
                    progress("importing", loading.read, 0)
        loading.store()
        if dry_run:
            return loading.result()
        writer.corpus.settings.refresh(scope.space)
        backlog.embed_imported(writer, progress)
    except KeyboardInterrupt as exc:
        exc.add_note(
            f"so far, {loading.added:,} rows are stored. Import the same file again to resume: stored rows "
            "are skipped."
        )
        raise
    return loading.result()


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines after the header, with their numbers.

    Raises:
        UnreadableFile: The file is not an archive, or of a later version.
    """
    if bundle.is_bundle(path):
        yield from bundle.read_rows(path)
        return
    try:
        lines = read_lines(file_source(path), longest=MAX_LINE_BYTES)
        first = next(lines, None)
        header: object = json.loads(first.text[:MAX_HEADER_CHARACTERS] if first else "{}")
        if not isinstance(header, dict) or cast("dict[str, Any]", header).get(FORMAT) != VERSION:
            raise UnreadableFile(
                f"cannot read {path}: it is not an export of Hippocampe, or one of a later version."
            )
        for line in lines:
            yield line.number, line.text
    except (OSError, ValueError, RecursionError) as exc:
        raise UnreadableFile(f"cannot read {path}: {exc}.") from exc


def _renaming(store: Store, path: Path, space: str) -> Callable[[Row], Row]:
    """Return the renaming of row ids: none, unless another space of the database has one of them."""

    def rename(row: Row) -> Row:
        renamed = row | {name: _derived(row[name], space) for name in REFERENCES if row.get(name)}
        if "evidence" in row:
            # An erasure follows this id from messages to their memories.
            renamed["evidence"] = [
                _derived(each, space) if is_point_id(each) else each for each in row["evidence"]
            ]
        return renamed

    return rename if _has_taken_id(store, path, space) else dict


def _has_taken_id(store: Store, path: Path, space: str) -> bool:
    """Return whether another space has the id of any row, or the space has one that an earlier load derived.

    The other space may have lost its first rows, or all of them, since the export.
    """
    ids = _ids(path)
    while batch := list(islice(ids, BATCH)):
        with store.read() as connection:
            for name in _WITH_ID:
                table = TABLES[name]
                wanted = [id for record, id in batch if record == name]
                derived = [_derived(id, space) for id in wanted]
                taken = and_(table.c.space != space, table.c.id.in_(wanted))
                loaded = and_(table.c.space == space, table.c.id.in_(derived))
                query = select(table.c.id).where(or_(taken, loaded))
                if connection.execute(query.limit(1)).first():
                    return True
    return False


def _ids(path: Path) -> Iterator[tuple[str, str]]:
    """The ids of the rows, each with the name of its table."""
    for _, line in _lines(path):
        with suppress(InvalidInput):
            row = parse_row(line)
            if row["record"] in _WITH_ID and is_point_id(row["id"]):
                yield row["record"], row["id"]


def _derived(id: str, space: str) -> str:
    return str(uuid5(UUID(id), space))


@dataclass(slots=True)
class _RowImport:
    """Checks rows, stores them in batches, and counts."""

    writer: Writer
    space: str
    rename: Callable[[Row], Row]
    dry_run: bool
    read: int = 0
    added: int = 0
    turns: int = 0
    characters: int = 0
    problems: Problems = field(default_factory=Problems)
    batch: list[tuple[int, str, Row]] = field(default_factory=list[tuple[int, str, Row]])

    def add(self, number: int, line: str) -> None:
        """Add one line, or its problem."""
        try:
            row = parse_row(line)
        except InvalidInput as exc:
            self.problems.add(number, str(exc))
            return
        name = row.pop("record")
        try:
            row = check_row(name, row, refuse=self.writer.corpus.config.refuse_secrets)
        except InvalidInput as exc:
            self._refuse(number, name, row, str(exc))
            return
        self.read += 1
        self.batch.append((number, name, self.rename(row)))
        self.characters += len(line)

    def store(self) -> None:
        """Store the batch in one transaction."""
        batch, self.batch, self.characters = self.batch, [], 0
        if not batch:
            return
        tables = {
            name: {number: row for number, record, row in batch if record == name}
            for name in TABLES
        }
        if self.dry_run:
            added = self._counted(tables)
        else:
            with self.writer.change() as change:
                added = {name: self._store_table(change, name, tables[name]) for name in TABLES}
        self.added += sum(added.values())
        self.turns += added["turn"]

    def result(self) -> Imported:
        """The numbers and the problems so far."""
        known = self.read - self.added
        return Imported(self.read, self.added, known, self.turns, self.problems.listed())

    def _counted(self, tables: Mapping[str, dict[int, Row]]) -> dict[str, int]:
        """The numbers of new rows, which are not stored."""
        with self.writer.corpus.store.read() as connection:
            return {
                name: len(new_rows(connection, TABLES[name], self._values(name, rows)))
                if rows
                else 0
                for name, rows in tables.items()
            }

    def _values(self, name: str, rows: Mapping[int, Row]) -> list[Row]:
        return [column_values(TABLES[name], row, self.space) for row in rows.values()]

    def _store_table(self, change: UnitOfWork, name: str, rows: dict[int, Row]) -> int:
        """Insert the new rows of one table; return their number."""
        table, connection = TABLES[name], change.connection
        for number, reason in find_conflicts(connection, name, rows, self.space).items():
            self._refuse(number, name, rows.pop(number), reason)
            self.read -= 1
        fresh = new_rows(connection, table, self._values(name, rows))
        if not fresh:
            return 0
        connection.execute(insert(table), fresh)
        # If the process dies before the rows are embedded, the next open embeds them.
        meta.put(connection, backlog.UNEMBEDDED, "1")
        if name == "memory":
            new = memories.get(connection, self.space, [row["id"] for row in fresh])
            readings = [parse_statement(m, subjects_of(m.content)) for m in new.values()]
            statements.add_readings(connection, readings)
        return len(fresh)

    def _refuse(self, number: int, name: str, row: Row, reason: str) -> None:
        which = row.get("id") or row.get("name") or row.get("source_id")
        self.problems.add(number, f"{name} {shown(which)}: {reason}")
