"""Run Alembic migrations on an open connection, without an ini file."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection

from hippocampe.errors import StoreError


def configuration(connection: Connection) -> Config:
    """An Alembic configuration that works on an open connection."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Upgrade the tables to a revision, in the caller's transaction.

    Raises:
        StoreError: No migration starts from their revision.
    """
    try:
        command.upgrade(configuration(connection), revision)
    except CommandError as exc:
        raise StoreError(
            f"cannot upgrade the tables: {exc}. Nothing was changed. Open the folder with the version "
            "that wrote it."
        ) from exc
