"""A store in PostgreSQL, shared by many processes.

Nothing lasts longer on a connection than a transaction, so that a pooler may sit between: no session lock, no session
setting, and a prepared statement only where there is no pooler. Each transaction begins in one round trip, which also
names the space whose rows it may see.
"""

import os
import socket
import threading
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from hippocampe.errors import InvalidInput, StoreBusy, StoreError
from hippocampe.store import driver, full_text, locks, meta, postgres_schema, schema
from hippocampe.store.postgres_schema import EVERY, SPACE
from hippocampe.store.schema import MADE
from hippocampe.store.store import Store
from hippocampe.store.translation import translated
from hippocampe.system.command_line import install_line

if TYPE_CHECKING:
    import psycopg

CHANNEL = "hippocampe"
"""The channel on which a commit tells other processes the space that it changed."""
REWRITTEN: Final = ("pages", "segments")
"""Places of erased bytes that `rewrite` empties."""
KEPT: Final = ("log",)
"""Places that only the owner of the servers can empty."""
CONNECTION: Final[Mapping[str, Any]] = {
    "connect_timeout": 5,
    "application_name": "hippocampe",
    "autocommit": True,
    # Also to a database without an encoding, which gives bytes otherwise.
    "client_encoding": "utf8",
    # A peer that vanished, of a machine that failed or behind a firewall that forgot the connection, counts as dead
    # after some ten seconds: by default, the kernel sends again for a quarter of an hour.
    "tcp_user_timeout": 10_000,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
}
"""Options of every connection. `_begin` begins transactions."""
PREPARED_AFTER = 2
"""Executions of a statement by one connection before it is prepared."""
LOCK_SECONDS = 30
"""Longest wait for the writers of other processes."""
LOCK_TIMEOUT = "55P03"
"""The code of the error of a statement that waited for longer."""

_SERVER = "SELECT system_identifier FROM pg_control_system()"
_NUMBER = "SELECT oid FROM pg_database WHERE datname = current_database()"
_NOTIFY = "SELECT pg_notify(%s, %s)"

FENCE: ContextVar[str] = ContextVar("hippocampe_space", default=EVERY)
"""The space whose rows the transactions of this call may see; by default all, for background work."""


def make_engine(url: str, *, prepared: bool) -> Engine:
    """Create an engine whose connections keep no state between transactions but prepared statements.

    Args:
        prepared: Prepare the statements that return. Planning one over all partitions takes longer than executing it, but
            a pooler gives each transaction another connection: through one, they are not prepared.

    Raises:
        InvalidInput: The URL cannot be used, or the driver is not installed.
    """
    # For an operator who looks at the locks or at the statements of the database.
    name = f"hippocampe, process {os.getpid()} on {socket.gethostname()}"
    try:
        parsed = make_url(url).set(drivername="postgresql+psycopg")
        engine = create_engine(
            parsed,
            # Positional parameters, as of SQLite.
            paramstyle="format",
            pool_size=20,
            max_overflow=40,
            pool_use_lifo=True,
            # The server may have closed an idle connection.
            pool_recycle=600,
            connect_args={**CONNECTION, "application_name": name, "prepare_threshold": None},
            json_serializer=schema.to_json,
        )
    except ArgumentError as exc:
        raise InvalidInput(
            "database_url cannot be used: write it as postgresql://user:password@host:port/database."
        ) from exc
    except ModuleNotFoundError as exc:
        raise InvalidInput(
            f"database_url needs the driver of PostgreSQL: {install_line('server-tier')}"
        ) from exc
    if prepared:
        event.listen(engine, "connect", _prepare_on)
    return engine


def _prepare_on(connection: "psycopg.Connection[tuple[int]]", _: object) -> None:
    """Prepare statements on a new connection, unless a pooler is at its other end: it announces another process."""
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    if row == (connection.info.backend_pid,):
        connection.prepare_threshold = PREPARED_AFTER


class PostgresStore(Store):
    """One database in PostgreSQL, shared by many processes.

    Writers of one space wait for each other in all processes, from the reads that a write rests on until the index
    has its changes; writers of different spaces do not.

    Args:
        url: `postgresql://user:password@host:port/database`.
        folder: The folder of this process.
        clock: Returns the current time, aware; default: the clock of the system.
        prepared: See `make_engine`.
    """

    shared = True

    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        clock: Callable[[], datetime] | None = None,
        prepared: bool = False,
    ) -> None:
        self.url = url
        self._prepared = prepared
        super().__init__(folder / CHANNEL, folder, clock=clock)
        self.sender = token_hex(4)
        self._held = threading.local()
        self.views: tuple[str, ...] = ()
        """The statements that make the temporary views through which a past moment is read; see `past`."""

    def _make_engine(self) -> Engine:
        engine = make_engine(self.url, prepared=self._prepared)
        full_text.index_messages(engine)
        return engine

    def _prepare(self) -> None:
        self._check_encoding()
        self._upgrade()

    def _check_encoding(self) -> None:
        """Refuse a database that cannot hold every character.

        Raises:
            StoreError: It has another encoding than UTF-8.
        """
        with translated(), self.engine.connect() as connection:
            encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise StoreError(
                f"the database has the encoding {encoding}, which cannot hold every text. Create one with CREATE "
                "DATABASE … ENCODING 'UTF8' TEMPLATE template0, and name it in database_url."
            )

    @contextmanager
    def read(self, *, whole: bool = False) -> Generator[Connection]:
        """A read transaction: a consistent view."""
        mode = f"ISOLATION LEVEL REPEATABLE READ {'READ WRITE' if self.views else 'READ ONLY'}"
        with translated(), self._transaction(mode) as connection:
            for view in self.views:
                connection.exec_driver_sql(view)
            yield connection
            if self.views:
                # With them.
                connection.rollback()

    @contextmanager
    def _write(self, durable: bool, from_reserve: bool) -> Generator[Connection]:
        mode, space = "ISOLATION LEVEL READ COMMITTED READ WRITE", FENCE.get()
        more = "" if durable else "SET LOCAL synchronous_commit = off;"
        inside = getattr(self._held, "depth", 0) > 0
        if space != EVERY and not inside:
            more += f" {locks.waiting_for_writers(space)};"
        with self._transaction(mode, more) as connection:
            yield connection
            if durable and (inside or space != EVERY):
                changed = {"changed": None if space == EVERY else space}
                connection.exec_driver_sql(_NOTIFY, self._notice(changed))

    def tell(self, message: Mapping[str, Any]) -> None:
        """Tell the other processes something; see `listening`."""
        with translated():
            # A transaction of its own without BEGIN: each turn tells something.
            self._execute(_NOTIFY, self._notice(message)).close()

    def _notice(self, message: Mapping[str, Any]) -> tuple[str, str]:
        return CHANNEL, schema.to_json({"from": self.sender, **message})

    @contextmanager
    def _transaction(self, mode: str, more: str = "") -> Generator[Connection]:
        with self._patient():
            connection = self._begin(mode, more)
            try:
                yield connection
                connection.commit()
            except BaseException:
                with suppress(DBAPIError):
                    connection.rollback()
                raise
            finally:
                connection.close()

    @contextmanager
    def _patient(self) -> Generator[None]:
        """Name the process that held a lock for so long that a statement gave up.

        Raises:
            StoreBusy: There is one.
        """
        try:
            yield
        except DBAPIError as exc:
            if getattr(exc.orig, "sqlstate", None) != LOCK_TIMEOUT:
                raise
            space = None if FENCE.get() == EVERY else FENCE.get()
            with self.engine.connect() as connection:
                # It began to hold the lock before this process began to wait for it.
                found = connection.exec_driver_sql(locks.holding(space, LOCK_SECONDS)).first()
            if found is None:
                raise
            name, number = found
            raise StoreBusy(
                f"{name} has kept other writers waiting for {LOCK_SECONDS} s in the middle of a write, so nothing was "
                "changed: it is suspended, or very busy. Resume or stop it, or end its transaction in the database with "
                f"SELECT pg_terminate_backend({number}), and try again."
            ) from exc

    def _begin(self, mode: str, more: str) -> Connection:
        space = FENCE.get()
        quoted = space.replace("'", "''")
        lock = f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'"
        # One round trip; without parameters, the driver sends several statements at once.
        statement = f"BEGIN {mode}; {lock}; SET LOCAL {SPACE} = '{quoted}'; {more}"
        connection = self._execute(statement.replace("%", "%%"))
        connection.info[driver.SPACE] = None if space == EVERY else space
        return connection

    def _execute(self, statement: str, parameters: tuple[str, ...] | None = None) -> Connection:
        """Execute a statement on a connection of the pool, and return the connection."""
        for last in (False, True):
            connection = self.engine.connect()
            try:
                connection.exec_driver_sql(statement, parameters)
                return connection
            except BaseException as exc:
                connection.close()
                # The server was restarted: the pool drops its connections, and the next one is new.
                if last or not (isinstance(exc, DBAPIError) and exc.connection_invalidated):
                    raise
        raise AssertionError

    def identity(self) -> str:
        """The name of the database among all: another one than that of the database that it was restored from."""
        with self.read() as connection:
            server = connection.exec_driver_sql(_SERVER).scalar_one()
            number = connection.exec_driver_sql(_NUMBER).scalar_one()
        return f"{server} {number}"

    def keeps_spaces_apart(self) -> bool:
        """Return whether the database itself does: row-level security does not restrict superusers."""
        query = "SELECT NOT (rolsuper OR rolbypassrls) FROM pg_roles WHERE rolname = current_user"
        with translated(), self.engine.connect() as connection:
            return bool(connection.exec_driver_sql(query).scalar_one())

    def check_space(self, space: str) -> None:
        """Refuse the name that would open all rows; see `Store.check_space`."""
        if space == EVERY:
            raise InvalidInput(
                f"a space must not be named {EVERY} on PostgreSQL, where it means all spaces: use another name."
            )

    @contextmanager
    def fenced(self, space: str | None) -> Generator[None]:
        """Let the transactions of a call see the rows of one space only; None for all."""
        token = FENCE.set(EVERY if space is None else space)
        try:
            yield
        finally:
            FENCE.reset(token)

    @contextmanager
    def alone(self) -> Generator[None]:
        """Block the other writers of this process only."""
        with self._writing:
            yield

    @contextmanager
    def exclusive(self, *, wait: bool = True) -> Generator[bool]:
        """Block the other writers of the space, in all processes, during several transactions.

        Work on all spaces blocks all writers. A second connection holds the lock: one transaction of the work may end
        before the lock does.

        Args:
            wait: Whether to wait for the writers of other processes. One that is frozen holds its lock for as long.

        Returns:
            Whether no other process writes; true if it waited.
        """
        with self._writing:
            depth: int = getattr(self._held, "depth", 0)
            self._held.depth = depth + 1
            try:
                if depth:
                    yield True
                else:
                    space = None if FENCE.get() == EVERY else FENCE.get()
                    with self._holding(locks.waiting_for_writers(space) if wait else "") as holding:
                        with translated():
                            trying = locks.trying_to_write(space)
                            alone = wait or holding.exec_driver_sql(trying).scalar_one()
                        yield alone
            finally:
                self._held.depth = depth

    def scheduling(self) -> AbstractContextManager[object]:
        """Block the other processes that look at the schedule of jobs."""
        return self._holding(locks.WAITING_TO_SCHEDULE)

    @contextmanager
    def filling(self) -> Generator[bool]:
        """Keep other processes from filling the index, unless one does so already; see `Store.filling`.

        A server that ends idle transactions ends the lock too. Two fillings at once are slow and harmless.
        """
        with self._holding() as connection:
            with translated():
                alone = connection.exec_driver_sql(locks.TRYING_TO_FILL).scalar_one()
            yield alone

    @contextmanager
    def _holding(self, waiting: str = "") -> Generator[Connection]:
        """Hold a lock, which a statement waits for, on a connection of its own."""
        with translated(), self._patient():
            connection = self._begin("", waiting)
        try:
            yield connection
        finally:
            with suppress(DBAPIError):
                connection.rollback()
            connection.close()

    def backup(self, target: Path, *, overwrite: bool = False) -> Path:
        """Refuse: the server's own tools copy it consistently.

        Raises:
            InvalidInput: Always.
        """
        raise InvalidInput(
            "a database in PostgreSQL is not copied to a file of SQLite: use pg_dump or the backups of the server, "
            "or `hippocampe migrate --to FOLDER`."
        )

    def backup_before(self, change: str) -> None:
        """Do nothing: the server has its backups."""

    def integrity(self) -> str:
        """`ok`: the server checks its pages when it reads them."""
        return "ok"

    def rebuild_indexes(self) -> None:
        """Rebuild the indexes of all tables."""
        self._each_table("REINDEX TABLE")

    def scrub(self) -> None:
        """Remove dead rows from the tables and their indexes, while others read and write."""
        self._each_table("VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF)")

    def erased(self, space: str, mark: str) -> None:
        """Tell the other processes, which drop what they hold of the space in memory."""
        self.tell({"erased": space, "mark": mark})

    def last_erasure(self, connection: Connection) -> str | None:
        """The mark of the last erasure by any process; none follows before the transaction ends."""
        if getattr(self._held, "depth", 0) == 0:
            connection.exec_driver_sql(locks.WAITING_FOR_ERASURES)
        return meta.get(connection, meta.LAST_ERASURE)

    def rewrite(self) -> tuple[str, ...]:
        """Write all tables and their indexes again, without the bytes of deleted rows. Each table waits meanwhile."""
        self._each_table("VACUUM (FULL)")
        return KEPT

    def remains(self) -> tuple[str, ...]:
        """The places where bytes of erased rows are left."""
        return (*REWRITTEN, *KEPT)

    def names(self) -> tuple[str, ...]:
        """The texts of the program in the files of the folder: none, since the database is elsewhere."""
        return ()

    def holds(self, forms: Collection[str]) -> tuple[str, ...]:
        """The tables with a row that contains one of some texts, other than as a part of an id or a digest."""
        found: list[str] = []
        with self.read() as connection:
            for table in schema.metadata.sorted_tables:
                # A row as text, whatever its columns.
                query = (
                    f"SELECT 1 FROM {table.name} AS one, unnest(CAST(%s AS text[])) AS form WHERE"
                    " strpos(CAST(one AS text), form) > 0 AND (form ~ %s"
                    " OR strpos(regexp_replace(CAST(one AS text), %s, ' ', 'g'), form) > 0) LIMIT 1"
                )
                if connection.exec_driver_sql(query, (sorted(forms), MADE, MADE)).first():
                    found.append(f"table {table.name}")
        return tuple(found)

    def _each_table(self, command: str) -> None:
        """Execute a command on each table, outside of a transaction."""
        for table in schema.metadata.sorted_tables:
            with translated(), self.engine.connect() as connection:
                connection.exec_driver_sql(f"{command} {table.name}")

    def _wait_to_upgrade(self, connection: Connection) -> None:
        """Let the first of several processes that start together upgrade the tables."""
        connection.exec_driver_sql(locks.WAITING_TO_UPGRADE)

    def _create_tables(self, connection: Connection) -> None:
        postgres_schema.create(connection)
