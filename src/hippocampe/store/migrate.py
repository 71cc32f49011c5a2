"""Upgrade the tables with Alembic, on an open connection and without an ini file.

Alembic is imported for an upgrade only: the first opening of a folder would wait for it.
"""

from pathlib import Path

from sqlalchemy import Connection, text

from hippocampe.errors import StoreError
from hippocampe.store import schema

BEFORE_BASELINE = ("0002", "0003", "0004", "0005", "0006")
"""Revisions that the baseline replaces: Alembic does not know them."""
EARLIER = "earlier"
"""Name of the attribute with the revision of the tables before the baseline."""


def stamp(connection: Connection) -> None:
    """Note that the tables are of the latest revision, without loading Alembic."""
    connection.execute(
        text(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
    )
    connection.execute(
        text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": schema.REVISION}
    )


def upgrade(connection: Connection, current: str) -> None:
    """Upgrade the tables from a revision to the latest, in the caller's transaction.

    Raises:
        StoreError: No migration starts from their revision.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
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
