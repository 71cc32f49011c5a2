"""The log keeps signals as they were measured, and has no index of items"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    nothing = "x''" if op.get_bind().dialect.name == "sqlite" else "''"
    with op.batch_alter_table("retrieval") as table:
        table.add_column(sa.Column("signals", sa.JSON(), nullable=False, server_default="[]"))
    op.drop_index(op.f("ix_retrieval_item_item_id"), "retrieval_item")
    with op.batch_alter_table("retrieval_item") as table:
        table.drop_column("signals")
    # What was considered stays, with its score and outcome; why is told of later turns.
    with op.batch_alter_table("retrieval_item") as table:
        table.add_column(
            sa.Column("signals", sa.LargeBinary(), nullable=False, server_default=sa.text(nothing))
        )
