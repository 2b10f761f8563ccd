"""Which tables do the books have? Every room adds its own to `METADATA`; the migrations must arrive at the same."""

from sqlalchemy import CheckConstraint, Column, Index, Integer, LargeBinary, MetaData, Table, Text

METADATA = MetaData()

FACTS = Table(
    "facts",
    METADATA,
    Column("seq", Integer, primary_key=True),
    Column("at_ms", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("leaf", LargeBinary, CheckConstraint("length(leaf) = 32"), nullable=False),
    Index("facts_by_subject", "subject", "seq"),
    Index("facts_by_kind", "kind", "seq"),
    sqlite_strict=True,
)
