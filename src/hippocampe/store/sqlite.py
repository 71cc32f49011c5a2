"""What only SQLite needs: pragmas, real transactions, full text, backup, physical erasure."""

import re
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DisconnectionError

from hippocampe.errors import StoreBusy, StoreCorrupt
from hippocampe.store.schema import to_json

BUSY_MILLISECONDS = 10_000
MAPPED_BYTES = 1 << 30
READ_AHEAD = ("vector", "memory", "turn", "message", "note")
"""The tables that recall reads by the row."""
ROWS_AHEAD = 10_000

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

# Holds all that counting the words of a space reads: without it, every vector is read too.
_WORD_LISTS = "CREATE INDEX vector_word_lists ON vector (space, model, words)"

_WORD = re.compile(r"\w+")


class _Files(NamedTuple):
    """The files of a database: whether it has a log of changes (WAL), and the state of its own file."""

    logged: bool
    inode: int
    size: int
    modified: int


class _Reader(sqlite3.Connection):
    """A connection that changes no file, not even those that SQLite keeps beside the database.

    With a log of changes, another process may be writing: SQLite's locks keep the view whole, and
    a connection without the right to write can neither checkpoint the log nor remove it. Without a
    log nobody has the database open. Reading it as usual would create a log, so the file is read as
    immutable, without locks, for as long as it stays the same.
    """

    path: Path
    files: _Files

    def is_current(self) -> bool:
        """Whether a new transaction would see the database as it is now."""
        now = _files(self.path)
        if self.files.logged:
            return now.logged and now.inode == self.files.inode
        return now == self.files

    def was_whole(self) -> bool:
        """Whether no other process changed the file under the transaction that ends."""
        return self.files.logged or _files(self.path)[1:] == self.files[1:]


def _files(path: Path) -> _Files:
    # Looked at, never opened: closing the file would give up the locks that SQLite has on it.
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
    """Check at the end of a transaction that what it read was not changed meanwhile.

    Raises:
        StoreBusy: Another process opened the database and changed its file.
    """
    try:
        yield
    finally:
        reader = connection.connection.driver_connection
        if isinstance(reader, _Reader) and not reader.was_whole():
            raise StoreBusy(
                "another process opened the data folder and changed the database while it was read: "
                "try again."
            )


def make_engine(path: Path, *, read_only: bool = False) -> Engine:
    """An engine whose transactions begin when SQLAlchemy says so.

    Write transactions take the write lock at once (`BEGIN IMMEDIATE`): one that reads first and
    writes later would otherwise fail with "database is locked" instead of waiting.

    Args:
        path: The file of the database.
        read_only: For a process that only reads, alone or beside one that writes. It changes no
            file, and when it closes the database, it leaves the log of changes alone.
    """
    options: dict[str, Any] = {"json_serializer": to_json}
    if read_only:
        options["creator"] = lambda: _connect_reader(path)
    # Not written as text: a path may hold "?", "#" or "%".
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
        # A file that is read without locks may be cut while it is mapped, which kills the process.
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
        # FULL: an acknowledged write survives a power cut, for half a millisecond. The log is in
        # order, so what is written without it is safe with the next write that has it.
        level = "FULL" if options["durable"] else "NORMAL"
        cursor.execute(f"PRAGMA synchronous = {level}")
        cursor.execute("BEGIN IMMEDIATE")

    return engine


def read_only_uri(path: Path) -> str:
    """The URI by which SQLite opens a file without ever writing to it."""
    return path.resolve().as_uri() + "?mode=ro"


@contextmanager
def unmapped(connection: Connection) -> Generator[None]:
    """Read past the memory map, whose pages stay in the process once they were read."""
    mapped = connection.exec_driver_sql("PRAGMA mmap_size").scalar_one()
    connection.exec_driver_sql("PRAGMA mmap_size = 0")
    try:
        yield
    finally:
        connection.exec_driver_sql(f"PRAGMA mmap_size = {mapped}")
        # What was read is in the connection's own cache instead, and nobody needs it there.
        connection.exec_driver_sql("PRAGMA shrink_memory")


def read_rows(connection: Connection, table: str, after: int) -> int | None:
    """Read the next rows of a table for no other reason than that they were read.

    Returns:
        Where to go on; None at the end.
    """
    rows = f"SELECT rowid FROM {table} NOT INDEXED WHERE rowid > ? ORDER BY rowid LIMIT ?"
    query = f"SELECT count(*), max(rowid) FROM ({rows})"
    count, last = connection.exec_driver_sql(query, (after, ROWS_AHEAD)).one()
    return last if count == ROWS_AHEAD else None


def create_extras(connection: Connection) -> None:
    """Create what the schema does not describe: full text with its triggers, the index of word lists."""
    for statement in (*_FULL_TEXT, _WORD_LISTS):
        connection.exec_driver_sql(statement)


def full_text_matches(query: str) -> tuple[str, dict[str, str]]:
    """The SQL condition on `message` and its parameters for a words query.

    Words are joined by AND; a word ending in `*` matches as a prefix; quoted words match as a
    phrase. No other operator of FTS5 is passed on, so no query is a syntax error.
    """
    terms: list[str] = []
    for phrase, word in re.findall(r'"([^"]*)"|(\S+)', query):
        found = _WORD.findall(phrase or word)
        if found:
            prefix = "*" if word.endswith("*") else ""
            terms.append('"' + " ".join(found) + '"' + prefix)
    condition = (
        "message.number IN (SELECT rowid FROM message_fts WHERE message_fts MATCH :full_text)"
    )
    return condition, {"full_text": " AND ".join(terms)}


def _interruptible(_status: int, _remaining: int, _total: int) -> None:
    """Called between the parts of a backup: Ctrl-C is seen by Python code only."""


def backup(engine: Engine, target: Path) -> None:
    """Copy the database while it is in use, through SQLite's online backup."""
    with engine.connect() as connection:
        source = connection.connection.driver_connection
        assert isinstance(source, sqlite3.Connection)
        copy = sqlite3.connect(target)
        try:
            source.backup(copy, pages=1024, progress=_interruptible)
        finally:
            copy.close()


def scrub(engine: Engine) -> None:
    """Leave no byte of deleted rows: rebuild full text, rewrite the file, empty the WAL."""
    with closing(engine.raw_connection()) as connection, closing(connection.cursor()) as cursor:
        # Past SQLAlchemy, which would begin a transaction: VACUUM refuses to run in one.
        cursor.execute("INSERT INTO message_fts(message_fts) VALUES ('rebuild')")
        cursor.execute("VACUUM")
        busy, *_ = cast(
            "tuple[int, int, int]", cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        )
        if busy:
            raise StoreBusy(
                "what was deleted may still be read in the files: another process was reading the "
                "database for longer than 10 s. The next opening finishes it."
            )


def check_file(path: Path) -> None:
    """Refuse a file that is not an intact SQLite database, without touching it.

    Raises:
        StoreCorrupt: The header is wrong or the schema cannot be read.
    """
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        connection = sqlite3.connect(read_only_uri(path), uri=True, timeout=10)
        try:
            connection.execute("SELECT name FROM sqlite_master").fetchall()
        finally:
            connection.close()
    except sqlite3.DatabaseError as exc:
        if "locked" in str(exc) or "readonly" in str(exc) or "unable to open" in str(exc):
            return
        raise StoreCorrupt(
            f"cannot open {path}: it is damaged or not a database ({exc}). Nothing was changed. "
            f"Restore a copy from {path.parent / 'backups'}, or move the file away to start anew."
        ) from exc


def integrity(connection: Connection) -> str:
    """`ok`, or what SQLite's quick check found wrong."""
    return str(connection.exec_driver_sql("PRAGMA quick_check(5)").scalar_one())
