"""Translate the errors of the database."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from hippocampe.errors import (
    TOO_MANY_FILES,
    InvalidInput,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    too_many_files,
)
from hippocampe.system import free_space

_FULL = frozenset({"SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"})
"""Names of SQLite's errors of a full disk."""
_FILES = 4
"""Files that SQLite opens to read a database: its own, two beside it, and their folder."""


@contextmanager
def translated() -> Generator[None]:
    """Raise errors of the database as `StoreError`."""
    try:
        yield
    except PoolTimeout as exc:
        raise StoreBusy(
            "no database connection became free in time: too many calls at once."
        ) from exc
    except DBAPIError as exc:
        if exc.connection_invalidated:
            raise StoreError(
                f"the database cannot be reached ({_first_line(exc.orig)}); whether the write was made is not known. "
                "Check that it runs, and try again."
            ) from exc
        raise _translate(exc.orig) from exc
    except sqlite3.Error as exc:
        # The online backup bypasses SQLAlchemy.
        raise _translate(exc) from exc
    except UnicodeEncodeError as exc:
        raise InvalidInput(
            "a given text contains a lone surrogate, which cannot be stored: decode it with "
            'errors="replace" first.'
        ) from exc
    except OSError as exc:
        if exc.errno in TOO_MANY_FILES:
            raise too_many_files() from exc
        raise free_space.refusal(exc, "the data folder cannot be used") from exc
    except Exception as exc:
        # Reads of the hot path bypass it too. The driver of PostgreSQL may be absent, so it is not imported.
        if type(exc).__module__.partition(".")[0] != "psycopg":
            raise
        raise _translate(exc) from exc


def is_full(error: BaseException | None) -> bool:
    """Return whether an error of SQLite is that of a full disk."""
    return getattr(error, "sqlite_errorname", "") in _FULL


def _first_line(error: BaseException | None) -> str:
    return str(error).strip().partition("\n")[0]


def _of_postgres(state: str, reason: str) -> StoreError | None:
    """The error that means a code of PostgreSQL; None for a code without one."""
    match state:
        case "55P03":
            return StoreBusy("other processes wrote for too long; nothing was changed. Try again.")
        case "40001" | "40P01":
            return StoreBusy("another process wrote the same rows; nothing was changed. Try again.")
        case "23505":
            return StoreBusy("another process wrote the same row; nothing was changed. Try again.")
        case "53100":
            return StoreFull(
                "the disk of the database is full; the write was not made. Free some space and try again."
            )
        case "53300":
            return StoreBusy("the database has too many connections. Try again.")
        # The code of what a server cannot do at all, and of writes on a standby.
        case "0A000" if "recovery" not in reason:
            return None
        case "25006" | "0A000":
            return StoreReadOnly("the database is read-only: connect to its primary server.")
        case "42501":
            return StoreError(
                "the user of the database may not use this table, or the row belongs to another space. Let the user of "
                "database_url own the database and its tables."
            )
        case "57014":
            return StoreBusy(
                "the database ended an operation that took longer than its statement_timeout; nothing was changed. Try "
                "again, or raise it for the user of database_url."
            )
        case "57P01":
            return StoreError("the database is being shut down. Try again.")
        case "57P03":
            return StoreError("the database is starting. Try again.")
        case _:
            return None


def _no_file_left() -> bool:
    """Return whether too few files can be opened for a database: SQLite does not say why it opened none."""
    held: list[int] = []
    try:
        for _ in range(_FILES):
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as exc:
        return exc.errno in TOO_MANY_FILES
    finally:
        for each in held:
            os.close(each)
    return False


def _translate(error: BaseException | None) -> StoreError:
    state = getattr(error, "sqlstate", None)
    if state is not None and (known := _of_postgres(state, str(error))) is not None:
        return known
    if state is None and type(error).__module__.startswith("psycopg"):
        if "NUL" in str(error):
            return StoreError("a text contains a NUL character, which PostgreSQL cannot store.")
        return StoreError(
            f"the database cannot be reached ({_first_line(error)}). Check that it runs, and database_url, and try "
            "again."
        )
    reason = str(error)
    if "locked" in reason or "busy" in reason:
        return StoreBusy(
            "another process has locked the database; nothing was changed. Close that process, or let it finish, and "
            "try again."
        )
    if is_full(error):
        return StoreFull("the disk is full; the write was not made. Free some space and try again.")
    if "unable to open" in reason and _no_file_left():
        return too_many_files()
    if "readonly" in reason or "read-only" in reason or "unable to open" in reason:
        return StoreReadOnly(
            f"the database cannot be written ({reason}). Check the owner and the permissions of the data folder."
        )
    if "malformed" in reason or "not a database" in reason or "corrupt" in reason:
        return StoreCorrupt(
            f"the database is damaged ({reason}). Nothing was overwritten. Restore a copy from the folder's backups."
        )
    return StoreError(f"the database refused the operation: {reason}")
