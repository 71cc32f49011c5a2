"""SQLite specifics: pragmas, transactions, full text, backup, physical erasure."""

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from sqlalchemy import URL, Connection, Engine, create_engine, create_mock_engine, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.schema import ExecutableDDLElement

from hippocampe.cells import located
from hippocampe.errors import StoreBusy, StoreCorrupt, StoreFull
from hippocampe.store.schema import metadata, to_json
from hippocampe.store.translation import is_full

BUSY_MILLISECONDS = 1_500
"""Longest wait for a lock of another process; the writers of this process wait for each other elsewhere."""
MAPPED_BYTES = 1 << 30
READ_AHEAD = ("vector", "memory", "turn", "message", "note")
"""The tables whose rows recall reads one by one."""
ROWS_AHEAD = 10_000
PAGES_COPIED = 1_024
"""Pages that a backup copies at a time."""

_FULL_TEXT = (
    """CREATE VIRTUAL TABLE message_fts USING fts5(
        content, content='message', content_rowid='number',
        tokenize="unicode61 remove_diacritics 2")""",
    """CREATE TRIGGER message_fts_insert AFTER INSERT ON message BEGIN
        INSERT INTO message_fts(rowid, content) VALUES (new.number, new.content); END""",
    """CREATE TRIGGER message_fts_delete AFTER DELETE ON message BEGIN
        INSERT INTO message_fts(message_fts, rowid, content)
        VALUES ('delete', old.number, old.content); END""",
    """CREATE TRIGGER message_fts_update AFTER UPDATE OF content ON message BEGIN
        INSERT INTO message_fts(message_fts, rowid, content)
        VALUES ('delete', old.number, old.content);
        INSERT INTO message_fts(rowid, content) VALUES (new.number, new.content); END""",
)

# A covering index for counting the words of a space, so that no vector is read.
_WORD_LISTS = "CREATE INDEX vector_word_lists ON vector (space, model, words)"


class _Files(NamedTuple):
    """The state of the files of a database; `logged` means that there is a WAL."""

    logged: bool
    inode: int
    size: int
    modified: int


class _Reader(sqlite3.Connection):
    """A connection that changes no file, not even the WAL.

    If there is a WAL, another process may be writing: SQLite's locks keep the view consistent, and a
    read-only connection can neither checkpoint nor remove the WAL. If there is none, no process has
    the database open. An ordinary connection would create one, so the file is opened as immutable,
    without locks, as long as it does not change.
    """

    path: Path
    files: _Files

    def is_current(self) -> bool:
        """Return whether a new transaction would see the current state of the database."""
        now = _files(self.path)
        if self.files.logged:
            return now.logged and now.inode == self.files.inode
        return now == self.files

    def was_unchanged(self) -> bool:
        """Return whether no other process changed the file during the ending transaction."""
        return self.files.logged or _files(self.path)[1:] == self.files[1:]


def _files(path: Path) -> _Files:
    # Not opened: closing the file would drop the locks that SQLite has on it.
    held = path.stat()
    logged = Path(f"{path}-wal").exists()
    return _Files(logged, held.st_ino, held.st_size, held.st_mtime_ns)


def _connect_reader(path: Path) -> _Reader:
    files = _files(path)
    mode = "mode=ro" if files.logged else "mode=ro&immutable=1"
    uri = f"{path.resolve().as_uri()}?{mode}"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False, factory=_Reader)
    connection.path, connection.files = path, files
    return connection


@contextmanager
def undisturbed(connection: Connection) -> Generator[None]:
    """Check at the end of a transaction that the file did not change meanwhile.

    Raises:
        StoreBusy: Another process opened the database and changed its file.
    """
    try:
        yield
    finally:
        reader = connection.connection.driver_connection
        if isinstance(reader, _Reader) and not reader.was_unchanged():
            raise StoreBusy(
                "another process opened the data folder and changed the database during the read: "
                "try again."
            )


def make_engine(path: Path, *, read_only: bool = False) -> Engine:
    """Create an engine with real transactions.

    Write transactions take the write lock at once (`BEGIN IMMEDIATE`): one that reads before it
    writes would otherwise fail with "database is locked" instead of waiting.

    Args:
        read_only: Change no file, not even the WAL when the database is closed.
    """
    options: dict[str, Any] = {"json_serializer": to_json}
    if read_only:
        options["creator"] = lambda: _connect_reader(path)
    # Not as text: a path may contain "?", "#" or "%".
    url = URL.create("sqlite", database=str(path))
    # The connection used last has the warmest cache.
    engine = create_engine(url, pool_size=20, max_overflow=40, pool_use_lifo=True, **options)

    @event.listens_for(engine, "connect")
    def _connect(connection: sqlite3.Connection, _record: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        if not read_only:
            cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA secure_delete = ON")
        cursor.execute("PRAGMA temp_store = MEMORY")
        cursor.execute("PRAGMA cache_size = -16384")
        # A file read without locks may be truncated while it is mapped, which kills the process.
        if not (isinstance(connection, _Reader) and not connection.files.logged):
            cursor.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
        cursor.close()

    if read_only:

        @event.listens_for(engine, "checkout")
        def _checkout(connection: _Reader, _record: Any, _proxy: Any) -> None:  # pyright: ignore[reportUnusedFunction]
            if not connection.is_current():
                raise DisconnectionError

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        options = connection.get_execution_options()
        cursor = connection.connection.cursor()
        if not options.get("writing"):
            cursor.execute("BEGIN")
            return
        # FULL: an acknowledged write survives a power cut; it costs half a millisecond. The WAL is
        # sequential, so a NORMAL write is durable with the next FULL one.
        level = "FULL" if options["durable"] else "NORMAL"
        cursor.execute(f"PRAGMA synchronous = {level}")
        cursor.execute("BEGIN IMMEDIATE")

    return engine


_WATCHED = ("memory", "turn", "message", "note", "vector")
_CHANGED = "hippocampe_changed"


def watch(connection: Connection, changed: Callable[[str], None]) -> bool:
    """Report the ids of rows that this connection changes or deletes, as it does: for caches of rows.

    Its triggers are temporary: they are not in the file, and other connections do not have them. They fire for every
    statement, so that no writer can miss one. A replaced vector counts as a new one.

    Args:
        connection: Not in a transaction, whose end could undo the triggers.
        changed: Called with each id.

    Returns:
        Whether all changes are reported.
    """
    entry = connection.connection
    if entry.info.get(_CHANGED):
        return True
    driver = entry.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    events = [(table, when, "old") for table in _WATCHED for when in ("UPDATE", "DELETE")]
    try:
        driver.create_function(_CHANGED, 1, changed)
        for table, when, row in (*events, ("vector", "INSERT", "new")):
            driver.execute(
                f"CREATE TEMP TRIGGER IF NOT EXISTS {_CHANGED}_{table}_{when} AFTER {when} ON main.{table} "
                f"BEGIN SELECT {_CHANGED}({row}.id); END"
            )
    except sqlite3.Error:
        # Another process locks the file, for example.
        return False
    entry.info[_CHANGED] = True
    return True


@contextmanager
def unmapped(connection: Connection) -> Generator[None]:
    """Bypass the memory map, whose pages would stay in the process's memory."""
    mapped = connection.exec_driver_sql("PRAGMA mmap_size").scalar_one()
    connection.exec_driver_sql("PRAGMA mmap_size = 0")
    try:
        yield
    finally:
        connection.exec_driver_sql(f"PRAGMA mmap_size = {mapped}")
        # The rows are in the connection's page cache instead: free it.
        connection.exec_driver_sql("PRAGMA shrink_memory")


def read_rows(connection: Connection, table: str, after: int) -> int | None:
    """Read the next rows of a table, to load their pages.

    Returns:
        The last rowid read; None at the end.
    """
    rows = f"SELECT rowid FROM {table} NOT INDEXED WHERE rowid > ? ORDER BY rowid LIMIT ?"
    query = f"SELECT count(*), max(rowid) FROM ({rows})"
    count, last = connection.exec_driver_sql(query, (after, ROWS_AHEAD)).one()
    return last if count == ROWS_AHEAD else None


def create_tables(connection: Connection) -> None:
    """Create the tables in an empty database, and what the schema does not describe: full text, the word list index."""
    for statement in (*_table_statements(), *_FULL_TEXT, _WORD_LISTS):
        connection.exec_driver_sql(statement)


@cache
def _table_statements() -> tuple[str, ...]:
    """Compile the statements of the schema, once per process: it takes as long as opening a folder."""
    statements: list[str] = []

    def record(statement: ExecutableDDLElement, *_: object) -> None:
        statements.append(str(statement.compile(dialect=recorder.dialect)))

    recorder = create_mock_engine("sqlite://", record)
    metadata.create_all(recorder, checkfirst=False)
    return tuple(statements)


def _interruptible(_status: int, _remaining: int, _total: int) -> None:
    """Called between the steps of a backup, so that Python handles Ctrl-C."""


def backup(connection: Connection, target: Path) -> None:
    """Copy the database while it is in use, with SQLite's online backup.

    Args:
        connection: A read transaction. Without one, each write of another connection would start the copy again, and
            that of a busy database would never end.
        target: The file of the copy.
    """
    # The first read fixes the moment that is copied.
    connection.exec_driver_sql("SELECT 1 FROM sqlite_schema").fetchall()
    source = connection.connection.driver_connection
    assert isinstance(source, sqlite3.Connection)
    with closing(sqlite3.connect(target)) as copy:
        source.backup(copy, pages=PAGES_COPIED, progress=_interruptible)


def scrub(engine: Engine) -> None:
    """Remove all bytes of deleted rows: rebuild full text, rewrite the file, truncate the WAL."""
    with closing(engine.raw_connection()) as connection, closing(connection.cursor()) as cursor:
        # Not through SQLAlchemy, which would begin a transaction: VACUUM cannot run in one.
        cursor.execute("INSERT INTO message_fts(message_fts) VALUES ('rebuild')")
        cursor.execute("VACUUM")
        busy, *_ = cast(
            "tuple[int, int, int]", cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        )
        if busy:
            raise StoreBusy(
                "erased data may still be in the files: another process read the database for longer "
                "than a second. The next opening finishes the erasure."
            )


def check_file(path: Path) -> None:
    """Refuse a file that is not an intact SQLite database, without changing it.

    Raises:
        StoreCorrupt: The header is wrong or the schema cannot be read.
        StoreFull: The disk has no room for the files that SQLite needs to read it.
    """
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        uri = path.resolve().as_uri() + "?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=10)) as connection:
            connection.execute("SELECT name FROM sqlite_master").fetchall()
    except sqlite3.DatabaseError as exc:
        if "locked" in str(exc) or "readonly" in str(exc) or "unable to open" in str(exc):
            return
        if is_full(exc):
            raise StoreFull(
                f"cannot open {path}: the disk has no free space, which SQLite needs to read it. Free some space and try again."
            ) from exc
        if located(path.parent) is not None:
            raise StoreCorrupt(
                f"cannot open {path}: it is damaged or not a database ({exc}). Nothing was changed. "
                "Restore all cells from a backup."
            ) from exc
        raise StoreCorrupt(
            f"cannot open {path}: it is damaged or not a database ({exc}). Nothing was changed. "
            f"Restore a copy from {path.parent / 'backups'}, or move the file away to start empty."
        ) from exc


def names(connection: Connection) -> tuple[str, ...]:
    """The records of the schema and of the marks, as the file has them, and the names of the columns.

    The file has the texts of a row after each other, and the index has columns as keys.
    """
    rows = connection.exec_driver_sql(
        "SELECT type || name || tbl_name, coalesce(sql, '') FROM sqlite_schema UNION SELECT name || value, '' FROM meta UNION SELECT name, '' FROM sqlite_sequence"
    )
    columns = {column.name for table in metadata.sorted_tables for column in table.columns}
    return (*columns, *(name for row in rows for name in row if name))


def integrity(connection: Connection) -> str:
    """`ok`, or the damage found by SQLite, in its tables and in their indexes."""
    # Not the quick check: a damaged index returns a wrong row.
    found = connection.exec_driver_sql("PRAGMA integrity_check(5)").scalars()
    return "; ".join(" ".join(str(line).split()) for line in found)
