"""Alembic, driven from code: no ini file, the connection is given."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection


def configuration(connection: Connection) -> Config:
    """An Alembic configuration that works on an open connection."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Bring the tables to a revision, inside the caller's transaction."""
    command.upgrade(configuration(connection), revision)
