"""Money on its way out: every state, every rail's answer, and what the books say meanwhile."""

from dataclasses import replace

import pytest

from earnest.effects.outside.rails.api import ManualRail, Order, RailAnswer, RailState
from earnest.foundation.errors import Refused, Unavailable
from earnest.identity.account import AccountKind, AccountStatus
from earnest.identity.key import Caller, Scope
from earnest.ledger.payout import MOVES, RETURNS_MS, SEND_WITHIN_MS, Payout, PayoutState, step, with_wake
from earnest.ledger.service import PAYOUTS, balance
from earnest.ledger.transfer import available, external, pending_out
from earnest.runtime.market.payouts import decide_payout, request_payout, set_destination, tend_payouts

from .conftest import Town, usd

UNDER_WAY = RailAnswer(state=RailState.UNDER_WAY, ref="po_1")
SETTLED = RailAnswer(state=RailState.SETTLED, ref="po_1")
FAILED = RailAnswer(state=RailState.FAILED, ref="po_1", reason="account_closed")


class ScriptedRail:
    """Answers from a list; an exception is raised, and the last answer stays."""

    def __init__(self, *answers: RailAnswer | Unavailable) -> None:
        self.answers = list(answers)
        self.sent: list[Order] = []
        self.looked: list[Order] = []

    async def send(self, order: Order) -> RailAnswer:
        self.sent.append(order)
        return self._next()

    async def look(self, order: Order) -> RailAnswer:
        self.looked.append(order)
        return self._next()

    def _next(self) -> RailAnswer:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Unavailable):
            raise answer
        return answer


class Bank:
    """Ann, with ten dollars and a destination; Olga, who operates."""

    def __init__(self, town: Town, rail: str = "stripe") -> None:
        self.town = town
        self.ann = town.somebody("ann", usd_micro=usd(10), aid_micro=usd(10))
        self.olga = town.somebody("olga", scope=Scope.OPERATOR, kind=AccountKind.OPERATOR)
        address = "acct_1" if rail == "stripe" else "IBAN 12"
        town.act(self.olga, lambda entry: set_destination(entry, self.ann.id, rail, address))

    def request(self, amount: int = usd(4), currency: str = "USD", caller: Caller | None = None) -> str:
        terms = self.town.market.terms
        asked = self.town.act(caller or self.ann, lambda entry: request_payout(entry, terms, currency, amount))
        return str(asked["payout_id"])

    def decide(self, payout_id: str, state: PayoutState, caller: Caller | None = None) -> None:
        said = {"reference": "ref", "reason": "said so"}
        self.town.act(caller or self.olga, lambda entry: decide_payout(entry, payout_id, state, **said))

    async def tend(self, rail: ScriptedRail | ManualRail, *, after_ms: int = 0) -> int:
        self.town.clock.jump_ms(after_ms)
        return await tend_payouts(self.town.market.desk, {"stripe": rail, "manual": rail})

    def payout(self, payout_id: str) -> Payout:
        return self.town.database.read_sync(lambda reader: PAYOUTS.find(reader, payout_id))

    def sums(self) -> tuple[int, int, int]:
        """Free, on its way, outside."""
        names = (available(self.ann.id, "USD"), pending_out(self.ann.id, "USD"), external("USD"))
        free, out, outside = self.town.database.read_sync(lambda reader: [balance(reader, name) for name in names])
        return free.free_micro, out.balance_micro + out.credits_pending, outside.balance_micro


async def sent(bank: Bank, *answers: RailAnswer | Unavailable) -> tuple[str, ScriptedRail]:
    payout_id, rail = bank.request(), ScriptedRail(*(answers or (UNDER_WAY,)))
    bank.decide(payout_id, PayoutState.APPROVED)
    assert await bank.tend(rail) == 1
    return payout_id, rail


HOUR_MS = 3_600_000


async def test_a_payout_settles_when_the_rail_says_so_and_not_before(town: Town) -> None:
    bank = Bank(town)
    payout_id, rail = await sent(bank, UNDER_WAY, UNDER_WAY, SETTLED)
    assert bank.payout(payout_id).state is PayoutState.SENT
    assert bank.sums() == (usd(6), usd(4), -usd(10))
    await bank.tend(rail, after_ms=HOUR_MS)
    assert bank.payout(payout_id).state is PayoutState.SENT
    await bank.tend(rail, after_ms=HOUR_MS)
    assert bank.payout(payout_id).state is PayoutState.SETTLED
    assert bank.sums() == (usd(6), 0, -usd(6))
    assert [(order.id, order.address, order.amount_micro, order.ref) for order in rail.looked][-1] == (
        payout_id,
        "acct_1",
        usd(4),
        "po_1",
    )


async def test_a_payout_that_fails_is_free_again(town: Town) -> None:
    bank = Bank(town)
    payout_id, rail = await sent(bank, UNDER_WAY, FAILED)
    await bank.tend(rail, after_ms=HOUR_MS)
    assert (bank.payout(payout_id).state, bank.payout(payout_id).reason) == (PayoutState.FAILED, "account_closed")
    assert bank.sums() == (usd(10), 0, -usd(10))
    assert await bank.tend(rail, after_ms=RETURNS_MS) == 0


async def test_what_comes_back_after_it_had_settled_is_a_new_credit(town: Town) -> None:
    bank = Bank(town)
    payout_id, rail = await sent(bank, UNDER_WAY, SETTLED, SETTLED, FAILED)
    for _ in range(3):
        await bank.tend(rail, after_ms=6 * HOUR_MS)
    assert bank.payout(payout_id).state is PayoutState.RETURNED
    assert bank.sums() == (usd(10), 0, -usd(10))


async def test_an_unreachable_rail_is_asked_again_by_the_same_order_and_later_each_time(town: Town) -> None:
    bank = Bank(town)
    payout_id, rail = await sent(bank, Unavailable("down"), Unavailable("down"), Unavailable("down"), UNDER_WAY)
    waits = []
    while bank.payout(payout_id).state is PayoutState.APPROVED:
        waits.append((bank.payout(payout_id).wake_ms or 0) - town.market.desk.now_ms())
        await bank.tend(rail, after_ms=waits[-1])
    assert waits == [120_000, 240_000, 480_000]
    assert {order.id for order in rail.sent} == {payout_id}
    assert bank.payout(payout_id).state is PayoutState.SENT


async def test_a_rail_that_stays_silent_is_not_asked_to_send_once_it_may_have_forgotten(town: Town) -> None:
    bank = Bank(town)
    payout_id, rail = await sent(bank, Unavailable("down"))
    hours = [await bank.tend(rail, after_ms=HOUR_MS) for _ in range(48)]
    assert sum(hours[20:]) == 0
    assert bank.payout(payout_id).wake_ms is None
    assert bank.sums() == (usd(6), usd(4), -usd(10))
    bank.decide(payout_id, PayoutState.FAILED)
    assert bank.sums() == (usd(10), 0, -usd(10))


async def test_after_a_long_pause_nothing_is_sent_that_may_have_been_sent_before(town: Town) -> None:
    bank, rail = Bank(town), ScriptedRail(UNDER_WAY)
    payout_id = bank.request()
    bank.decide(payout_id, PayoutState.APPROVED)
    assert await bank.tend(rail, after_ms=SEND_WITHIN_MS) == 1
    assert rail.sent == []
    assert (bank.payout(payout_id).state, bank.payout(payout_id).wake_ms) == (PayoutState.APPROVED, None)


async def test_without_its_rail_a_payout_waits(town: Town) -> None:
    bank = Bank(town)
    payout_id = bank.request()
    bank.decide(payout_id, PayoutState.APPROVED)
    assert await tend_payouts(town.market.desk, {}) == 1
    assert (bank.payout(payout_id).state, bank.payout(payout_id).reason) == (
        PayoutState.APPROVED,
        "the rail is not set up",
    )


async def test_an_answer_that_comes_too_late_changes_nothing(town: Town) -> None:
    bank = Bank(town)
    payout_id = bank.request()
    bank.decide(payout_id, PayoutState.APPROVED)

    class Slow(ScriptedRail):
        async def send(self, order: Order) -> RailAnswer:
            town.act(None, lambda entry: _fail(entry.transaction))
            return FAILED

    def _fail(transaction: object) -> dict[str, str]:
        payout = bank.payout(payout_id)
        failed = step(payout, PayoutState.SENT, town.market.desk.now_ms(), rail_ref="other")
        PAYOUTS.change(transaction, town.market.desk.now_ms(), payout, failed)  # type: ignore[arg-type]
        return {}

    await bank.tend(Slow(UNDER_WAY))
    assert (bank.payout(payout_id).state, bank.payout(payout_id).rail_ref) == (PayoutState.SENT, "other")


async def test_by_hand_the_operator_says_what_came_of_it(town: Town) -> None:
    bank, rail = Bank(town, "manual"), ManualRail()
    payout_id = bank.request()
    bank.decide(payout_id, PayoutState.APPROVED)
    await bank.tend(rail)
    assert bank.payout(payout_id).state is PayoutState.SENT
    assert await bank.tend(rail, after_ms=30 * 24 * HOUR_MS) == 0
    bank.decide(payout_id, PayoutState.SETTLED)
    assert bank.sums() == (usd(6), 0, -usd(6))
    bank.decide(payout_id, PayoutState.RETURNED)
    assert bank.sums() == (usd(10), 0, -usd(10))


async def test_where_a_rail_can_say_it_the_operator_cannot(town: Town) -> None:
    bank = Bank(town)
    payout_id, _ = await sent(bank)
    for state in PayoutState:
        with pytest.raises(Refused) as refused:
            bank.decide(payout_id, state)
        assert refused.value.code == "payout_state"
    assert bank.sums() == (usd(6), usd(4), -usd(10))


def test_only_the_operator_decides_and_only_a_live_key_asks(town: Town) -> None:
    bank = Bank(town)
    payout_id = bank.request()
    for scope in (Scope.REGISTERED, Scope.LIVE, Scope.HEARTBEAT, Scope.AUDITOR):
        with pytest.raises(Refused, match="may not do this"):
            bank.decide(payout_id, PayoutState.APPROVED, town.with_scope(bank.ann, scope))
    for scope in (Scope.REGISTERED, Scope.HEARTBEAT, Scope.OPERATOR, Scope.AUDITOR):
        with pytest.raises(Refused, match="may not do this"):
            bank.request(caller=town.with_scope(bank.ann, scope))
    with pytest.raises(Refused, match="may not do this"):
        town.act(bank.ann, lambda entry: set_destination(entry, bank.ann.id, "manual", "mine"))


@pytest.mark.parametrize(
    ("amount", "currency", "code"),
    [
        (usd(10) + 10_000, "USD", "insufficient_funds"),
        (999_999, "USD", "validation"),
        (0, "USD", "validation"),
        (-usd(1), "USD", "validation"),
        (usd(1) + 1, "USD", "validation"),
        (usd(1), "AID", "validation"),
        (usd(1), "EUR", "validation"),
    ],
)
def test_what_cannot_be_paid_out_is_refused(town: Town, amount: int, currency: str, code: str) -> None:
    bank = Bank(town)
    with pytest.raises(Refused) as refused:
        bank.request(amount, currency)
    assert refused.value.code == code
    assert bank.sums() == (usd(10), 0, -usd(10))


def test_money_cannot_be_asked_for_twice(town: Town) -> None:
    bank = Bank(town)
    bank.request(usd(6))
    with pytest.raises(Refused, match="has less"):
        bank.request(usd(5))
    bank.request(usd(4))


def test_an_account_that_is_not_ready_gets_no_money_out(town: Town) -> None:
    bank, bob = Bank(town), town.somebody("bob", usd_micro=usd(5))
    with pytest.raises(Refused) as refused:
        bank.request(caller=bob)
    assert refused.value.code == "onboarding_required"
    early = replace(bank.ann, account=replace(bank.ann.account, status=AccountStatus.ONBOARDING))
    with pytest.raises(Refused) as refused:
        bank.request(caller=early)
    assert refused.value.code == "onboarding_required"


@pytest.mark.parametrize(
    ("rail", "address"),
    [
        ("stripe", "acct_"),
        ("stripe", "acct_1/../2"),
        ("stripe", "x"),
        ("manual", ""),
        ("manual", "a\nb"),
        ("cash", "x"),
    ],
)
def test_an_address_that_the_rail_cannot_have_is_refused(town: Town, rail: str, address: str) -> None:
    bank = Bank(town)
    with pytest.raises(Refused) as refused:
        town.act(bank.olga, lambda entry: set_destination(entry, bank.ann.id, rail, address))
    assert refused.value.code == "validation"


def test_a_new_destination_does_not_move_what_is_under_way(town: Town) -> None:
    bank = Bank(town)
    payout_id = bank.request()
    town.act(bank.olga, lambda entry: set_destination(entry, bank.ann.id, "stripe", "acct_2"))
    assert bank.payout(payout_id).destination == "acct_1"


@pytest.mark.parametrize("before", PayoutState)
@pytest.mark.parametrize("after", PayoutState)
def test_a_payout_moves_only_as_the_table_says(before: PayoutState, after: PayoutState) -> None:
    payout = Payout(
        id="pay_1",
        account_id="act_a",
        currency="USD",
        amount_micro=1,
        state=before,
        rail="stripe",
        destination="acct_1",
        requested_at_ms=0,
    )
    if after in MOVES[before]:
        assert step(payout, after, 1_000).state is after
    else:
        with pytest.raises(Refused, match="cannot become"):
            step(payout, after, 1_000)


@pytest.mark.parametrize("state", PayoutState)
@pytest.mark.parametrize("tries", [0, 1, 40])
def test_the_clock_looks_later_or_never(state: PayoutState, tries: int) -> None:
    payout = Payout(
        id="pay_1",
        account_id="act_a",
        currency="USD",
        amount_micro=1,
        state=state,
        rail="stripe",
        destination="acct_1",
        requested_at_ms=0,
        changed_at_ms=1_000,
        tries=tries,
    )
    wake_ms = with_wake(payout, 5_000).wake_ms
    asked = {PayoutState.APPROVED, PayoutState.SENT, PayoutState.SETTLED}
    assert (wake_ms is not None) == (state in asked)
    assert wake_ms is None or wake_ms > 5_000 or (state is PayoutState.APPROVED and tries == 0)
    assert with_wake(payout, RETURNS_MS + 5_000).wake_ms is None
