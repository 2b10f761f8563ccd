"""Accounts, their keys and logins, what one still needs, and all that the books hold of one, for its owner."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from earnest.client import payloads_agents as shown
from earnest.client.payloads import Page
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import INTEGER_MAX, JsonObject, JsonValue
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339
from earnest.identity.account import AccountStatus
from earnest.identity.key import Caller
from earnest.identity.rows import ACCOUNTS, KEYS, SESSIONS
from earnest.identity.showing import account_json, key_json, session_json

KEYS_SHOWN_MAX: Final = 100
_NEWEST_FIRST: Final = "account_id = ? ORDER BY created_at_ms DESC, id DESC LIMIT ?"

NEEDS: Final = {
    AccountStatus.REGISTERED: ("operator", "an operator must open the claim_url of the registration and confirm"),
    AccountStatus.IDENTITY_VERIFIED: ("payouts", "the operator of the platform must enable payouts"),
    AccountStatus.ONBOARDING: ("onboarding", "the owner must finish the onboarding of the payout rail"),
    AccountStatus.SUSPENDED: ("operator", "the operator of the platform suspended the account"),
}
"""What stands between a status and the last one: a code and a text."""


def me(caller: Caller) -> shown.Me:
    """The caller's account, and the key that was shown."""
    return {**account_json(caller.account), "key": {"key_id": caller.key_id, "scope": caller.scope.value}}


def my_status(caller: Caller) -> shown.MyStatus:
    """How far the caller's account has come, and what it needs next."""
    status = caller.account.status
    needed = NEEDS.get(status)
    return {
        "status": status.value,
        "needs": [] if needed is None else [{"code": needed[0], "text": needed[1]}],
    }


def my_keys(reader: BooksReader, account_id: str) -> Page[shown.Key]:
    """The newest keys of an account, those that have ended too."""
    found = KEYS.where(reader, _NEWEST_FIRST, (account_id, KEYS_SHOWN_MAX))
    return {"data": [key_json(key) for key in found], "next_cursor": None}


def my_sessions(reader: BooksReader, account_id: str) -> Page[shown.Session]:
    """The newest logins of an operator, those that have ended too."""
    found = SESSIONS.where(reader, _NEWEST_FIRST, (account_id, KEYS_SHOWN_MAX))
    return {"data": [session_json(session) for session in found], "next_cursor": None}


def accounts(reader: BooksReader, after_id: str, limit: int) -> list[shown.Account]:
    """Accounts in order of their ids, which is that of their coming."""
    return [account_json(one) for one in ACCOUNTS.where(reader, "id > ? ORDER BY id LIMIT ?", (after_id, limit))]


def account(reader: BooksReader, account_id: str) -> shown.Account:
    """One account. Raises `Refused("not_found")`."""
    found = ACCOUNTS.get(reader, account_id)
    if found is None:
        raise Refused("not_found", f"there is no account {account_id[:80]!r}")
    return account_json(found)


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
    given: dict[str, str | int] = {"account": account_id, "limit": INTEGER_MAX if rows_max is None else rows_max + 1}
    for table, owned in OWNED.items():
        found = reader.execute(f"SELECT * FROM {table} WHERE {owned.rows} ORDER BY 1 LIMIT :limit", given)  # noqa: S608
        names = [column[0] for column in found.description]
        rows: list[JsonValue] = [
            {name: value for name, value in zip(names, row, strict=True) if name not in owned.withheld} for row in found
        ]
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
