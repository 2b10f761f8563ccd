"""Does a claim, through whatever happens, stay what a clerk with the rulings at hand would have written down?"""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from earnest.foundation.errors import Refused
from earnest.market.claims import contest, ending, extension, judgement, working
from earnest.market.claims.claim import TERMINAL, WORKING, Actor, ClaimState, is_overdue
from earnest.market.claims.clock import clock
from earnest.market.claims.deadlines import with_wake
from earnest.market.claims.moving import ClaimTransition
from earnest.market.homes.priority import due_soon_at_ms

from .claims import CRITERIA, NOW, SELLER, TERMS, a_job
from .paper import AMOUNT, DAY, HOUR, Paper

ENDED = {state.value for state in TERMINAL}
SIDES = st.sampled_from([Actor.SELLER, Actor.BUYER])
ACCEPTANCES = st.sampled_from(["machine", "buyer", "proposer", "human"])
Rule: TypeAlias = Callable[..., Any]
CITED = st.sampled_from([[], ["C1"], ["C1", "C2"], ["C9"]])
WORKS = ("claimed", "in_progress")
HANDED_IN = ("submitted", "verified")


def when(*words: str) -> Callable[[Rule], Rule]:
    """The states to try a rule in: what the table forbids in the others is tried, all of it, in `test_claim_steps`."""
    return precondition(lambda machine: machine.paper.word in words)


class ClaimAndPaper(RuleBasedStateMachine):
    """Each rule is a wish. The clerk says whether it is granted; the claim must say the same."""

    @initialize(acceptance=ACCEPTANCES, automatic=st.booleans(), handed_in=st.booleans())
    def claim_it(self, acceptance: str, automatic: bool, handed_in: bool) -> None:
        job = a_job(acceptance=acceptance, auto_extend=automatic, amount_micro=AMOUNT)
        self.claim = working.open_claim("clm_1", job, SELLER, NOW)
        self.paper = Paper(acceptance, automatic)
        self.said: list[str] = []
        self.revision = 0
        if handed_in:
            self.submit()

    @when(*ENDED)
    @rule(acceptance=ACCEPTANCES, automatic=st.booleans())
    def claim_another(self, acceptance: str, automatic: bool) -> None:
        self.claim_it(acceptance, automatic, handed_in=True)

    @property
    def now_ms(self) -> int:
        return NOW + self.paper.now * 1_000

    def _wish(self, granted: bool, take: Callable[[], ClaimTransition]) -> bool:
        """The claim grants it if the clerk does, and is unchanged otherwise."""
        if not granted:
            with pytest.raises(Refused) as refused:
                take()
            assert (refused.value.code == "claim_expired") == (self.claim.state is ClaimState.EXPIRED)
            return False
        moved = take()
        self._moved(moved)
        return True

    def _moved(self, moved: ClaimTransition) -> None:
        assert (moved.claim.id, moved.claim.amount_micro) == ("clm_1", AMOUNT)
        self.claim = moved.claim
        self.said += [signal.kind for signal in moved.signals]

    @rule(seconds=st.sampled_from([1, HOUR, 5 * HOUR, 12 * HOUR, DAY, 2 * DAY, 4 * DAY, 15 * DAY]))
    def time_passes(self, seconds: int) -> None:
        self.paper.wait(seconds)
        for moved in clock(self.claim, self.now_ms, TERMS):
            self._moved(moved)

    @rule(before=st.sampled_from([0, 0, 1]))
    def time_passes_until_the_clock_is_due(self, before: int) -> None:
        if self.claim.wake_ms is not None and self.claim.wake_ms - before * 1_000 > self.now_ms:
            self.time_passes((self.claim.wake_ms - self.now_ms) // 1_000 - before)

    @when("claimed")
    @rule()
    def start(self) -> None:
        if self._wish(self.paper.word == "claimed", lambda: working.start(self.claim, self.now_ms)):
            self.paper.word = "in_progress"

    @when(*WORKS, "changes_requested", "submitted")
    @rule()
    def submit(self) -> None:
        self.revision += self._wish(
            self.paper.hand_in(), lambda: working.submit(self.claim, self.now_ms, TERMS, f"sha256:{self.revision}")
        )

    @when("submitted")
    @rule(answer=st.sampled_from(["verified", "not_verified", "unclear"]))
    def machine(self, answer: str) -> None:
        if self._wish(
            self.paper.judge(answer), lambda: judgement.verdict_given(self.claim, answer, self.now_ms, TERMS)
        ):
            self.time_passes(0)  # after a late yes, the silence before it counts

    @when(*WORKS)
    @rule(seconds=st.sampled_from([-1, 0, 1, 6 * HOUR, 6 * HOUR + 1, DAY, 100 * DAY]))
    def ask_for_time(self, seconds: int) -> None:
        paper = self.paper
        in_time = paper.working and paper.now < paper.due
        within = 1 <= seconds <= 90 * DAY - (paper.due - paper.begun)
        quarter = (paper.due - paper.begun) // 4
        if self._wish(in_time and within, lambda: extension.ask_extension(self.claim, seconds, self.now_ms, TERMS)):
            if paper.automatic and not paper.stretched and seconds <= quarter:
                paper.stretched = True
                paper.stretch(seconds)
            else:
                paper.asked = seconds

    @when(*WORKS)
    @rule(granted=st.booleans())
    def answer_about_time(self, granted: bool) -> None:
        paper, answer = self.paper, extension.grant_extension if granted else extension.refuse_extension
        if self._wish(paper.working and paper.asked > 0, lambda: answer(self.claim, self.now_ms)):
            if granted:
                paper.stretch(paper.asked)
            paper.asked = 0

    @when(*WORKS, "changes_requested")
    @rule()
    def seller_gives_up(self) -> None:
        paper = self.paper
        late = paper.now >= paper.due
        sent_back = paper.word == "changes_requested"
        if self._wish(paper.working or sent_back, lambda: working.cancel(self.claim, self.now_ms)):
            mark = "withdrew" if sent_back else "late_cancel" if late else "early_cancel"
            paper.end("refunding" if sent_back else "cancelled", mark)

    @when("claimed")
    @rule()
    def buyer_takes_it_back(self) -> None:
        paper = self.paper
        granted = paper.word == "claimed" and paper.now < paper.due
        if self._wish(granted, lambda: working.buyer_cancel(self.claim, self.now_ms)):
            paper.end("cancelled")

    @when(*WORKS)
    @rule()
    def buyer_waits_no_longer(self) -> None:
        paper = self.paper
        if self._wish(paper.working and paper.now >= paper.due, lambda: working.buyer_refund(self.claim, self.now_ms)):
            paper.end("expired", "missed_deadline")

    @when("in_progress")
    @rule(side=SIDES)
    def call_it_off(self, side: Actor) -> None:
        paper = self.paper
        if self._wish(paper.word == "in_progress", lambda: working.ask_mutual_cancel(self.claim, side, self.now_ms)):
            paper.off.add(side.value)
            if len(paper.off) == 2:
                paper.end("cancelled")

    @when(*HANDED_IN)
    @rule()
    def accept(self) -> None:
        if self._wish(self.paper.handed_in, lambda: judgement.accept(self.claim, self.now_ms)):
            self.paper.end("releasing")

    @when(*HANDED_IN)
    @rule(cited=CITED)
    def ask_for_changes(self, cited: list[str]) -> None:
        paper = self.paper
        granted = paper.handed_in and paper.revisions > 0 and set(cited) <= CRITERIA and cited != []
        if self._wish(
            granted, lambda: judgement.request_changes(self.claim, cited, "", self.now_ms, criteria=CRITERIA)
        ):
            paper.send_back()

    @when("submitted")
    @rule(cited=CITED)
    def decline(self, cited: list[str]) -> None:
        paper = self.paper
        theirs = paper.word == "submitted" and paper.acceptance in {"buyer", "proposer"}
        granted = theirs and set(cited) <= CRITERIA and cited != []
        if self._wish(granted, lambda: judgement.decline(self.claim, cited, "", self.now_ms, TERMS, criteria=CRITERIA)):
            paper.turn_down()

    @when(*HANDED_IN)
    @rule(passed=st.booleans(), cited=CITED)
    def operator(self, passed: bool, cited: list[str]) -> None:
        paper = self.paper
        if passed:
            granted = paper.handed_in and paper.may_operator()
            if self._wish(granted, lambda: judgement.human_pass(self.claim, "", self.now_ms)):
                paper.end("releasing")
            return
        granted = paper.word == "submitted" and paper.may_operator() and set(cited) <= CRITERIA and cited != []
        if self._wish(
            granted, lambda: judgement.human_fail(self.claim, cited, "", self.now_ms, TERMS, criteria=CRITERIA)
        ):
            paper.turn_down()

    @when("declined")
    @rule()
    def seller_agrees(self) -> None:
        if self._wish(self.paper.word == "declined", lambda: judgement.concede(self.claim, self.now_ms)):
            self.paper.end("refunding", "refunded")

    @when("declined")
    @rule()
    def buyer_thinks_again(self) -> None:
        if self._wish(self.paper.word == "declined", lambda: judgement.undecline(self.claim, self.now_ms)):
            self.paper.end("releasing")

    @when(*HANDED_IN, "changes_requested", "declined")
    @rule(side=SIDES)
    def dispute(self, side: Actor) -> None:
        granted = self.paper.handed_in or self.paper.word in {"changes_requested", "declined"}
        limit_ms = self.now_ms + 21 * DAY * 1_000
        if self._wish(granted, lambda: contest.dispute_confirmed(self.claim, side, "dsp_1", limit_ms, self.now_ms)):
            self.paper.stop()

    @when("disputed")
    @rule()
    def withdraw_the_dispute(self) -> None:
        granted = self.paper.word == "disputed"
        if self._wish(granted, lambda: contest.dispute_withdrawn(self.claim, self.now_ms, TERMS)):
            self.paper.go_on()

    @when("disputed")
    @rule(seller_micro=st.sampled_from([-1, 0, 1, AMOUNT // 2, AMOUNT, AMOUNT + 1]))
    def arbiter(self, seller_micro: int) -> None:
        paper, disputed = self.paper, self.paper.word == "disputed"
        if seller_micro == AMOUNT:
            if self._wish(disputed, lambda: contest.ruled_seller(self.claim, self.now_ms)):
                paper.end("releasing")
        elif seller_micro == 0:
            if self._wish(disputed, lambda: contest.ruled_buyer(self.claim, self.now_ms)):
                paper.end("refunding", "refunded")
        else:
            granted = disputed and 0 < seller_micro < AMOUNT
            parts = (seller_micro, AMOUNT - seller_micro)
            if self._wish(granted, lambda: contest.ruled_split(self.claim, *parts, self.now_ms)):
                paper.seller_gets = seller_micro
                paper.end("releasing", "split")

    @when("releasing", "refunding")
    @rule(works=st.booleans())
    def ledger(self, works: bool) -> None:
        paper, settling = self.paper, self.paper.word in {"releasing", "refunding"}
        if not works:
            self._wish(settling, lambda: ending.settle_failed(self.claim, self.now_ms))
        elif self._wish(settling, lambda: ending.settled(self.claim, self.now_ms, TERMS)):
            if paper.word == "refunding":
                paper.end("refunded")
            else:
                paper.end("released", "released" if paper.seller_gets == AMOUNT else "")

    @invariant()
    def the_claim_says_what_is_on_paper(self) -> None:
        claim, paper = self.claim, self.paper
        assert claim.state.value == paper.word
        assert (claim.revisions_left, claim.revision) == (paper.revisions, self.revision)
        assert self.said == paper.said
        if claim.state in WORKING:
            assert (claim.start_at_ms, claim.due_at_ms) == (NOW + paper.begun * 1_000, NOW + paper.due * 1_000)
            assert is_overdue(claim, self.now_ms) == (paper.now >= paper.due)
            left = paper.due - paper.now
            assert (self.now_ms >= due_soon_at_ms(claim)) == (4 * left < paper.due - paper.begun)
        if paper.word in {"submitted", "verified"}:
            assert claim.escalated == paper.told

    @invariant()
    def nothing_is_said_twice_and_only_one_end_is_marked(self) -> None:
        assert len(set(self.said)) == len(self.said)
        assert len(set(self.said) - {"late"}) <= 1

    @invariant()
    def money_adds_up(self) -> None:
        claim = self.claim
        if claim.settlement_seller_micro is not None and claim.settlement_buyer_micro is not None:
            assert claim.settlement_seller_micro == self.paper.seller_gets
            assert claim.settlement_seller_micro + claim.settlement_buyer_micro == AMOUNT

    @invariant()
    def somebody_looks_at_it_again_as_long_as_it_has_not_ended(self) -> None:
        claim = self.claim
        assert claim == with_wake(claim)
        if claim.state not in TERMINAL:
            assert claim.wake_ms is not None
            settling = claim.state in {ClaimState.RELEASING, ClaimState.REFUNDING}
            assert settling or claim.wake_ms > self.now_ms
            assert claim.wake_ms <= self.now_ms + 130 * DAY * 1_000

    def teardown(self) -> None:
        """Left alone, it ends, and has said at most one thing more."""
        if not hasattr(self, "claim"):
            return
        for _ in range(10):
            if self.paper.word in {"releasing", "refunding"}:
                self.ledger(works=True)
            if self.paper.word in ENDED:
                break
            self.time_passes_until_the_clock_is_due(before=0)
            self.the_claim_says_what_is_on_paper()
        assert self.claim.state in TERMINAL


TestClaimAndPaper = ClaimAndPaper.TestCase
TestClaimAndPaper.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
