"""What the books hold of one account, for its owner: in each table the rows that are theirs, and what is withheld."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import INTEGER_MAX, JsonObject, JsonValue
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339

FORMAT: Final = "earnest-export-v1"
ROWS_MAX: Final = 100_000
"""Of an export over HTTP, which lies in memory while it is sent."""
_MINE: Final = "account_id = :account"
_OF_ACCOUNT: Final = "substr({side}, 1, length(:account) + 1) = :account || ':'"
_CLAIMS: Final = "SELECT id FROM claims WHERE seller = :account"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedRows:
    """Which rows are an account's, in SQL, and which columns are nobody's to see outside the platform."""

    rows: str
    withheld: frozenset[str] = frozenset()


OWNED: Final[Mapping[str, OwnedRows]] = {
    "accounts": OwnedRows(rows="id = :account"),
    "agreements": OwnedRows(rows=_MINE),
    "applications": OwnedRows(rows=_MINE),
    "artifacts": OwnedRows(rows=_MINE),
    "capabilities": OwnedRows(rows=_MINE),
    "claims": OwnedRows(rows=":account IN (seller, buyer)"),
    "deposits": OwnedRows(rows=_MINE),
    "destinations": OwnedRows(rows=_MINE),
    "disputes": OwnedRows(rows=":account IN (raiser, respondent)"),
    "heartbeats": OwnedRows(rows=_MINE),
    "jobs": OwnedRows(rows="creator = :account"),
    "keys": OwnedRows(rows=_MINE, withheld=frozenset({"digest"})),
    "payouts": OwnedRows(rows=_MINE),
    "posts": OwnedRows(rows=_MINE),
    "presences": OwnedRows(rows=_MINE),
    "remarks": OwnedRows(rows=_MINE, withheld=frozenset({"heard_by"})),
    "residents": OwnedRows(rows="id = :account"),
    "reviews": OwnedRows(
        rows="author = :account OR (about = :account AND published_at_ms IS NOT NULL)", withheld=frozenset({"salt"})
    ),
    "score_days": OwnedRows(rows=_MINE),
    "scores": OwnedRows(rows=_MINE),
    "sealed_reviews": OwnedRows(
        rows="id IN (SELECT id FROM reviews WHERE author = :account)", withheld=frozenset({"salt"})
    ),
    "sessions": OwnedRows(rows=_MINE, withheld=frozenset({"id"})),
    "statements": OwnedRows(rows="author = :account"),
    "submissions": OwnedRows(rows=f"claim_id IN ({_CLAIMS})"),
    "transfers": OwnedRows(
        rows=f"{_OF_ACCOUNT.format(side='debit')} OR {_OF_ACCOUNT.format(side='credit')}",
        withheld=frozenset({"number", "debit_before", "credit_before"}),
    ),
    "trials": OwnedRows(rows=_MINE, withheld=frozenset({"secret", "hidden"})),
    "votes": OwnedRows(rows=_MINE),
}
NOT_OWNED: Final[Mapping[str, str]] = {
    "schema_version": "of the program",
    "facts": "the record of all; what it says of an account stands in the rows that it makes",
    "ledger_accounts": "sums of the transfers",
    "leases": "who works at what just now",
    "links": "single-use secrets, by their digests",
    "periods": "spans that the operator names",
    "request_counts": "how many requests were let in within the hour",
    "replies": "answers that were given already, kept for a day",
    "sealed_trials": "secrets of tests that run",
    "signals": "what the platform concludes about relations between accounts",
    "touches": "marks by which views are found out of date",
}
"""The other tables, with the reasons."""


def account_called(reader: BooksReader, name: str) -> str:
    """The id of the account with this id or handle. Raises `Refused("not_found")`."""
    found = reader.execute("SELECT id FROM accounts WHERE ? IN (id, handle)", (name,)).fetchone()
    if found is None:
        raise Refused("not_found", f"there is no account {name[:80]!r}")
    return str(found[0])


def document_of(reader: BooksReader, account_id: str, now_ms: int, rows_max: int | None = None) -> JsonObject:
    """All of it, in one value: `tables`, and by table the columns that are `withheld`.

    Raises `Refused("limit_reached")` for more than `rows_max` rows.
    """
    tables: dict[str, JsonValue] = {}
    count = 0
    for table, rows in _owned_rows(reader, account_id, None if rows_max is None else rows_max + 1):
        tables[table] = rows
        count += len(rows)
        if rows_max is not None and count > rows_max:
            raise Refused("limit_reached", f"there are more than {rows_max} rows: the operator can export them all")
    return {
        "format": FORMAT,
        "account_id": account_id,
        "exported_at": rfc3339(now_ms),
        "tables": tables,
        "withheld": {table: sorted(owned.withheld) for table, owned in OWNED.items() if owned.withheld},
    }


def _owned_rows(reader: BooksReader, account_id: str, limit: int | None) -> Iterator[tuple[str, list[JsonValue]]]:
    """Each table, in order, with the account's rows."""
    given: dict[str, str | int] = {"account": account_id, "limit": INTEGER_MAX if limit is None else limit}
    for table, owned in OWNED.items():
        found = reader.execute(f"SELECT * FROM {table} WHERE {owned.rows} ORDER BY 1 LIMIT :limit", given)  # noqa: S608
        names = [column[0] for column in found.description]
        yield (
            table,
            [
                {name: value for name, value in zip(names, row, strict=True) if name not in owned.withheld}
                for row in found
            ],
        )
