"""The tables of the books. Every room adds its own to `METADATA`; the migrations must arrive at the same."""

from dataclasses import fields

from sqlalchemy import CheckConstraint, Column, Index, Integer, LargeBinary, MetaData, Table, Text, text

from earnest.effects.ground.storage.replies import Reply
from earnest.effects.ground.storage.rows import Row

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


def table_of(
    value: type[Row], name: str, *indexes: tuple[str, ...], key: str = "id", unique: tuple[str, ...] = ()
) -> Table:
    """The table whose columns are the fields of `value`, in order: Integer or Text, NOT NULL without `| None`.

    Each of `indexes` is a tuple of columns, each of `unique` one whose values differ; `wake_ms`, where there is one,
    has an index of the rows that have it.
    """
    columns = [
        Column(
            field.name,
            Integer if str(field.type).startswith(("int", "bool", "<class 'int'>", "<class 'bool'>")) else Text,
            primary_key=field.name == key,
            nullable="None" in str(field.type),
        )
        for field in fields(value)
    ]
    table = Table(name, METADATA, *columns, sqlite_strict=True)
    for index in indexes:
        Index(f"{name}_by_{'_'.join(index)}", *(table.c[column] for column in index))
    for column in unique:
        Index(f"{name}_by_{column}", table.c[column], unique=True)
    if "wake_ms" in table.c:
        Index(f"{name}_by_wake_ms", table.c.wake_ms, sqlite_where=table.c.wake_ms.is_not(None))
    return table


def index_of(table: Table, name: str, *columns: str, where: str = "") -> None:
    """An index that `table_of` cannot say: a column may read `amount_micro DESC`; `where` limits its rows, in SQL."""
    terms = (table.c[column.split()[0]] for column in columns)
    ordered = [term.desc() if column.endswith(" DESC") else term for term, column in zip(terms, columns, strict=True)]
    Index(name, *ordered, sqlite_where=text(where) if where else None)


REPLIES = table_of(Reply, "replies", ("at_ms",))
TOUCHES = Table(
    "touches",
    METADATA,
    Column("subject", Text, primary_key=True),
    Column("seq", Integer, nullable=False),
    sqlite_strict=True,
)
