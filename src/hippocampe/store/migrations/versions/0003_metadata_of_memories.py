"""Memories have metadata of the caller's own"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("memory", sa.Column("metadata", sa.JSON(), nullable=False, server_default="{}"))
