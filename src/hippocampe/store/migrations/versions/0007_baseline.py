"""The baseline

New databases are made from the schema and start here. Databases of the revisions 0002 to 0006, which no
release had, take the steps that they lack.
"""

import sqlite3

from alembic import context, op
from sqlalchemy import Connection

from hippocampe.store import embeddings
from hippocampe.store.migrate import EARLIER

revision = "0007"
down_revision = None

STEPS = {
    "0003": ("ALTER TABLE memory ADD COLUMN metadata JSON DEFAULT '{}' NOT NULL",),
    "0004": (
        # Earlier versions wrote no job runs.
        "DROP TABLE job_run",
        """CREATE TABLE job_run (
            id VARCHAR(36) NOT NULL, job VARCHAR(40) NOT NULL, space VARCHAR(200) NOT NULL,
            state VARCHAR(10) NOT NULL, payload JSON NOT NULL, attempts INTEGER NOT NULL,
            due_at BIGINT NOT NULL, started_at BIGINT, ended_at BIGINT, outcome TEXT, error TEXT,
            CONSTRAINT pk_job_run PRIMARY KEY (id))""",
        "CREATE INDEX ix_job_run_state_due_at ON job_run (state, due_at)",
        "CREATE INDEX ix_job_run_space_job_ended_at ON job_run (space, job, ended_at)",
        "ALTER TABLE message ADD COLUMN working BOOLEAN DEFAULT 0 NOT NULL",
        "CREATE INDEX ix_message_working ON message (space, channel) WHERE working IS 1",
    ),
    "0005": (
        """CREATE TABLE reply (
            space VARCHAR(200) NOT NULL, key VARCHAR(200) NOT NULL, request VARCHAR(64) NOT NULL,
            status INTEGER, body BLOB, created_at BIGINT NOT NULL,
            CONSTRAINT pk_reply PRIMARY KEY (space, key))""",
        "CREATE INDEX ix_reply_created_at ON reply (created_at)",
    ),
    "0006": ("ALTER TABLE memory ADD COLUMN former BOOLEAN DEFAULT 0 NOT NULL",),
    "0007": (
        "ALTER TABLE vector ADD COLUMN checksum BIGINT DEFAULT 0 NOT NULL",
        "ALTER TABLE word ADD COLUMN checksum BIGINT DEFAULT 0 NOT NULL",
        "UPDATE vector SET checksum = checksum_of(dense, words, traits)",
        "UPDATE word SET checksum = checksum_of(vector)",
    ),
}
"""The statements that lead to each revision from the one before it."""


def upgrade() -> None:
    connection: Connection = op.get_bind()
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    driver.create_function("checksum_of", -1, embeddings.checksum, deterministic=True)
    earlier: str = context.config.attributes[EARLIER]
    for reached, statements in STEPS.items():
        if reached > earlier:
            for statement in statements:
                connection.exec_driver_sql(statement)
