"""The expression of a message"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("message", sa.Column("expression", sa.String(40)))
