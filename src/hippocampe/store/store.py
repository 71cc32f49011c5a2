"""The door of the store: open, upgrade, transactions, backup. Rows live in the sibling modules.

Invariants: one writer at a time in this process; a write transaction is acknowledged only once it
is durable; foreign errors leave here as `StoreError`.
"""

import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from hippocampe import page_cache
from hippocampe.errors import (
    InvalidInput,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
)
from hippocampe.store import schema, sqlite


class Store:
    """One database.

    Args:
        url: An SQLAlchemy URL.
        folder: Where backups are kept.
        read_only: For a process beside the one that writes.
    """

    def __init__(self, url: str, folder: Path, *, read_only: bool = False) -> None:
        self.url = url
        self.folder = folder
        self.is_sqlite = url.startswith("sqlite")
        self.engine: Engine = (
            sqlite.make_engine(url, read_only=read_only) if self.is_sqlite else create_engine(url)
        )
        self._writing = threading.RLock()

    @classmethod
    def open(cls, url: str, folder: Path) -> "Store":
        """Open a database, creating or upgrading its tables as needed.

        Raises:
            StoreCorrupt: The file is damaged or is no database.
            StoreTooNew: A later version wrote it.
            StoreReadOnly: It cannot be written.
        """
        store = cls(url, folder)
        if store.path is not None:
            sqlite.check_file(store.path)
        try:
            store._upgrade()
        except BaseException:
            store.close()
            raise
        return store

    @property
    def path(self) -> Path | None:
        """The file of an SQLite database."""
        database = self.engine.url.database
        return Path(database) if self.is_sqlite and database else None

    @contextmanager
    def read(self, *, whole: bool = False) -> Generator[Connection]:
        """A consistent view; nothing is written.

        Args:
            whole: Tables are read from end to end, so what was read is not kept in memory.
        """
        with translated(), self.engine.connect() as connection, connection.begin():
            if whole and self.is_sqlite:
                with sqlite.unmapped(connection):
                    yield connection
            else:
                yield connection

    @contextmanager
    def write(self, *, durable: bool = True) -> Generator[Connection]:
        """A transaction, committed and durable when the block ends without an error.

        Args:
            durable: If not, a power cut may undo it, but never without all that came after.
        """
        options: dict[str, Any] = {"writing": True, "durable": durable}
        with (
            self._writing,
            translated(),
            self.engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def exclusive(self) -> Generator[None]:
        """Hold back the other writers of this process around several transactions."""
        with self._writing:
            yield

    def read_ahead(self, *, stop: Callable[[], bool]) -> None:
        """Bring the rows that recall reads into the system's cache, until `stop` says so.

        Through SQLite alone: a process that opens and closes the file by itself gives up all locks
        that it has on it, those of SQLite's connections too ("How To Corrupt An SQLite Database
        File", 2.2). Whoever closes the database in another process then believes to be the last,
        and removes the log of changes under this one.
        """
        path = self.path
        if path is None or not page_cache.fits(path.stat().st_size):
            return
        for table in sqlite.READ_AHEAD:
            after: int | None = 0
            while after is not None and not stop():
                with self.read(whole=True) as connection:
                    after = sqlite.read_rows(connection, table, after)

    def backup(self, target: Path) -> Path:
        """Copy the database while it is in use.

        Raises:
            StoreError: It is no SQLite database (use the server's own tools), or cannot be written.
        """
        if not self.is_sqlite:
            raise StoreError(
                "cannot back up a database server from here: use its own tools, such as pg_dump."
            )
        partial = target.with_suffix(".partial")
        with translated():
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                sqlite.backup(self.engine, partial)
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)
        return target

    def backups(self) -> list[Path]:
        """The backups made in the data folder, oldest first."""
        return sorted((self.folder / "backups").glob("*.db"))

    def remove_partial_backups(self) -> None:
        """Remove what backups that were cut short left, with SQLite's files beside them."""
        with translated():
            for path in (self.folder / "backups").glob("*.partial*"):
                path.unlink(missing_ok=True)

    def scrub(self) -> None:
        """Make what was deleted unreadable in the files too."""
        if self.is_sqlite:
            with self._writing, translated():
                sqlite.scrub(self.engine)

    def integrity(self) -> str:
        """`ok`, or what the database itself reports as damaged."""
        if not self.is_sqlite:
            return "ok"
        with self.read() as connection:
            return sqlite.integrity(connection)

    def close(self) -> None:
        """Let every connection go, those still in use as soon as they come back."""
        event.listen(self.engine, "checkin", _let_go)
        self.engine.dispose()

    def revision(self) -> str | None:
        """The migration the tables are at; None for an empty database."""
        with self.read() as connection:
            if not inspect(connection).has_table("alembic_version"):
                return None
            row = connection.exec_driver_sql("SELECT version_num FROM alembic_version").first()
        return row[0] if row else None

    def _upgrade(self) -> None:
        current = self.revision()
        if current == schema.REVISION:
            return
        if current is not None and current > schema.REVISION:
            raise StoreTooNew(
                f"cannot open the data in {self.folder}: it was written by a later version (schema {current}, "
                f"this version knows {schema.REVISION}). Nothing was changed. Install that version again, or "
                f"restore a backup made before the upgrade from {self.folder / 'backups'}."
            )
        if current is not None and self.is_sqlite:
            stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
            self.backup(self.folder / "backups" / f"before-{schema.REVISION}-{stamp}.db")
        from hippocampe.store import migrate

        with self.write() as connection:
            migrate.upgrade(connection)


def _let_go(_connection: Any, entry: ConnectionPoolEntry) -> None:
    entry.invalidate()


@contextmanager
def translated() -> Generator[None]:
    """Turn the database's errors into ours."""
    try:
        yield
    except PoolTimeout as exc:
        raise StoreBusy(
            "no database connection became free in time: too many calls at once."
        ) from exc
    except DBAPIError as exc:
        raise _translate(str(exc.orig)) from exc
    except sqlite3.Error as exc:
        # From the online backup, which goes past SQLAlchemy.
        raise _translate(str(exc)) from exc
    except UnicodeEncodeError as exc:
        raise InvalidInput(
            "a text given holds a lone surrogate, so nothing is stored under it: decode it with "
            'errors="replace" first.'
        ) from exc
    except OSError as exc:
        raise StoreError(f"the data folder cannot be used: {exc.strerror or exc}.") from exc


def _translate(reason: str) -> StoreError:
    if "locked" in reason or "busy" in reason:
        return StoreBusy(
            "the store stayed locked by another process for 10 s; the write was not made. Close the other "
            "process, or let it finish, and try again."
        )
    if "full" in reason or "No space" in reason:
        return StoreFull("the disk is full; the write was not made. Free some space and try again.")
    if "readonly" in reason or "read-only" in reason or "unable to open" in reason:
        return StoreReadOnly(
            f"the database cannot be written ({reason}). Check the owner and the permissions of the data folder."
        )
    if "malformed" in reason or "not a database" in reason or "corrupt" in reason:
        return StoreCorrupt(
            f"the database is damaged ({reason}). Nothing was overwritten. Restore a copy from the folder's backups."
        )
    return StoreError(f"the database refused the operation: {reason}")
