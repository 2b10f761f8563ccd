"""Revision 0003: a login knows the key that opened it."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column. Logins that are there know of no key, and are over."""
    op.add_column("sessions", sa.Column("key_id", sa.Text))
