"""Vectors have checksums"""

import sqlite3

import sqlalchemy as sa
from alembic import op

from hippocampe.store import embeddings

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    connection = op.get_bind()
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    driver.create_function("checksum_of", -1, embeddings.checksum, deterministic=True)
    for table in ("vector", "word"):
        column = sa.Column("checksum", sa.BigInteger(), nullable=False, server_default="0")
        op.add_column(table, column)
    # One transaction with the new columns: an interrupted upgrade leaves the tables as they were.
    op.execute("UPDATE vector SET checksum = checksum_of(dense, words, traits)")
    op.execute("UPDATE word SET checksum = checksum_of(vector)")
