"""The ledger of jobs has states, and messages leave the working history"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    # Earlier versions wrote no job runs.
    op.drop_table("job_run")
    op.create_table(
        "job_run",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("job", sa.String(length=40), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_run")),
    )
    op.create_index(op.f("ix_job_run_state_due_at"), "job_run", ["state", "due_at"])
    op.create_index(op.f("ix_job_run_space_job_ended_at"), "job_run", ["space", "job", "ended_at"])
    op.add_column(
        "message", sa.Column("working", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.create_index(
        "ix_message_working",
        "message",
        ["space", "channel"],
        sqlite_where=sa.text("working IS 1"),
    )
