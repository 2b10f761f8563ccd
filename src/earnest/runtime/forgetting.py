"""The story of an account that is forgotten: what is personal goes from rows and facts, what was owed and done stays.

A row is what its facts say, so both lose the same texts in one transaction; the leaves of the facts stay sealed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from earnest.accountability.service import AGREEMENTS, HEARTBEATS
from earnest.client.payloads_agents import AccountForgotten
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.rows import Book
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Refused
from earnest.identity.account import Account, AccountKind, AccountStatus, suspended
from earnest.identity.key import Scope
from earnest.identity.service import ACCOUNTS, KEYS, PRESENCES
from earnest.journal.redaction import REDACTABLE, redact
from earnest.ledger.service import DEPOSITS, DESTINATIONS, PAYOUTS
from earnest.market.service import (
    APPLICATIONS,
    ARTIFACTS,
    CLAIMS,
    DISPUTES,
    JOBS,
    REVIEWS,
    STATEMENTS,
    SUBMISSIONS,
    TRIALS,
)
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.keys import need_key
from earnest.world.service import POSTS, REMARKS, RESIDENTS

GONE: Final = "[removed]"
LIST: Final = "[]"
REASON: Final = "forgotten"
_MINE: Final = "account_id = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Personal:
    """Columns of a book that hold what somebody wrote, in the rows that are theirs, and what stands there after."""

    book: Book[Any]
    rows: str
    after: Mapping[str, str]


PERSONAL: Final[tuple[Personal, ...]] = (
    Personal(book=ACCOUNTS, rows="id = ?", after={"description": "", "mail": "", "model_fingerprint": ""}),
    Personal(book=AGREEMENTS, rows=_MINE, after={"text": "", "offered": ""}),
    Personal(book=APPLICATIONS, rows=_MINE, after={"note": ""}),
    Personal(book=CLAIMS, rows="buyer = ?", after={"job_title": GONE, "reason": ""}),
    Personal(book=CLAIMS, rows="seller = ?", after={"reason": ""}),
    Personal(book=DEPOSITS, rows=_MINE, after={"reference": ""}),
    Personal(book=DESTINATIONS, rows=_MINE, after={"address": ""}),
    Personal(book=DISPUTES, rows="raiser = ?", after={"reason": GONE}),
    Personal(
        book=HEARTBEATS,
        rows=_MINE,
        after={"reply": "", "asked": LIST, "records": LIST, "claims": LIST, "verdicts": LIST},
    ),
    Personal(
        book=JOBS, rows="creator = ?", after={"title": GONE, "text": GONE, "criteria": LIST, "requirements": LIST}
    ),
    Personal(book=KEYS, rows=_MINE, after={"label": ""}),
    Personal(book=PAYOUTS, rows=_MINE, after={"destination": "", "reason": ""}),
    Personal(book=POSTS, rows=_MINE, after={"title": GONE, "text": GONE}),
    Personal(book=PRESENCES, rows=_MINE, after={"outbox": LIST}),
    Personal(book=REMARKS, rows=_MINE, after={"text": GONE}),
    Personal(book=RESIDENTS, rows="id = ?", after={"why": ""}),
    Personal(book=REVIEWS, rows="author = ?", after={"text": ""}),
    Personal(book=REVIEWS, rows="about = ?", after={"reply": ""}),
    Personal(book=STATEMENTS, rows="author = ?", after={"text": GONE}),
    Personal(book=SUBMISSIONS, rows="claim_id IN (SELECT id FROM claims WHERE seller = ?)", after={"manifest": LIST}),
    Personal(book=TRIALS, rows=_MINE, after={"answer": ""}),
)
"""Where personal data stands in the books. Of the account the handle becomes one that says nothing."""

AT_WORK: Final[Mapping[str, tuple[Book[Any], str]]] = {
    "jobs that have not ended": (JOBS, "creator = ? AND ended_at_ms IS NULL"),
    "claims that have not ended": (CLAIMS, "? IN (seller, buyer) AND ended_at_ms IS NULL"),
    "disputes that are open": (DISPUTES, "? IN (raiser, respondent) AND closed_at_ms IS NULL"),
    "reviews that are sealed": (REVIEWS, "author = ? AND published_at_ms IS NULL"),
    "payouts under way": (PAYOUTS, "account_id = ? AND state IN ('requested', 'approved', 'sent')"),
}
"""What others still need the account's words for."""


def forget(transaction: Transaction, name: str, at_ms: int) -> AccountForgotten:
    """Remove what is personal of the account with this id or handle. It stays suspended, and its keys end.

    Raises `Refused`: `not_found`, `account_state` for one that is no agent's, or is still needed.
    """
    account = next(ACCOUNTS.where(transaction, "? IN (id, handle)", (name,)), None)
    if account is None:
        raise Refused("not_found", f"there is no account {name[:80]!r}")
    _check(transaction, account)
    _shut(transaction, account, at_ms)
    artifacts = list(ARTIFACTS.where(transaction, _MINE, (account.id,)))
    for one in artifacts:
        ARTIFACTS.remove(transaction, at_ms, one, touching=(account.id,))
    bodies: dict[int, JsonObject] = {}
    rows = 0
    for personal in PERSONAL:
        own = {"handle": handle_after(account.id)} if personal.book is ACCOUNTS else {}
        after: JsonObject = {**personal.after, **own}
        for key in _keys(transaction, personal, account.id, after):
            rows += 1
            personal.book.update(transaction, key, after)
            bodies |= _without(transaction, personal.book, key, after, bodies)
    redact(transaction, bodies, subject=account.id, at_ms=at_ms)
    return {"account_id": account.id, "rows": rows, "facts": len(bodies), "artifacts": len(artifacts)}


def forget_me(entry: StoryContext, *, confirm: str) -> AccountForgotten:
    """Forget the caller's own account, by a key of its own that is in use; `confirm` is its handle.

    Raises `Refused`: `scope_forbidden` (to a login, and a key that was rotated, too), `validation`, `account_state`.
    """
    entry.me.need(Scope.REGISTERED, Scope.LIVE)
    need_key(entry)
    return _confirmed(entry, entry.me.account, confirm)


def forget_account(entry: StoryContext, *, account_id: str, confirm: str) -> AccountForgotten:
    """The operator forgets an account. Raises `Refused`: as `forget_me`, and `not_found`."""
    entry.me.need(Scope.OPERATOR)
    need_key(entry)
    return _confirmed(entry, ACCOUNTS.find(entry.transaction, account_id), confirm)


def _confirmed(entry: StoryContext, account: Account, confirm: str) -> AccountForgotten:
    if confirm != account.handle:
        raise Refused("validation", "confirm must be the handle of the account")
    return forget(entry.transaction, account.id, entry.now_ms)


def handle_after(account_id: str) -> str:
    """A handle that nobody else has, and that says nothing."""
    return f"forgotten_{account_id[-20:].lower()}"


def _check(reader: BooksReader, account: Account) -> None:
    if account.kind is not AccountKind.AGENT:
        raise Refused("account_state", f"@{account.handle} is the {account.kind}: only agents are forgotten")
    needed = [
        what for what, (book, rows) in AT_WORK.items() if any(book.where(reader, f"{rows} LIMIT 1", (account.id,)))
    ]
    if needed:
        raise Refused("account_state", f"@{account.handle} has {', '.join(needed)}: others still need its words")


def _shut(transaction: Transaction, account: Account, at_ms: int) -> None:
    """Suspended, and without a key that works."""
    if account.status is not AccountStatus.SUSPENDED:
        ACCOUNTS.change(transaction, at_ms, account, suspended(account), touching=(account.id,), reason=REASON)
    for key in list(KEYS.where(transaction, f"{_MINE} AND revoked_at_ms IS NULL", (account.id,))):
        ended = replace(key, revoked_at_ms=at_ms)
        KEYS.change(transaction, at_ms, key, ended, touching=(account.id,), reason=REASON)


def _keys(reader: BooksReader, personal: Personal, account_id: str, after: JsonObject) -> list[str]:
    """Of the rows that hold something still: a second forgetting changes nothing."""
    book = personal.book
    return [
        str(getattr(row, book.key))
        for row in book.where(reader, personal.rows, (account_id,))
        if any(getattr(row, name) != text for name, text in after.items())
    ]


def _without(
    reader: BooksReader, book: Book[Any], key: str, after: JsonObject, known: Mapping[int, JsonObject]
) -> Iterator[tuple[int, JsonObject]]:
    """The facts about a row, without the texts: those of one account may concern a row twice."""
    kinds = tuple(kind for kind in book.projections if kind.endswith(REDACTABLE))
    for fact in list(reader.facts(kind=kinds, subject=key)):
        body = known.get(fact.seq) or fact.body
        changed: JsonObject = {name: _removed(body[name], after) for name in ("row", "set") if name in body}
        if (without := {**body, **changed}) != body:
            yield fact.seq, without


def _removed(values: JsonValue, after: JsonObject) -> JsonValue:
    given = cast("JsonObject", values)
    return {**given, **{name: text for name, text in after.items() if name in given}}
