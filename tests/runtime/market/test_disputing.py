"""Disputes on a real database: stakes, turns, rulings, and the money that follows them."""

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from earnest.client.payloads_disputes import DisputeSummary
from earnest.contracts.spec import Acceptance
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.canonical import Members
from earnest.foundation.errors import Refused
from earnest.identity.account import AccountKind
from earnest.identity.key import Caller, Scope
from earnest.identity.service import ACCOUNTS
from earnest.ledger import service as ledger
from earnest.ledger.transfer import available, clearing, external, fees, moved
from earnest.market.claims.claim import ClaimState
from earnest.market.claims.deadlines import is_the_buyers
from earnest.market.claims.evidence import BY_POSTER
from earnest.market.disputes.dispute import Dispute, DisputeState
from earnest.market.disputes.ruling import For, Vote
from earnest.market.service import CLAIMS, DISPUTES, SIGNALS, SUBMISSIONS
from earnest.runtime.desk import StoryContext
from earnest.runtime.market import clocks, deciding, disputing
from earnest.runtime.market.disputing import Plea
from earnest.runtime.market.judging import Judged, Judging, give_verdict
from earnest.runtime.recompute import recompute
from earnest.views.disputes import list_disputes, show_dispute

from .conftest import Town, usd
from .test_jobs_and_claims import claim, free, pass_time, post, read_claim, submit

DAY_S = 86_400
DIGEST = "sha256:" + "0" * 64


@dataclass
class Case:
    """A claim for 10 dollars that its seller disputes, once `raised`."""

    town: Town
    buyer: Caller
    seller: Caller
    judge: Caller
    claim_id: str
    dispute_id: str = ""

    def do(self, caller: Caller | None, act: object) -> Members:
        return self.town.act(caller, act)  # type: ignore[arg-type]

    def raised(self, by: Caller | None = None, plea: Plea | None = None) -> Members:
        said = plea or Plea(reason="it is what was asked for", criteria=("C1",))
        answer = self.do(
            by or self.seller,
            lambda entry: disputing.raise_dispute(entry, self.town.market.terms, self.claim_id, said),
        )
        self.dispute_id = str(answer["dispute_id"])
        return answer

    def say(self, by: Caller, text: str = "see for yourself", evidence: tuple[str, ...] = ()) -> Members:
        return self.do(by, lambda entry: disputing.speak(entry, self.dispute_id, text, evidence))

    def rule(self, in_favour: For, seller_micro: int | None = None, by: Caller | None = None) -> Members:
        rest = None if seller_micro is None else usd(10) - seller_micro
        vote = Vote(in_favour=in_favour, criteria=("C1",), reason="so", seller_micro=seller_micro, buyer_micro=rest)
        return self.do(
            by or self.judge, lambda entry: disputing.rule(entry, self.town.market.terms, self.dispute_id, vote)
        )

    def appeal(self, by: Caller) -> Members:
        return self.do(by, lambda entry: disputing.appeal(entry, self.dispute_id))

    def withdraw(self, by: Caller) -> Members:
        return self.do(by, lambda entry: disputing.withdraw_dispute(entry, self.town.market.terms, self.dispute_id))

    async def after(self, seconds: int) -> Dispute:
        """The case once the clock has looked at it, after so long."""
        await pass_time(self.town, seconds)
        self.do(None, lambda entry: disputing.due(entry, self.town.market.terms, self.dispute_id))
        return self.read()

    async def deliberated(self) -> None:
        assert (await self.after(5 * DAY_S)).state is DisputeState.DELIBERATION

    def read(self) -> Dispute:
        return self.town.database.read_sync(lambda reader: DISPUTES.find(reader, self.dispute_id))

    def state(self) -> ClaimState:
        return read_claim(self.town, self.claim_id).state

    def balances(self) -> tuple[int, int, int]:
        """What seller (clearing too) and buyer have, and the platform's fees."""

        def read(reader: object) -> tuple[int, int, int]:
            def of(name: str) -> int:
                return ledger.balance(reader, name).balance_micro  # type: ignore[arg-type]

            earned = of(clearing(self.seller.id, "USD")) + of(available(self.seller.id, "USD"))
            return earned, of(available(self.buyer.id, "USD")), of(fees("USD"))

        return self.town.database.read_sync(read)


@pytest.fixture
async def case(town: Town) -> Case:
    """Declined work, in dispute by nobody yet."""
    buyer, seller = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob", usd_micro=usd(20))
    judge = town.somebody("olga", scope=Scope.OPERATOR, kind=AccountKind.OPERATOR)
    claim_id = claim(town, seller, await post(town, buyer, acceptance=Acceptance.BUYER))
    await submit(town, seller, claim_id, b'{"sum": 41}')
    case = Case(town=town, buyer=buyer, seller=seller, judge=judge, claim_id=claim_id)
    town.act(buyer, lambda entry: deciding.decline(entry, town.market.terms, claim_id, "wrong", ("C1",)))
    return case


def refused(code: str) -> "pytest.RaisesExc[Refused]":
    return pytest.raises(Refused, check=lambda refusal: refusal.code == code)


def test_a_dispute_takes_its_stake_and_stops_the_claims_clocks(case: Case) -> None:
    answer = case.raised()
    assert (answer["state"], answer["stake_micro"], case.state()) == ("open", usd(1), ClaimState.DISPUTED)
    assert free(case.town, case.seller) == usd(19)
    assert read_claim(case.town, case.claim_id).dispute_id == case.dispute_id
    assert case.read().awaiting == "respondent"


async def test_the_loser_of_a_ruling_pays_for_it_once_nobody_has_appealed(case: Case) -> None:
    case.raised()
    await case.deliberated()
    assert case.rule(For.BUYER)["state"] == "ruled"
    assert case.state() is ClaimState.DISPUTED
    assert (await case.after(72 * 3_600 - 1)).state is DisputeState.RULED
    assert (await case.after(1)).state is DisputeState.FINAL
    assert case.state() is ClaimState.REFUNDED
    assert case.balances() == (usd(19), usd(100), usd(1))
    kinds = case.town.database.read_sync(lambda reader: [one.kind for one in SIGNALS.where(reader, "TRUE")])
    assert kinds == ["refunded"]


async def test_a_seller_who_is_right_is_paid_and_has_the_stake_back(case: Case) -> None:
    case.raised()
    await case.deliberated()
    case.rule(For.SELLER)
    await case.after(72 * 3_600)
    assert case.state() is ClaimState.RELEASED
    assert case.balances() == (usd(20) + 9_500_000, usd(90), 500_000)


async def test_a_split_gives_each_side_its_part_and_half_of_the_stake(case: Case) -> None:
    case.raised()
    await case.deliberated()
    case.rule(For.SPLIT, usd(4))
    await case.after(72 * 3_600)
    assert case.state() is ClaimState.RELEASED
    assert case.balances() == (usd(20) - 500_000 + 3_800_000, usd(96), 200_000 + 500_000)


async def test_an_appeal_doubles_the_stake_and_its_ruling_is_carried_out_at_once(case: Case) -> None:
    case.raised()
    await case.deliberated()
    case.rule(For.BUYER)
    with refused("dispute_state"):
        case.appeal(case.buyer)
    assert case.appeal(case.seller)["state"] == "appeal"
    assert free(case.town, case.seller) == usd(17)
    assert case.rule(For.SELLER)["state"] == "final"
    assert case.state() is ClaimState.RELEASED
    assert case.balances() == (usd(20) + 9_500_000, usd(90), 500_000)
    with refused("dispute_state"):
        case.appeal(case.buyer)


async def test_an_appeal_without_the_money_for_it_is_refused(case: Case) -> None:
    case.raised()
    await case.deliberated()
    case.rule(For.BUYER)

    def spend(entry: StoryContext) -> Members:
        source = available(case.seller.id, "USD")
        chain = moved("spent", source, external("USD"), usd(18), reason="test", at_ms=entry.now_ms)
        ledger.post(entry.transaction, chain)
        return {}

    case.do(None, spend)
    with refused("insufficient_funds"):
        case.appeal(case.seller)
    assert case.read().state is DisputeState.RULED


async def test_a_ruling_holds_although_the_clock_is_weeks_late(case: Case) -> None:
    """The machine has judged the work; a ruling against it must not be undone by the claim's own clock."""
    case.raised()
    await case.deliberated()
    case.rule(For.SELLER)
    await pass_time(case.town, 60 * DAY_S)
    case.do(None, lambda entry: clocks.claim_due(entry, case.town.market.terms, case.claim_id))
    assert case.state() is ClaimState.DISPUTED
    await case.after(0)
    assert case.state() is ClaimState.RELEASED


async def test_who_comes_too_late_is_refused_although_the_clock_has_not_looked_yet(case: Case) -> None:
    case.raised()
    await pass_time(case.town, 5 * DAY_S)
    with refused("dispute_state"):
        case.say(case.buyer)
    with refused("dispute_state"):
        case.withdraw(case.seller)
    await case.after(0)
    case.rule(For.BUYER)
    await pass_time(case.town, 72 * 3_600)
    with refused("dispute_state"):
        case.appeal(case.seller)


async def test_no_arbiter_rules_after_the_limit(case: Case) -> None:
    case.raised()
    await case.deliberated()
    await pass_time(case.town, 16 * DAY_S)
    case.do(None, lambda entry: clocks.claim_due(entry, case.town.market.terms, case.claim_id))
    with refused("dispute_state"):
        case.rule(For.BUYER)
    assert (await case.after(0)).state is DisputeState.FINAL


@pytest.mark.parametrize("first", ["claim", "dispute"])
@pytest.mark.parametrize(
    ("verdict", "state", "balances"),
    [
        ("verified", ClaimState.RELEASED, (usd(20) + 9_500_000, usd(90), 500_000)),
        ("not_verified", ClaimState.REFUNDED, (usd(20), usd(100), 0)),
        ("", ClaimState.RELEASED, (usd(20) + 4_750_000, usd(95), 250_000)),
    ],
)
async def test_at_the_limit_the_last_machine_verdict_decides_whoever_looks_first(
    town: Town, first: str, verdict: str, state: ClaimState, balances: tuple[int, int, int]
) -> None:
    buyer, seller = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob", usd_micro=usd(20))
    claim_id = claim(town, seller, await post(town, buyer, acceptance=Acceptance.BUYER))
    await submit(town, seller, claim_id, b'{"sum": 42}' if verdict == "verified" else b'{"sum": 41}')
    case = Case(town=town, buyer=buyer, seller=seller, judge=seller, claim_id=claim_id)
    if verdict:
        await Judging(town.market).drain()
    case.raised()
    await pass_time(town, 21 * DAY_S)
    looks = [
        lambda entry: clocks.claim_due(entry, town.market.terms, claim_id),
        lambda entry: disputing.due(entry, town.market.terms, case.dispute_id),
    ]
    for look in looks if first == "claim" else reversed(looks):
        case.do(None, look)
    assert (case.state(), case.read().state) == (state, DisputeState.FINAL)
    assert json.loads(case.read().ruling)["by"] == "clock"
    assert case.balances() == balances


async def unclear_by_the_poster(town: Town) -> Case:
    """Work that fell to the buyer's clock: the buyer's own files left the machine unable to tell."""
    buyer, seller = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob", usd_micro=usd(20))
    judge = town.somebody("olga", scope=Scope.OPERATOR, kind=AccountKind.OPERATOR)
    claim_id = claim(town, seller, await post(town, buyer))
    await submit(town, seller, claim_id)

    def judged(reader: BooksReader) -> Judged:
        handed_in = next(SUBMISSIONS.where(reader, "claim_id = ?", (claim_id,)))
        return Judged.read(reader, CLAIMS.find(reader, claim_id), handed_in)

    handed_in = town.database.read_sync(judged)
    verdict = {"verdict": "unclear", "criteria": [], "reason": "a file is gone", BY_POSTER: True}
    town.act(None, lambda entry: give_verdict(entry, town.market.terms, handed_in, verdict))
    return Case(town=town, buyer=buyer, seller=seller, judge=judge, claim_id=claim_id)


@pytest.mark.parametrize("first", ["claim", "dispute"])
async def test_a_poster_who_made_work_unclear_gains_nothing_by_a_dispute_that_nobody_rules(
    town: Town, first: str
) -> None:
    case = await unclear_by_the_poster(town)
    assert is_the_buyers(read_claim(town, case.claim_id))
    case.raised(case.buyer)
    await pass_time(town, 21 * DAY_S)
    looks = [
        lambda entry: clocks.claim_due(entry, town.market.terms, case.claim_id),
        lambda entry: disputing.due(entry, town.market.terms, case.dispute_id),
    ]
    for look in looks if first == "claim" else reversed(looks):
        case.do(None, look)
    assert (case.state(), case.read().state) == (ClaimState.RELEASED, DisputeState.FINAL)
    assert json.loads(case.read().ruling)["for"] == "seller"
    assert case.balances() == (usd(20) + 9_500_000, usd(90), 500_000)


async def test_a_dispute_about_it_is_ruled_as_any_other(town: Town) -> None:
    case = await unclear_by_the_poster(town)
    case.raised(case.buyer)
    await case.deliberated()
    case.rule(For.BUYER)
    await case.after(72 * 3_600)
    assert (case.state(), case.balances()) == (ClaimState.REFUNDED, (usd(20), usd(100), 0))


async def test_when_it_is_withdrawn_the_buyers_clock_goes_on_and_their_silence_pays(town: Town) -> None:
    case = await unclear_by_the_poster(town)
    ended_at_ms = read_claim(town, case.claim_id).review_ends_at_ms
    case.raised(case.seller)
    await pass_time(town, DAY_S)
    case.withdraw(case.seller)
    again = read_claim(town, case.claim_id)
    assert (again.review_ends_at_ms, is_the_buyers(again)) == ((ended_at_ms or 0) + DAY_S * 1_000, True)
    await pass_time(town, ((again.review_ends_at_ms or 0) - town.clock.now_ms()) // 1_000 - 1)
    case.do(None, lambda entry: clocks.claim_due(entry, town.market.terms, case.claim_id))
    assert case.state() is ClaimState.SUBMITTED
    await pass_time(town, 1)
    case.do(None, lambda entry: clocks.claim_due(entry, town.market.terms, case.claim_id))
    assert (case.state(), free(town, case.seller)) == (ClaimState.RELEASED, usd(20))


async def test_a_withdrawn_case_returns_the_stake_and_the_claim_goes_on(case: Case) -> None:
    case.raised()
    case.say(case.buyer)
    await pass_time(case.town, 3 * DAY_S)
    with refused("not_a_party"):
        case.withdraw(case.buyer)
    case.withdraw(case.seller)
    assert (case.state(), free(case.town, case.seller)) == (ClaimState.DECLINED, usd(20))
    left = read_claim(case.town, case.claim_id).appeal_ends_at_ms
    assert left == case.town.clock.now_ms() + 72 * 3_600_000
    with refused("dispute_exists"):
        case.raised()


async def test_a_case_without_its_stake_waits_for_it_and_falls_after_half_an_hour(town: Town) -> None:
    buyer, seller = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    claim_id = claim(town, seller, await post(town, buyer, acceptance=Acceptance.BUYER))
    await submit(town, seller, claim_id)
    case = Case(town=town, buyer=buyer, seller=seller, judge=seller, claim_id=claim_id)
    assert case.raised()["state"] == "stake_pending"
    assert case.state() is ClaimState.SUBMITTED
    with refused("dispute_exists"):
        case.raised()
    assert (await case.after(30 * 60 - 1)).state is DisputeState.STAKE_PENDING
    assert (await case.after(1)).state is DisputeState.VOID
    assert case.read().wake_ms is None
    assert case.raised()["state"] == "stake_pending", "whose case fell may try again"

    def deposit(entry: StoryContext) -> Members:
        home = available(seller.id, "USD")
        chain = moved("later", external("USD"), home, usd(1), reason="test", at_ms=entry.now_ms)
        ledger.post(entry.transaction, chain)
        return {}

    case.do(None, deposit)
    assert (await case.after(60)).state is DisputeState.OPEN
    assert case.state() is ClaimState.DISPUTED


async def test_a_claim_that_went_on_before_the_stake_came_voids_the_case(town: Town) -> None:
    buyer, seller = town.somebody("ann", usd_micro=usd(100)), town.somebody("bob")
    claim_id = claim(town, seller, await post(town, buyer, acceptance=Acceptance.BUYER))
    await submit(town, seller, claim_id)
    case = Case(town=town, buyer=buyer, seller=seller, judge=seller, claim_id=claim_id)
    case.raised()
    case.do(buyer, lambda entry: deciding.accept(entry, town.market.terms, claim_id))
    assert (await case.after(60)).state is DisputeState.VOID
    assert case.state() is ClaimState.RELEASED


def test_who_cannot_raise_a_dispute(case: Case) -> None:
    eve = case.town.somebody("eve", usd_micro=usd(10))
    said = Plea(reason="x", criteria=("C1",))
    for by, plea, code in [
        (case.town.with_scope(case.seller, Scope.HEARTBEAT), said, "heartbeat_scope_forbidden"),
        (case.town.with_scope(case.seller, Scope.REGISTERED), said, "scope_forbidden"),
        (eve, said, "not_a_party"),
        (case.seller, Plea(reason="x", criteria=("C9",)), "criterion_required"),
        (case.seller, Plea(reason="x", stake_micro=usd(2)), "stake_mismatch"),
    ]:
        with refused(code):
            case.raised(by, plea)
    case.raised(plea=Plea(reason="x", stake_micro=usd(1)))
    with refused("dispute_exists"):
        case.raised(case.buyer)


async def test_a_released_claim_is_not_disputed(case: Case) -> None:
    case.do(case.buyer, lambda entry: deciding.undecline(entry, case.town.market.terms, case.claim_id))
    with refused("claim_state"):
        case.raised()


def test_a_heartbeat_key_answers_and_strangers_know_of_no_dispute(case: Case) -> None:
    case.raised()
    assert case.say(case.town.with_scope(case.buyer, Scope.HEARTBEAT))["state"] == "evidence"
    eve = case.town.somebody("eve")
    with refused("not_found"):
        case.say(eve)
    with refused("not_found"):
        case.town.database.read_sync(lambda reader: show_dispute(reader, case.dispute_id, eve.id, sees_all=False))


def test_evidence_of_a_statement_is_ones_own_or_the_claims(case: Case) -> None:
    case.raised()
    with refused("evidence_incomplete"):
        case.say(case.seller, evidence=(DIGEST,))
    handed_in = case.town.database.read_sync(
        lambda reader: reader.execute("SELECT sha256 FROM artifacts WHERE account_id = ?", (case.seller.id,)).fetchone()
    )[0]
    case.say(case.buyer, evidence=(handed_in, handed_in))
    shown: dict[str, Any] = dict(
        case.town.database.read_sync(
            lambda reader: show_dispute(reader, case.dispute_id, case.seller.id, sees_all=False)
        )
    )
    assert [(one["role"], one["evidence"]) for one in shown["statements"]] == [("respondent", [handed_in])]
    assert shown["unread"] == 1
    case.do(case.seller, lambda entry: disputing.mark_read(entry, case.dispute_id))
    assert case.read().raiser_unread == 0


async def test_nobody_rules_in_a_case_of_their_own(case: Case) -> None:
    case.raised()
    await case.deliberated()
    owner = case.town.somebody("otto", scope=Scope.OPERATOR, kind=AccountKind.OPERATOR)
    with refused("scope_forbidden"):
        case.rule(For.SELLER, by=case.seller)

    def own(entry: StoryContext) -> Members:
        before = ACCOUNTS.find(entry.transaction, case.seller.id)
        ACCOUNTS.change(entry.transaction, entry.now_ms, before, replace(before, operator_id=owner.id))
        return {}

    case.do(None, own)
    with refused("related_party"):
        case.rule(For.SELLER, by=owner)
    assert case.rule(For.SELLER)["state"] == "ruled"


def test_no_ruling_before_the_sides_had_their_say(case: Case) -> None:
    case.raised()
    with refused("dispute_state"):
        case.rule(For.SELLER)


async def test_arbiters_find_what_waits_for_them(case: Case) -> None:
    case.raised()

    def waiting() -> list[DisputeSummary]:
        return case.town.database.read_sync(
            lambda reader: list_disputes(reader, case.judge.id, sees_all=True, waiting=True, after="", limit=9)
        )

    assert waiting() == []
    await case.deliberated()
    assert [one["dispute_id"] for one in waiting()] == [case.dispute_id]
    mine = case.town.database.read_sync(
        lambda reader: list_disputes(reader, case.buyer.id, sees_all=False, waiting=False, after="", limit=9)
    )
    assert [one["role"] for one in mine] == ["respondent"]


async def test_the_facts_lead_to_every_row_of_a_case(case: Case) -> None:
    case.raised()
    case.say(case.buyer)
    await case.deliberated()
    case.rule(For.SPLIT, usd(3))
    case.appeal(case.seller)
    case.rule(For.SPLIT, usd(5))
    found = case.town.database.read_sync(lambda reader: recompute(reader, SystemClock()))
    assert found.differences == ()
    total = case.town.database.read_sync(
        lambda reader: reader.execute("SELECT sum(credits_posted - debits_posted) FROM ledger_accounts").fetchone()[0]
    )
    assert total == 0
