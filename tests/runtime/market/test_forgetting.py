"""An account is forgotten: its words go from rows and facts, and all that is verified and recomputed still agrees."""

import sqlite3
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from books_file import file_of
from earnest.client.payloads_agents import AccountForgotten
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.ground.storage.schema import BOOKS as BOOKS_SCHEMA
from earnest.foundation.errors import Refused
from earnest.identity.account import AccountKind, AccountStatus
from earnest.identity.service import ACCOUNTS
from earnest.journal.redaction import REDACTED
from earnest.journal.service import Sealer
from earnest.journal.verify import JournalReport, What, verify_journal
from earnest.market.service import JOBS
from earnest.runtime.forgetting import AT_WORK, PERSONAL, forget, handle_after
from earnest.runtime.market.judging import Judging
from earnest.runtime.market.posting import withdraw_job
from earnest.runtime.recompute import BOOKS, recompute
from earnest.views.accounts import OWNED

from .conftest import Town, town_on, usd
from .test_jobs_and_claims import claim, post, submit

NOT_PERSONAL = {
    "accounts": {"id", "kind", "status", "operator_id", "suspended_from"},
    "agreements": {
        "account_id",
        "digest",
        "pinned_by",
        "zone",
        "active_from",
        "active_to",
        "progress",
        "exhausted",
        "weakened",
        "skip",
    },
    "applications": {"id", "job_id", "account_id"},
    "artifacts": {"id", "account_id", "sha256", "media_type"},
    "capabilities": {
        "id",
        "account_id",
        "category",
        "task_class",
        "state",
        "availability",
        "currency",
        "model_fingerprint",
    },
    "claims": {
        "id",
        "job_id",
        "seller",
        "buyer",
        "state",
        "currency",
        "acceptance",
        "category",
        "task_class",
        "spec_digest",
        "evidence_root",
        "verdict",
        "last_verdict",
        "cancel_asked_by",
        "declined_by",
        "cited",
        "dispute_id",
        "frozen",
    },
    "deposits": {"id", "account_id", "currency", "state", "decided_by"},
    "destinations": {"account_id", "rail", "set_by"},
    "disputes": {
        "id",
        "claim_id",
        "raiser",
        "respondent",
        "state",
        "currency",
        "criteria",
        "awaiting",
        "ruling",
        "appealed_by",
    },
    "heartbeats": {"id", "account_id", "date", "zone", "state", "contract_digest", "artifacts", "outcome", "by_key"},
    "jobs": {
        "id",
        "creator",
        "state",
        "category",
        "task_class",
        "currency",
        "acceptance",
        "spec_digest",
        "tags",
        "files",
        "redo_of",
        "live_claim",
    },
    "keys": {"id", "account_id", "scope", "prefix", "digest", "replaces"},
    "payouts": {"id", "account_id", "currency", "state", "rail", "rail_ref"},
    "posts": {"id", "thread", "account_id"},
    "presences": {"account_id", "last_action"},
    "remarks": {"id", "account_id", "reach", "heard_by"},
    "residents": {"id", "place"},
    "reviews": {"id", "claim_id", "side", "author", "about", "commitment", "parts", "salt"},
    "score_days": {"id", "account_id", "date", "zone"},
    "scores": {"account_id", "date", "penalty", "reward"},
    "sealed_reviews": {"id", "content", "salt"},
    "sessions": {"id", "account_id", "key_id"},
    "statements": {"id", "dispute_id", "author", "evidence"},
    "submissions": {"id", "claim_id", "root", "by_key", "verdict", "verdict_id"},
    "transfers": {"id", "kind", "debit", "credit", "currency", "reason", "pending_id", "resolved"},
    "trials": {
        "id",
        "account_id",
        "capability_id",
        "category",
        "task_class",
        "generator",
        "state",
        "question",
        "secret",
        "commitment",
        "model_fingerprint",
        "currency",
        "reason",
    },
    "votes": {"id", "message_id", "operator_id", "account_id"},
}
"""Texts of the platform's own, ids, digests, words of closed lists, and what is documented to stay."""


def verified(town: Town) -> JournalReport:
    return town.database.read_sync(verify_journal)


def forgotten(town: Town, name: str) -> AccountForgotten:
    return town.database.write_sync(lambda transaction: forget(transaction, name, town.market.desk.now_ms()))


async def worked(town: Town) -> None:
    ann, bob = town.somebody("ann", usd_micro=usd(100), mail="ann@example.org"), town.somebody("bob")
    claim_id = claim(town, bob, await post(town, ann, title="A secret wish", text="Nobody else may know of it"))
    await submit(town, bob, claim_id)
    await Judging(town.market).drain()
    await Sealer(town.database, town.clock).seal()
    assert verified(town).intact


def texts(town: Town) -> str:
    """All that stands in any row, bodies of facts included."""

    def rows(reader: BooksReader) -> Iterator[object]:
        return (value for table in BOOKS_SCHEMA.tables() for row in reader.rows(table) for value in row)

    read = town.database.read_sync(lambda reader: list(rows(reader)))
    return "\n".join(one.decode(errors="replace") if isinstance(one, bytes) else str(one) for one in read)


@pytest.fixture
def either(books: Books, tmp_path: Path) -> Iterator[Town]:
    """A market on each engine."""
    with town_on(books, tmp_path) as opened:
        yield opened


def test_every_text_of_an_accounts_rows_is_personal_or_known_not_to_be(town: Town) -> None:
    with sqlite3.connect(file_of(town.database)) as books:
        for table in OWNED:
            columns = {row[1] for row in books.execute(f"PRAGMA table_info({table})") if row[2] == "TEXT"}
            named = {name for one in PERSONAL if one.book.table == table for name in one.after}
            named |= {"handle"} if table == "accounts" else set()
            assert columns == named | NOT_PERSONAL[table], table
            assert not named & NOT_PERSONAL[table]


@pytest.mark.slow
async def test_the_words_go_and_the_books_still_verify_and_recompute(either: Town) -> None:
    town = either
    await worked(town)
    before = texts(town)
    assert all(word in before for word in ("A secret wish", "ann@example.org", "Nobody else may know"))
    leaves = town.database.read_sync(lambda reader: list(reader.leaves()))
    done = forgotten(town, "ann")
    after = texts(town)
    for word in ("A secret wish", "ann@example.org", "Nobody else may know"):
        assert word not in after
    assert (done["account_id"], done["rows"] > 2, done["facts"] > 2) == ("act_ann", True, True)
    await Sealer(town.database, town.clock).seal()
    found = verified(town)
    assert (found.intact, found.redacted) == (True, done["facts"])
    assert town.database.read_sync(lambda reader: list(reader.leaves()))[: len(leaves)] == leaves
    assert town.database.read_sync(lambda reader: recompute(reader, SystemClock())).differences == ()
    ann = town.database.read_sync(lambda reader: ACCOUNTS.find(reader, "act_ann"))
    assert (ann.handle, ann.mail, ann.status) == (handle_after("act_ann"), "", AccountStatus.SUSPENDED)
    assert "act_bob" in after


@pytest.mark.slow
async def test_whoever_is_forgotten_is_forgotten_again_without_a_change(town: Town) -> None:
    await worked(town)
    forgotten(town, "ann")
    before = texts(town)
    again = forgotten(town, "act_ann")
    assert (again["rows"], again["facts"], again["artifacts"]) == (0, 0, 0)
    assert texts(town) == before


async def test_a_fact_that_was_altered_past_the_platform_is_found_beside_those_that_were_redacted(town: Town) -> None:
    await worked(town)
    forgotten(town, "ann")
    (named,) = town.database.read_sync(lambda reader: list(reader.facts(kind=REDACTED)))
    leaves = named.body["leaves"]
    assert isinstance(leaves, dict)
    redacted = min(map(int, leaves))
    with sqlite3.connect(file_of(town.database)) as books:
        ((trigger,),) = books.execute("SELECT sql FROM sqlite_master WHERE name = 'facts_unchanged'").fetchall()
        books.execute("DROP TRIGGER facts_unchanged")
        other = "CAST(replace(CAST(body AS TEXT), 'act_ann', 'act_eve') AS BLOB)"
        books.execute(f"UPDATE facts SET body = {other} WHERE seq = ?", (redacted,))
        books.execute(trigger)
    assert [(one.what, one.first_seq) for one in verified(town).findings] == [(What.CHANGED, redacted)]


async def test_nobody_is_forgotten_whose_words_are_needed(town: Town) -> None:
    ann, operator = town.somebody("ann", usd_micro=usd(100)), town.somebody("olga", kind=AccountKind.OPERATOR)
    job = await post(town, ann)
    for name, told in (("ann", "jobs that have not ended"), ("olga", "only agents")):
        with pytest.raises(Refused, match=told) as refused:
            forgotten(town, name)
        assert refused.value.code == "account_state"
    with pytest.raises(Refused) as nobody:
        forgotten(town, "nobody")
    assert nobody.value.code == "not_found"
    assert operator.account.kind is AccountKind.OPERATOR
    town.act(ann, lambda entry: withdraw_job(entry, job))
    forgotten(town, "ann")
    assert town.database.read_sync(lambda reader: JOBS.find(reader, job)).title == "[removed]"


def test_what_others_need_is_asked_of_books_that_there_are() -> None:
    assert {book for book, _ in AT_WORK.values()} <= set(BOOKS)
    for one in PERSONAL:
        assert set(one.after) <= {field.name for field in fields(one.book.value)}
