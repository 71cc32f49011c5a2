"""Create the tables, or upgrade them with Alembic, on an open connection and without an ini file."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection

from hippocampe.errors import StoreError
from hippocampe.store import schema, sqlite

BEFORE_BASELINE = ("0002", "0003", "0004", "0005", "0006")
"""Revisions that the baseline replaces: Alembic does not know them."""
EARLIER = "earlier"
"""Name of the attribute with the revision of the tables before the baseline."""


def configuration(connection: Connection) -> Config:
    """An Alembic configuration that works on an open connection."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config


def create(connection: Connection) -> None:
    """Create the tables in an empty database, in the caller's transaction."""
    schema.metadata.create_all(connection, checkfirst=False)
    sqlite.create_extras(connection)
    stamp(connection)


def stamp(connection: Connection) -> None:
    """Note that the tables are of the latest revision."""
    command.stamp(configuration(connection), "head")


def upgrade(connection: Connection, current: str) -> None:
    """Upgrade the tables from a revision to the latest, in the caller's transaction.

    Raises:
        StoreError: No migration starts from their revision.
    """
    config = configuration(connection)
    try:
        if current in BEFORE_BASELINE:
            config.attributes[EARLIER] = current
            command.stamp(config, "base", purge=True)
        command.upgrade(config, "head")
    except CommandError as exc:
        raise StoreError(
            f"cannot upgrade the tables: {exc}. Nothing was changed. Open the folder with the version "
            "that wrote it."
        ) from exc
