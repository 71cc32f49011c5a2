"""One database: open, upgrade, transactions, backup. The queries are in the sibling modules.

Invariants: one writer at a time in this process; a write returns only once it is durable; errors of
the database are raised as `StoreError`.
"""

import threading
from collections.abc import Callable, Collection, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Self
from weakref import WeakMethod

from sqlalchemy import Connection, Engine, event, inspect
from sqlalchemy.pool import ConnectionPoolEntry

from hippocampe.cells import Divided, folder_of, located
from hippocampe.errors import (
    StoreError,
    StoreMissing,
    StoreReadOnly,
    StoreTooNew,
)
from hippocampe.store import replies, schema, sqlite
from hippocampe.store.translation import translated
from hippocampe.system import atomic_file, free_space, page_cache, private
from hippocampe.system.free_space import FLOOR, RESERVE
from hippocampe.system.local_socket import DIVISION

BACKUPS = "backups"
"""Name of the folder of backups in the data folder."""


class Store:
    """One database, in a file of SQLite; `postgres.PostgresStore` is one in PostgreSQL.

    Args:
        folder: The data folder, which contains the backups.
        read_only: Change no file; for a process beside the owner.
        clock: Returns the current time, aware; default: the clock of the system.
    """

    shared = False
    """True if other processes write to the database too."""
    sender: str | None = None
    """The name of this process for the others; None if there are none."""

    def __init__(
        self,
        path: Path,
        folder: Path,
        *,
        read_only: bool = False,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.path = path
        self.folder = folder
        self.read_only = read_only
        self.now = clock or partial(datetime.now, UTC)
        self.memory_changes = 0
        """Changes of this process to memories: what was cached before the last one is stale."""
        self.created = False
        """True if this opening created the tables."""
        self.engine = self._make_engine()
        self.watchers: list[WeakMethod[Callable[[Collection[str] | None], None]]] = []
        """Called after a commit of this process with the ids of the rows that it changed, before its writer goes on;
        None: any may have changed."""
        self._changed = set[str]()
        self._inode: int | None = None
        """The number of the file of SQLite that this store writes."""
        self._writing = threading.RLock()
        self._closed = False
        self.copying = threading.Lock()
        """Held by backups, and by erasures, which must reach every backup."""

    def _make_engine(self) -> Engine:
        return sqlite.make_engine(self.path, read_only=self.read_only)

    @classmethod
    def open(
        cls,
        path: Path,
        folder: Path,
        *,
        read_only: bool = False,
        clock: Callable[[], datetime] | None = None,
    ) -> "Store":
        """Open a database; create or upgrade its tables if needed.

        Args:
            read_only: Neither create nor upgrade.

        Raises:
            StoreCorrupt: The file is damaged or not a database.
            StoreTooNew: A later version wrote it.
            StoreReadOnly: It cannot be written; with `read_only`: it cannot be read without writing.
            StoreMissing: With `read_only`: there is no database.
        """
        return cls(path, folder, read_only=read_only, clock=clock).opened()

    def opened(self) -> Self:
        """Create or upgrade the tables if needed, and return the store; close it if that fails."""
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise
        return self

    def _prepare(self) -> None:
        """Check the file, or create it, and upgrade its tables."""
        if self.read_only:
            self._check_readable()
            return
        if not self.path.exists():
            private.make_file(self.path)
        sqlite.check_file(self.path)
        self._inode = self.path.stat().st_ino
        self.remove_partial_backups()
        self._upgrade()

    @contextmanager
    def read(self, *, whole: bool = False) -> Generator[Connection]:
        """A read transaction: a consistent view. Reading `whole` tables bypasses the memory map."""
        with (
            translated(),
            self.engine.connect() as connection,
            connection.begin(),
            sqlite.undisturbed(connection) if self.read_only else nullcontext(),
            sqlite.unmapped(connection) if whole else nullcontext(),
        ):
            yield connection

    @contextmanager
    def write(self, *, durable: bool = True, from_reserve: bool = False) -> Generator[Connection]:
        """A write transaction, committed and durable when the block ends without an error.

        Args:
            durable: If false, a power cut may undo it, together with all later transactions.
            from_reserve: Whether it may use the reserve of the disk, because it removes something or
                completes what is stored.

        Raises:
            StoreReadOnly: The store was opened read-only.
            StoreFull: The disk has too little free space.
            StoreError: The file is gone from the folder, or the store was closed.
        """
        self.check_writable()
        claim = replies.CLAIM.get()
        if claim is not None and (claim.committed or claim.database != self.path):
            claim = None
        with self._only_writer(), translated(), self._write(durable, from_reserve) as connection:
            yield connection
            if claim is not None:
                replies.put(connection, claim)
        if claim is not None:
            claim.committed = True

    @contextmanager
    def _only_writer(self) -> Generator[None]:
        """Wait for the writers of this process; refuse a call that began before the store was closed."""
        with self._writing:
            if self._closed:
                raise StoreError("this Hippocampe was closed: open the data folder again.")
            yield

    @contextmanager
    def _write(self, durable: bool, from_reserve: bool) -> Generator[Connection]:
        self.check_in_place()
        free_space.check(self.folder, keep=FLOOR if from_reserve else RESERVE)
        options: dict[str, Any] = {"writing": True, "durable": durable}
        with self.engine.connect().execution_options(**options) as connection:
            self._changed.clear()
            watched = bool(self.watchers) and sqlite.watch(connection, self._changed.add)
            with connection.begin():
                yield connection
            if self._changed or not watched:
                for each in self.watchers:
                    if (tell := each()) is not None:
                        tell(self._changed if watched else None)

    def identity(self) -> str:
        """The name of a shared database, which its index has too."""
        return ""

    def check_space(self, space: str) -> None:
        """Check that the store can have a space of this name.

        Raises:
            InvalidInput: It cannot.
        """

    @contextmanager
    def fenced(self, space: str | None) -> Generator[None]:
        """Let the transactions of a call see the rows of one space only; None for all.

        A second fence of databases that many tenants share: here, every query names its space.
        """
        yield

    def alone(self) -> AbstractContextManager[object]:
        """Block the writers of this process. SQLite has no others."""
        return self.exclusive()

    def scheduling(self) -> AbstractContextManager[object]:
        """Block the other processes that look at the schedule of jobs: here is none."""
        return nullcontext()

    def filling(self) -> AbstractContextManager[bool]:
        """Keep other processes from filling the index, unless one does so already: here is none.

        Returns:
            Whether no other process fills it.
        """
        return nullcontext(True)

    @contextmanager
    def exclusive(self, *, wait: bool = True) -> Generator[bool]:
        """Block the other writers of this process during several transactions.

        Args:
            wait: Whether to wait for the writers of other processes: here is none.

        Returns:
            Whether no other process writes.
        """
        with self._writing:
            yield True

    def read_ahead(self, *, stop: Callable[[], bool]) -> None:
        """Load the rows that recall reads into the page cache, until `stop` returns true.

        Through SQLite only: closing any other handle of the file would drop the locks of SQLite's
        connections in this process ("How To Corrupt An SQLite Database File", 2.2). Another process
        that closes the database would then remove the WAL that this one uses.
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
            target: The file of the copy; its folder is created if missing.
            overwrite: Whether to replace an existing file.

        Raises:
            InvalidInput: The file exists, or belongs to the data folder.
            StoreFull: The disk has no room for it.
            StoreError: The copy cannot be written, or the data folder is gone.
        """
        self.check_in_place()
        with translated(), self.copying:
            private.make_folder(target.parent)
            free_space.check(target.parent, self.path.stat().st_size)
            whole = atomic_file.whole_file(target, folder=self.folder, overwrite=overwrite)
            with whole as partial, self.read() as connection:
                sqlite.backup(connection, partial)
        return target

    def backup_before(self, change: str) -> None:
        """Copy the database to the backups, before a change of its form.

        Args:
            change: The change, as a part of the file's name.

        Raises:
            StoreFull: The disk has no room for it.
            StoreError: The copy cannot be written.
        """
        # Microseconds: an interrupted change may be repeated at once.
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        self.backup(self.folder / BACKUPS / f"before-{change}-{stamp}.db")

    def remove_partial_backups(self) -> None:
        """Remove unfinished backups of killed processes: an erasure would not reach them."""
        root, cell = located(self.folder) or (self.folder, 0)
        folders = [self.folder / BACKUPS, *(folder_of(each, cell) for each in _whole_backups(root))]
        with translated():
            for folder in folders:
                for path in folder.glob(f"*{atomic_file.PARTIAL}*"):
                    # An unfinished backup of all cells is a folder, and another process may be filling it.
                    if not path.is_dir():
                        path.unlink(missing_ok=True)

    def backups(self) -> list[Path]:
        """The backups in the data folder, oldest first."""
        return sorted(each for each in (self.folder / BACKUPS).glob("*.db") if each.is_file())

    def whole_backups(self, space: str) -> dict[Path, list[Path]]:
        """The backups of all cells in the data folder, unfinished ones too, with their databases that know a space.

        Raises:
            StoreError: The division of one cannot be read.
        """
        root, _ = located(self.folder) or (self.folder, 0)
        found: dict[Path, list[Path]] = {}
        for backup in _whole_backups(root):
            division = Divided(backup).read()
            # The first cell has the keys of all spaces.
            cells = {0, division.cell_of(space), division.stale.get(space, 0)}
            if atomic_file.PARTIAL in backup.name:
                # The space may have moved since the division was copied.
                cells.update(range(division.count))
            databases = [folder_of(backup, cell) / self.path.name for cell in sorted(cells)]
            found[backup] = [path for path in databases if path.exists()]
        return found

    def scrub(self) -> None:
        """Overwrite deleted data in the files.

        Raises:
            StoreBusy: Another process is reading; erased data may still be in the files.
            StoreFull: The disk has no room for the temporary second copy.
        """
        self.check_writable()
        free_space.check(self.folder, self.path.stat().st_size, keep=FLOOR)
        with self._only_writer(), translated():
            sqlite.scrub(self.engine)

    def rewrite(self) -> tuple[str, ...]:
        """Write all tables again, without the bytes of deleted rows; return where some are left even so."""
        self.scrub()
        return ()

    def erased(self, space: str, mark: str) -> None:
        """Tell other processes that rows of a space were erased: here is none.

        Args:
            mark: That of the erasure; see `last_erasure`.
        """

    def last_erasure(self, connection: Connection) -> str | None:
        """The mark of the last erasure by any process; none follows before the transaction ends."""
        return None

    def remains(self) -> tuple[str, ...]:
        """The places where bytes of erased rows are left after `scrub`, see `Receipt.remains`: none."""
        return ()

    def holds(self, forms: Collection[str]) -> tuple[str, ...]:
        """The tables with a row that contains one of some texts; none here, where the files are searched."""
        return ()

    def names(self) -> tuple[str, ...]:
        """The texts of the program in the files of the folder: its tables, columns, indexes and marks."""
        with self.read() as connection:
            return sqlite.names(connection)

    def integrity(self) -> str:
        """`ok`, or the damage that the database reports."""
        with self.read() as connection:
            return sqlite.integrity(connection)

    def rebuild_indexes(self) -> None:
        """Rebuild the indexes of all tables, because one may be damaged."""
        with self.write() as connection:
            connection.exec_driver_sql("REINDEX")

    def close(self) -> None:
        """Close all connections; those in use are closed when returned.

        A write under way ends first: no later one reaches a file that may have another owner.
        """
        with self._writing:
            event.listen(self.engine, "checkin", _invalidate)
            self._closed = True
            self.engine.dispose()

    def revision(self) -> str | None:
        """The migration of the tables; None for an empty database."""
        with self.read() as connection:
            return revision_of(connection)

    def check_writable(self) -> None:
        """Raise `StoreReadOnly` if the store was opened read-only."""
        if self.read_only:
            raise StoreReadOnly(
                f"cannot write: the data in {self.folder} was opened read-only. Write in the process that "
                "holds the folder, or open it without read_only once no process does."
            )

    def check_in_place(self) -> None:
        """Check that the file is still in the folder: a write to one that was removed would be lost, without an error.

        Raises:
            StoreError: It was moved, removed or replaced, or its disk is gone.
        """
        if self._inode is None:
            return
        with suppress(OSError):
            if self.path.stat().st_ino == self._inode:
                return
        raise StoreError(
            f"{self.path} was moved, removed or replaced while it was open, so nothing is written. Put it back, or "
            "stop the programs that use the folder and start them again."
        )

    def _check_readable(self) -> None:
        check_exists(self.path, self.folder)
        try:
            current = self.revision()
        except StoreReadOnly as exc:
            self._check_permissions()
            raise StoreReadOnly(
                f"cannot read the data in {self.folder}: a program was killed while it wrote, and its last "
                "writes can only be recovered in a writable folder. Make the folder writable, or "
                "copy it to one that is."
            ) from exc
        if current is None:
            raise _missing(self.folder)
        self._check_known(current)
        if current < schema.REVISION:
            raise StoreReadOnly(
                f"cannot read the data in {self.folder}: it was written by an earlier version (schema {current}, "
                f"this version reads {schema.REVISION}). Open it once without read_only, which upgrades it."
            )

    def _check_permissions(self) -> None:
        for path in self.folder.glob(f"{self.path.name}*"):
            try:
                path.open("rb").close()
            except OSError as exc:
                raise StoreError(
                    f"cannot read {path}: {exc.strerror}. Change its owner or its permissions, or run this as its owner."
                ) from exc

    def _check_known(self, current: str) -> None:
        if current > schema.REVISION and self.shared:
            raise StoreTooNew(
                f"cannot open the database: it was written by a later version (schema {current}, this version knows "
                f"{schema.REVISION}). Nothing was changed. Install that version again, or restore a dump of the "
                "database made before the upgrade."
            )
        if current > schema.REVISION:
            raise StoreTooNew(
                f"cannot open the data in {self.folder}: it was written by a later version (schema {current}, "
                f"this version knows {schema.REVISION}). Nothing was changed. Install that version again, or "
                f"restore a backup made before the upgrade from {self.folder / 'backups'}."
            )

    def _upgrade(self) -> None:
        """Create the tables of an empty database, or upgrade them."""
        current = self.revision()
        if current == schema.REVISION:
            return
        from hippocampe.store import migrate

        if current is not None:
            self._check_known(current)
            self.backup_before(schema.REVISION)
        with self.write() as connection:
            self._wait_to_upgrade(connection)
            current = revision_of(connection)
            if current is None:
                self._create_tables(connection)
                migrate.stamp(connection)
                self.created = True
            elif current != schema.REVISION:
                migrate.upgrade(connection, current)

    def _wait_to_upgrade(self, connection: Connection) -> None:
        """Wait for the other processes that upgrade the tables: here is none."""

    def _create_tables(self, connection: Connection) -> None:
        sqlite.create_tables(connection)


def _whole_backups(root: Path) -> list[Path]:
    """The backups of all cells in a data folder, which are divided folders themselves."""
    return sorted(each.parent for each in (root / BACKUPS).glob(f"*/{DIVISION}"))


def revision_of(connection: Connection) -> str | None:
    """The migration of the tables of a database; None for an empty one."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    row = connection.exec_driver_sql("SELECT version_num FROM alembic_version").first()
    return row[0] if row else None


def delete(database: Path) -> None:
    """Delete a database that is not open, with the files beside it."""
    for suffix in atomic_file.FILE_SUFFIXES:
        database.with_name(database.name + suffix).unlink(missing_ok=True)


def check_exists(database: Path, folder: Path) -> None:
    """Raise `StoreMissing` if a folder has no database."""
    if not (database.is_file() and database.stat().st_size):
        raise _missing(folder)


def _missing(folder: Path) -> StoreMissing:
    return StoreMissing(
        f"no Hippocampe data in {folder}: nothing was created. Check the path, or write something first."
    )


def _invalidate(_connection: Any, entry: ConnectionPoolEntry) -> None:
    entry.invalidate()
