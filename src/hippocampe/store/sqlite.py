"""What only SQLite needs: pragmas, real transactions, full text, backup, physical erasure."""

import json
import re
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url

from hippocampe.errors import StoreCorrupt

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


def make_engine(url: str, *, read_only: bool = False) -> Engine:
    """An engine whose transactions begin when SQLAlchemy says so.

    Write transactions take the write lock at once (`BEGIN IMMEDIATE`): one that reads first and
    writes later would otherwise fail with "database is locked" instead of waiting.

    Args:
        read_only: For a second process, which then can neither change the file nor, when it closes
            it, remove the log of changes of the first.
    """
    creator: dict[str, Any] = {}
    if read_only:
        file = Path(make_url(url).database or "").resolve().as_uri() + "?mode=ro"
        creator["creator"] = lambda: sqlite3.connect(file, uri=True, check_same_thread=False)
    # The connection used last has the warmest cache.
    engine = create_engine(
        url,
        pool_size=20,
        max_overflow=40,
        pool_use_lifo=True,
        # As it is written, so that who looks for a name in the file finds it.
        json_serializer=partial(json.dumps, ensure_ascii=False),
        **creator,
    )

    @event.listens_for(engine, "connect")
    def _connect(connection: sqlite3.Connection, _record: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA secure_delete = ON")
        cursor.execute("PRAGMA temp_store = MEMORY")
        cursor.execute("PRAGMA cache_size = -16384")
        cursor.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
        cursor.close()

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


@contextmanager
def unmapped(connection: Connection) -> Generator[None]:
    """Read past the memory map, whose pages stay in the process once they were read."""
    connection.exec_driver_sql("PRAGMA mmap_size = 0")
    try:
        yield
    finally:
        connection.exec_driver_sql(f"PRAGMA mmap_size = {MAPPED_BYTES}")
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
    """Create what has no portable form: full text with its triggers, the index of word lists."""
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


def backup(engine: Engine, target: Path) -> None:
    """Copy the database while it is in use, through SQLite's online backup."""
    with engine.connect() as connection:
        source = connection.connection.driver_connection
        assert isinstance(source, sqlite3.Connection)
        copy = sqlite3.connect(target)
        try:
            source.backup(copy, pages=1024)
        finally:
            copy.close()


def scrub(engine: Engine) -> None:
    """Leave no byte of deleted rows: rebuild full text, rewrite the file, empty the WAL."""
    with closing(engine.raw_connection()) as connection, closing(connection.cursor()) as cursor:
        # Past SQLAlchemy, which would begin a transaction: VACUUM refuses to run in one.
        cursor.execute("INSERT INTO message_fts(message_fts) VALUES ('rebuild')")
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def check_file(path: Path) -> None:
    """Refuse a file that is not an intact SQLite database, without touching it.

    Raises:
        StoreCorrupt: The header is wrong or the schema cannot be read.
    """
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
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
