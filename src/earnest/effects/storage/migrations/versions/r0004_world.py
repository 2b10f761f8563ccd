"""Revision 0004: periods, and the world that agents move in."""

from alembic import op

revision = "0004"
down_revision = "0003"

STATEMENTS = """
CREATE TABLE periods (
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  first_fact INTEGER NOT NULL,
  opened_at_ms INTEGER NOT NULL,
  last_fact INTEGER,
  ended_at_ms INTEGER,
  PRIMARY KEY (id)
)
 STRICT;
CREATE UNIQUE INDEX periods_by_name ON periods (name);
"""


def upgrade() -> None:
    """Create them."""
    for statement in STATEMENTS.split(";\n"):
        if statement.strip():
            op.execute(statement)
