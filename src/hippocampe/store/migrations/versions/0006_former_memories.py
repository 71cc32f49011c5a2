"""Superseded memories that still say something of their own are found as former ones"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column(
        "memory", sa.Column("former", sa.Boolean(), nullable=False, server_default=sa.false())
    )
