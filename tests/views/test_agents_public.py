"""Do the public pages of an agent say what happened, and only what counts?"""

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Refused
from earnest.identity.account import Account, AccountKind, AccountStatus
from earnest.identity.service import ACCOUNTS
from earnest.market.disputes.dispute import Dispute, DisputeState
from earnest.market.reviews.reputation import lower_bound_ppm
from earnest.market.reviews.review import ReviewRow, Side
from earnest.market.reviews.signal import Signal, SignalKind
from earnest.market.service import DISPUTES, REVIEWS, SIGNALS
from earnest.views.agents_public import activity_of, show_agent

NOW = 1_780_000_000_000
YEAR_MS = 365 * 86_400_000


@pytest.fixture
def books(tmp_path: Path) -> Iterator[Database]:
    with contextlib.closing(Database.open(tmp_path / "books.sqlite", VirtualClock(NOW))) as database:
        account = Account(
            id="act_bob",
            handle="bob",
            kind=AccountKind.AGENT,
            status=AccountStatus.REGISTERED,
            created_at_ms=NOW - YEAR_MS,
        )
        platform = Account(
            id="act_p", handle="platform", kind=AccountKind.PLATFORM, status=AccountStatus.REGISTERED, created_at_ms=NOW
        )
        database.write_sync(lambda t: [ACCOUNTS.open(t, NOW, one) for one in (account, platform)])
        yield database


def page(books: Database) -> dict[str, Any]:
    return dict(books.read_sync(lambda reader: show_agent(reader, "@bob", NOW)))


def signal(number: int, kind: SignalKind, *, at_ms: int = NOW, weight: int = 1) -> Signal:
    claim_id = f"clm_{number}"
    return Signal(
        id=f"{claim_id}/{kind}", account_id="act_bob", kind=kind, claim_id=claim_id, at_ms=at_ms, weight=weight
    )


def review(number: int, side: Side, rating: int, **changes: Any) -> ReviewRow:
    author, about = ("act_bob", "act_ann") if side is Side.SELLER else ("act_ann", "act_bob")
    given = {
        "id": f"rev_{number}_{side}",
        "claim_id": f"clm_{number}",
        "side": side,
        "author": author,
        "about": about,
        "commitment": "sha256:0",
        "sent_at_ms": NOW,
        "published_at_ms": NOW,
        "rating": rating,
    }
    return ReviewRow(**{**given, **changes})


def dispute(number: int, state: DisputeState, statements: int) -> Dispute:
    return Dispute(
        id=f"dsp_{number}",
        claim_id=f"clm_{number}",
        revision=1,
        raiser="act_ann",
        respondent="act_bob",
        state=state,
        currency="USD",
        amount_micro=1,
        stake_micro=0,
        reason="",
        criteria="[]",
        opened_at_ms=NOW,
        stake_by_ms=NOW,
        hard_limit_ms=NOW,
        respondent_statements=statements,
        closed_at_ms=NOW,
    )


def test_the_reputation_counts_a_year_and_no_relatives(books: Database) -> None:
    def add(transaction: Transaction) -> None:
        for number in range(6):
            SIGNALS.open(transaction, NOW, signal(number, SignalKind.RELEASED))
        SIGNALS.open(transaction, NOW, signal(6, SignalKind.LATE))
        SIGNALS.open(transaction, NOW, signal(7, SignalKind.RELEASED, at_ms=NOW - YEAR_MS))
        SIGNALS.open(transaction, NOW, signal(8, SignalKind.RELEASED, weight=0))

    books.write_sync(add)
    reputation = page(books)["reputation"]
    assert reputation["signals"]["released"] == 6
    assert reputation["lower_bound_ppm"] == lower_bound_ppm(6_000, 250)


def test_ratings_count_what_is_published_by_strangers(books: Database) -> None:
    def add(transaction: Transaction) -> None:
        added: list[tuple[int, int, dict[str, Any]]] = [
            (1, 5, {}),
            (2, 2, {}),
            (3, 0, {"published_at_ms": None}),
            (4, 1, {"weight": 0}),
            (5, 1, {"published_at_ms": NOW - YEAR_MS}),
        ]
        for number, rating, changes in added:
            REVIEWS.open(transaction, NOW, review(number, Side.BUYER, rating, **changes))
        REVIEWS.open(transaction, NOW, review(1, Side.SELLER, 4, late=True))

    books.write_sync(add)
    shown = page(books)
    assert shown["ratings"] == {
        "as_seller": {"count": 2, "average_milli": 3_500},
        "as_buyer": {"count": 0, "average_milli": None},
    }
    assert shown["responsiveness"]["reviews"] == {"on_time": 0, "late": 1, "missed": 1}


def test_disputes_that_were_decided_count_as_answered_or_not(books: Database) -> None:
    cases = [(DisputeState.FINAL, 2), (DisputeState.FINAL, 0), (DisputeState.WITHDRAWN, 0), (DisputeState.VOID, 0)]
    books.write_sync(lambda t: [DISPUTES.open(t, NOW, dispute(at, *case)) for at, case in enumerate(cases)])
    assert page(books)["responsiveness"]["disputes"] == {"answered": 1, "silent": 1}


def test_the_platform_itself_is_nobodys_agent(books: Database) -> None:
    for handle in ("platform", "nobody", "", "@", "@@bob"):
        with pytest.raises(Refused) as refused:
            books.read_sync(partial(show_agent, handle=handle, now_ms=NOW))
        assert refused.value.code == "not_found"


def test_activity_is_the_newest_first_and_bounded(books: Database) -> None:
    def add(transaction: Transaction) -> None:
        for number in range(5):
            at_ms = NOW - number * 1_000
            REVIEWS.open(transaction, NOW, review(number, Side.BUYER, 5, published_at_ms=at_ms))

    books.write_sync(add)
    shown = books.read_sync(lambda reader: activity_of(reader, "bob", 3))
    assert [one["claim_id"] for one in shown["data"]] == ["clm_0", "clm_1", "clm_2"]
