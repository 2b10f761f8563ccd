"""Each fault of a transfer, which of several is told, and what a chain may do within itself."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.foundation.errors import Broken, Refused
from earnest.ledger.rules import (
    AMOUNT_MICRO_MAX,
    CHAIN_TRANSFERS_MAX,
    SUM_MICRO_MAX,
    LedgerAccount,
    TransferFault,
    check,
    is_repeated,
)
from earnest.ledger.transfer import Transfer, TransferKind, available, ended, external, is_guarded, moved, reserved

A, B = available("act_a", "USD"), available("act_b", "USD")
OUTSIDE = external("USD")
RICH = {A: LedgerAccount(id=A, currency="USD", guarded=True, credits_posted=100)}


def transfer(**changes: Any) -> Transfer:
    (one,) = moved("clm_1/x", A, B, 10, reason="test", at_ms=1_000)
    return replace(one, **changes)


(HELD,) = reserved("clm_1/held", A, B, 10, reason="test", at_ms=1_000)
(POSTED_HOLD,) = ended((HELD,), 10, reason="test", at_ms=2_000)

WRONG: tuple[tuple[Transfer, TransferFault], ...] = (
    (transfer(id=""), TransferFault.ID),
    (transfer(id="x" * 257), TransferFault.ID),
    (transfer(id="clm_1/held"), TransferFault.EXISTS),
    (transfer(amount_micro=0), TransferFault.AMOUNT),
    (transfer(amount_micro=-1), TransferFault.AMOUNT),
    (transfer(amount_micro=True), TransferFault.AMOUNT),
    (transfer(amount_micro=1.0), TransferFault.AMOUNT),
    (transfer(amount_micro="1"), TransferFault.AMOUNT),
    (transfer(amount_micro=float("nan")), TransferFault.AMOUNT),
    (transfer(amount_micro=AMOUNT_MICRO_MAX + 1), TransferFault.AMOUNT),
    (transfer(credit=A), TransferFault.ACCOUNTS),
    (transfer(credit=available("act_b", "AID")), TransferFault.CURRENCY),
    (transfer(currency="AID"), TransferFault.CURRENCY),
    (transfer(pending_id="clm_1/held"), TransferFault.PENDING_ID),
    (transfer(kind=TransferKind.POST), TransferFault.PENDING_ID),
    (transfer(kind=TransferKind.POST, pending_id="clm_1/none"), TransferFault.PENDING_MISSING),
    (transfer(kind=TransferKind.VOID, pending_id="clm_1/moved"), TransferFault.PENDING_MISSING),
    (transfer(kind=TransferKind.POST, pending_id="clm_1/held", credit=OUTSIDE), TransferFault.PENDING_DIFFERS),
    (transfer(kind=TransferKind.POST, pending_id="clm_1/held", amount_micro=11), TransferFault.PENDING_AMOUNT),
    (transfer(kind=TransferKind.VOID, pending_id="clm_1/held", amount_micro=9), TransferFault.PENDING_AMOUNT),
    (transfer(kind=TransferKind.POST, pending_id="clm_1/posted"), TransferFault.RESOLVED),
    (transfer(kind=TransferKind.VOID, pending_id="clm_1/voided"), TransferFault.RESOLVED),
    (transfer(amount_micro=91), TransferFault.FUNDS),
    (transfer(debit=B, credit=A, amount_micro=1), TransferFault.FUNDS),
    (transfer(debit=OUTSIDE, amount_micro=AMOUNT_MICRO_MAX), TransferFault.FULL),
)
KNOWN = {
    "clm_1/held": HELD,
    "clm_1/moved": transfer(id="clm_1/moved"),
    "clm_1/posted": replace(HELD, id="clm_1/posted", resolved="post"),
    "clm_1/voided": replace(HELD, id="clm_1/voided", resolved="void"),
}
SUMS = {
    A: LedgerAccount(id=A, currency="USD", guarded=True, credits_posted=100, debits_pending=10),
    OUTSIDE: LedgerAccount(id=OUTSIDE, currency="USD", guarded=False, debits_posted=100),
}


@pytest.mark.parametrize(("wrong", "fault"), WRONG, ids=lambda one: getattr(one, "name", ""))
def test_each_fault_is_told(wrong: Transfer, fault: TransferFault) -> None:
    with pytest.raises((Refused, Broken), match=str(fault)):
        check((wrong,), KNOWN, SUMS)


def test_every_fault_is_in_the_table() -> None:
    assert {fault for _, fault in WRONG} == set(TransferFault)


def test_of_several_faults_the_first_in_order_is_told() -> None:
    told = []
    everything = transfer(id="", amount_micro=0, credit=A, currency="AID", kind=TransferKind.POST)
    for fault, mended in (
        (TransferFault.ID, {"id": "clm_1/held"}),
        (TransferFault.EXISTS, {"id": "clm_1/new"}),
        (TransferFault.AMOUNT, {"amount_micro": 50}),
        (TransferFault.ACCOUNTS, {"credit": available("act_b", "AID")}),
        (TransferFault.CURRENCY, {"currency": "USD", "credit": OUTSIDE}),
        (TransferFault.PENDING_ID, {"pending_id": "clm_1/none"}),
        (TransferFault.PENDING_MISSING, {"pending_id": "clm_1/posted"}),
        (TransferFault.PENDING_DIFFERS, {"credit": B}),
        (TransferFault.PENDING_AMOUNT, {"amount_micro": 10}),
        (TransferFault.RESOLVED, {"kind": TransferKind.POSTED, "pending_id": None, "amount_micro": 91}),
        (TransferFault.FUNDS, {}),
    ):
        with pytest.raises((Refused, Broken), match=str(fault)):
            check((everything,), KNOWN, SUMS)
        everything = replace(everything, **mended)
        told.append(fault)
    assert [*told, TransferFault.FULL] == list(TransferFault)


def test_what_requests_lead_to_is_refused_with_a_code_and_its_currency() -> None:
    for one, code, more in (
        (transfer(amount_micro=91), "insufficient_funds", {"have_micro": 90, "need_micro": 91}),
        (transfer(id="clm_1/held"), "transfer_exists", {}),
        (transfer(debit=OUTSIDE, amount_micro=AMOUNT_MICRO_MAX), "limit_reached", {}),
    ):
        with pytest.raises(Refused) as refused:
            check((one,), KNOWN, SUMS)
        assert (refused.value.code, refused.value.details) == (code, {"currency": "USD", **more})


def test_a_chain_may_spend_what_an_earlier_transfer_of_it_has_brought() -> None:
    check((*moved("a", OUTSIDE, A, 5, reason="in", at_ms=0), *moved("b", A, B, 5, reason="on", at_ms=0)), {}, {})
    with pytest.raises(Refused, match="has less"):
        check((*moved("b", A, B, 5, reason="on", at_ms=0), *moved("a", OUTSIDE, A, 5, reason="in", at_ms=0)), {}, {})


def test_what_is_only_reserved_for_an_account_cannot_be_spent() -> None:
    chain = (*reserved("a", OUTSIDE, A, 5, reason="in", at_ms=0), *moved("b", A, B, 1, reason="on", at_ms=0))
    with pytest.raises(Refused, match="has less"):
        check(chain, {}, {})


def test_a_chain_may_reserve_and_end_it_but_not_twice() -> None:
    held = reserved("a", A, B, 40, reason="hold", at_ms=0)
    end = ended(held, 15, reason="end", at_ms=0)
    spent = moved("c", A, OUTSIDE, 85, reason="on", at_ms=0)
    check((*held, *end, *spent), {}, RICH)
    with pytest.raises(Broken, match="has ended"):
        check((*held, *end, replace(end[0], id="again")), {}, RICH)


def test_a_chain_has_one_instant_and_a_bounded_length() -> None:
    one = moved("a", OUTSIDE, A, 1, reason="in", at_ms=0)
    with pytest.raises(Broken):
        check((*one, *moved("b", OUTSIDE, A, 1, reason="in", at_ms=1)), {}, {})
    long = tuple(replace(one[0], id=str(n)) for n in range(CHAIN_TRANSFERS_MAX + 1))
    check(long[1:], {}, {})
    with pytest.raises(Broken):
        check(long, {}, {})


def test_sums_that_sqlite_could_not_hold_are_refused() -> None:
    worn = LedgerAccount(
        id=A, currency="USD", guarded=True, debits_posted=SUM_MICRO_MAX + 1, credits_posted=SUM_MICRO_MAX + 11
    )
    with pytest.raises(Refused, match="cannot hold more"):
        check((transfer(amount_micro=1),), {}, {A: worn})
    with pytest.raises(Refused, match="cannot hold more"):
        check(moved("a", OUTSIDE, A, 1, reason="in", at_ms=0), {}, {A: worn})


def test_the_same_content_at_a_later_instant_is_the_same_transfer() -> None:
    booked = {"clm_1/held": replace(HELD, resolved="post")}
    assert is_repeated((replace(HELD, at_ms=9_000),), booked)
    assert not is_repeated((replace(HELD, amount_micro=11),), booked)
    assert not is_repeated((HELD, transfer()), booked)


@pytest.mark.parametrize("name", ["act_platform:external:USD:available:USD", "platform:fees:USD", "act_a:external:USD"])
def test_only_the_world_outside_may_owe(name: str) -> None:
    assert is_guarded(name)
    assert not is_guarded(external("AID"))


@given(st.integers(1, AMOUNT_MICRO_MAX), st.integers(0, AMOUNT_MICRO_MAX))
def test_nobody_gives_more_than_they_have(amount: int, have: int) -> None:
    accounts = {A: LedgerAccount(id=A, currency="USD", guarded=True, credits_posted=have)}
    if amount <= have:
        check((transfer(amount_micro=amount),), {}, accounts)
    else:
        with pytest.raises(Refused, match="has less"):
            check((transfer(amount_micro=amount),), {}, accounts)
