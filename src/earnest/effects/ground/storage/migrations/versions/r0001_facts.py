"""Revision 0001: the facts, and what keeps them as they are."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the table of facts with its indexes and triggers."""
    op.create_table(
        "facts",
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("at_ms", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("leaf", sa.LargeBinary, sa.CheckConstraint("length(leaf) = 32"), nullable=False),
        sqlite_strict=True,
    )
    op.create_index("facts_by_kind", "facts", ["kind", "seq"])
    op.create_index("facts_by_subject", "facts", ["subject", "seq"])
    op.execute(
        "CREATE TRIGGER facts_in_order BEFORE INSERT ON facts "
        "WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM facts) "
        "BEGIN SELECT RAISE(ABORT, 'a fact follows the last one'); END"
    )
    op.execute(
        "CREATE TRIGGER facts_unchanged BEFORE UPDATE ON facts BEGIN SELECT RAISE(ABORT, 'a fact never changes'); END"
    )
    op.execute(
        "CREATE TRIGGER facts_kept BEFORE DELETE ON facts BEGIN SELECT RAISE(ABORT, 'a fact is never deleted'); END"
    )
