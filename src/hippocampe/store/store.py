"""The door of the store: open, upgrade, transactions, backup. Rows live in the sibling modules.

Invariants: one writer at a time in this process; a write transaction is acknowledged only once it
is durable; foreign errors leave here as `StoreError`.
"""

import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from sqlalchemy import Connection, event, inspect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from hippocampe import output, page_cache
from hippocampe.errors import (
    InvalidInput,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreReadOnly,
    StoreTooNew,
)
from hippocampe.store import schema, sqlite


class Store:
    """One database.

    Args:
        path: The file of the database.
        folder: The data folder, in which backups are kept.
        read_only: Change nothing; for a process beside the one that writes.
    """

    def __init__(self, path: Path, folder: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.folder = folder
        self.read_only = read_only
        self.engine = sqlite.make_engine(path, read_only=read_only)
        self._writing = threading.RLock()
        self.copying = threading.Lock()
        """Held while a backup is made, and by an erasure, which must reach every backup."""

    @classmethod
    def open(cls, path: Path, folder: Path, *, read_only: bool = False) -> "Store":
        """Open a database, creating or upgrading its tables as needed.

        Args:
            path: The file of the database.
            folder: The data folder, in which backups are kept.
            read_only: Create and upgrade nothing.

        Raises:
            StoreCorrupt: The file is damaged or is no database.
            StoreTooNew: A later version wrote it.
            StoreReadOnly: It cannot be written; with `read_only`, it cannot be read without writing.
            StoreMissing: With `read_only`: there is no database.
        """
        store = cls(path, folder, read_only=read_only)
        try:
            if read_only:
                store._check_readable()
                return store
            sqlite.check_file(path)
            store.remove_partial_backups()
            store._upgrade()
        except BaseException:
            store.close()
            raise
        return store

    @contextmanager
    def read(self, *, whole: bool = False) -> Generator[Connection]:
        """A consistent view; nothing is written.

        Args:
            whole: Tables are read from end to end, so what was read is not kept in memory.
        """
        with (
            translated(),
            self.engine.connect() as connection,
            connection.begin(),
            sqlite.undisturbed(connection) if self.read_only else nullcontext(),
            sqlite.unmapped(connection) if whole else nullcontext(),
        ):
            yield connection

    @contextmanager
    def write(self, *, durable: bool = True) -> Generator[Connection]:
        """A transaction, committed and durable when the block ends without an error.

        Args:
            durable: If not, a power cut may undo it, but never without all that came after.

        Raises:
            StoreReadOnly: The store was opened read-only.
        """
        self.check_writable()
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
        if not page_cache.fits(self.path.stat().st_size):
            return
        for table in sqlite.READ_AHEAD:
            after: int | None = 0
            while after is not None and not stop():
                with self.read(whole=True) as connection:
                    after = sqlite.read_rows(connection, table, after)

    def backup(self, target: Path, *, overwrite: bool = False) -> Path:
        """Copy the database while it is in use.

        Args:
            target: The file of the copy; its folder is made if missing.
            overwrite: Replace a file that exists.

        Raises:
            InvalidInput: The file exists, or is one of the data folder's own.
            StoreError: The copy cannot be written.
        """
        with translated(), self.copying:
            target.parent.mkdir(parents=True, exist_ok=True)
            with output.whole_file(target, folder=self.folder, overwrite=overwrite) as partial:
                sqlite.backup(self.engine, partial)
        return target

    def remove_partial_backups(self) -> None:
        """Remove what a process that died left of its backup: an erasure would not reach it."""
        with translated():
            for path in (self.folder / "backups").glob(f"*{output.PARTIAL}*"):
                path.unlink(missing_ok=True)

    def backups(self) -> list[Path]:
        """The backups made in the data folder, oldest first."""
        return sorted((self.folder / "backups").glob("*.db"))

    def scrub(self) -> None:
        """Make what was deleted unreadable in the files too.

        Raises:
            StoreBusy: Another process is reading; some of it may still be in the files.
        """
        self.check_writable()
        with self._writing, translated():
            sqlite.scrub(self.engine)

    def integrity(self) -> str:
        """`ok`, or what the database itself reports as damaged."""
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

    def check_writable(self) -> None:
        """Raise `StoreReadOnly` if the store was opened read-only."""
        if self.read_only:
            raise StoreReadOnly(
                f"cannot write: the data in {self.folder} was opened read-only. Write in the process that "
                "holds the folder, or open it without read_only once no process does."
            )

    def _check_readable(self) -> None:
        check_exists(self.path, self.folder)
        try:
            current = self.revision()
        except StoreReadOnly as exc:
            raise StoreReadOnly(
                f"cannot read the data in {self.folder}: a program that wrote to it was killed, and what it "
                "wrote last can only be read where files can be written. Make the folder writable, or "
                "copy it to one that is."
            ) from exc
        if current is None:
            raise _missing(self.folder)
        if current > schema.REVISION:
            self._refuse_later(current)
        if current < schema.REVISION:
            raise StoreReadOnly(
                f"cannot read the data in {self.folder}: it was written by an earlier version (schema {current}, "
                f"this version reads {schema.REVISION}). Open it once without read_only, which upgrades it."
            )

    def _refuse_later(self, current: str) -> NoReturn:
        raise StoreTooNew(
            f"cannot open the data in {self.folder}: it was written by a later version (schema {current}, "
            f"this version knows {schema.REVISION}). Nothing was changed. Install that version again, or "
            f"restore a backup made before the upgrade from {self.folder / 'backups'}."
        )

    def _upgrade(self) -> None:
        current = self.revision()
        if current == schema.REVISION:
            return
        if current is not None and current > schema.REVISION:
            self._refuse_later(current)
        if current is not None:
            stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
            self.backup(self.folder / "backups" / f"before-{schema.REVISION}-{stamp}.db")
        from hippocampe.store import migrate

        with self.write() as connection:
            migrate.upgrade(connection)


def check_exists(database: Path, folder: Path) -> None:
    """Raise `StoreMissing` if a folder has no database."""
    if not (database.is_file() and database.stat().st_size):
        raise _missing(folder)


def _missing(folder: Path) -> StoreMissing:
    return StoreMissing(
        f"no Hippocampe data in {folder}: nothing was created. Check the path, or write something first."
    )


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
