"""${message}."""

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Go forward; there is no way back but a copy of the file."""
    ${upgrades if upgrades else "pass"}
