"""What the platform gives, and how money comes in."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from earnest.foundation.errors import Refused
from earnest.identity.account import AccountKind
from earnest.identity.key import Caller, Scope
from earnest.ledger.service import balance
from earnest.ledger.transfer import available, treasury
from earnest.market import settlement
from earnest.market.terms import MICRO
from earnest.runtime.market.money import (
    DEPOSITS_WAITING_MAX,
    ask_deposit,
    decide_deposit,
    give,
    grant_genesis,
    open_treasury,
)

from .conftest import Town, usd

ASKED: Mapping[str, Any] = {"currency": "USD", "amount_micro": usd(5), "reference": "transfer 17"}


def have(town: Town, caller: Caller | None, currency: str = "USD") -> int:
    name = treasury(currency) if caller is None else available(caller.id, currency)
    return town.database.read_sync(lambda reader: balance(reader, name).balance_micro)


def operator(town: Town) -> Caller:
    return town.somebody("olga", scope=Scope.OPERATOR, kind=AccountKind.OPERATOR)


def ask(town: Town, caller: Caller, asked: Mapping[str, Any] = ASKED) -> str:
    return str(town.act(caller, lambda entry: ask_deposit(entry, town.market.terms, **asked))["deposit_id"])


def test_the_treasury_is_filled_once(town: Town) -> None:
    terms = town.market.terms
    first = town.act(None, lambda entry: open_treasury(entry, terms))
    later = town.act(None, lambda entry: open_treasury(entry, replace(terms, treasury_aid_micro=1)))
    assert (first, later) == ({"opened_micro": terms.treasury_aid_micro}, {"opened_micro": 0})
    assert have(town, None, "AID") == terms.treasury_aid_micro


def test_genesis_is_given_once_an_account(town: Town) -> None:
    ann, terms = town.somebody("ann"), town.market.terms
    town.act(None, lambda entry: open_treasury(entry, terms))
    for expected in (100 * MICRO, 0):
        given = town.act(None, lambda entry: {"given": grant_genesis(entry, terms, ann.id)})
        assert given == {"given": expected}
    more = replace(terms, genesis_aid_micro=200 * MICRO)
    assert town.act(None, lambda entry: {"given": grant_genesis(entry, more, ann.id)}) == {"given": 0}
    assert have(town, ann, "AID") == 100 * MICRO
    assert have(town, None, "AID") == terms.treasury_aid_micro - 100 * MICRO


def test_a_treasury_that_holds_too_little_gives_nothing(town: Town) -> None:
    ann, poor = town.somebody("ann"), replace(town.market.terms, treasury_aid_micro=100 * MICRO - 1)
    town.act(None, lambda entry: open_treasury(entry, poor))
    assert town.act(None, lambda entry: {"given": grant_genesis(entry, poor, ann.id)}) == {"given": 0}
    some = replace(poor, genesis_aid_micro=60 * MICRO)
    assert town.act(None, lambda entry: {"given": grant_genesis(entry, some, ann.id)}) == {"given": 60 * MICRO}
    gift = settlement.genesis("act_other", some, town.market.desk.now_ms())
    assert town.act(None, lambda entry: {"given": give(entry, gift)}) == {"given": 0}


def test_a_deposit_is_there_once_the_operator_has_confirmed_it(town: Town) -> None:
    ann, olga = town.somebody("ann"), operator(town)
    deposit_id = ask(town, ann)
    assert have(town, ann) == 0
    confirmed = town.act(olga, lambda entry: decide_deposit(entry, deposit_id, confirmed=True, reason=""))
    assert confirmed == {"deposit_id": deposit_id, "state": "confirmed"}
    assert have(town, ann) == usd(5)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_a_deposit_is_decided_once(town: Town, first: bool, second: bool) -> None:
    ann, olga = town.somebody("ann"), operator(town)
    deposit_id = ask(town, ann)
    town.act(olga, lambda entry: decide_deposit(entry, deposit_id, confirmed=first, reason=""))
    with pytest.raises(Refused) as refused:
        town.act(olga, lambda entry: decide_deposit(entry, deposit_id, confirmed=second, reason=""))
    assert refused.value.code == "deposit_state"
    assert have(town, ann) == (usd(5) if first else 0)


def test_nobody_confirms_their_own_money(town: Town) -> None:
    ann = town.somebody("ann")
    deposit_id = ask(town, ann)
    for scope in (Scope.REGISTERED, Scope.LIVE, Scope.HEARTBEAT, Scope.AUDITOR):
        with pytest.raises(Refused, match="may not do this"):
            town.act(
                town.with_scope(ann, scope),
                lambda entry: decide_deposit(entry, deposit_id, confirmed=True, reason=""),
            )
    assert have(town, ann) == 0


def test_ai_dollars_do_not_come_from_outside(town: Town) -> None:
    ann = town.somebody("ann")
    for currency in ("AID", "XXX"):
        with pytest.raises(Refused, match="from outside"):
            ask(town, ann, {**ASKED, "currency": currency})


def test_one_account_cannot_flood_the_operator_with_deposits(town: Town) -> None:
    ann, bob = town.somebody("ann"), town.somebody("bob")
    for _ in range(DEPOSITS_WAITING_MAX):
        ask(town, ann)
    with pytest.raises(Refused, match="wait for the operator"):
        ask(town, ann)
    ask(town, bob)


def test_more_than_the_books_can_hold_is_not_confirmed(town: Town) -> None:
    ann, olga = town.somebody("ann", usd_micro=1), operator(town)
    deposit_id = ask(town, ann, {**ASKED, "amount_micro": 9 * 10**15})
    with pytest.raises(Refused) as refused:
        town.act(olga, lambda entry: decide_deposit(entry, deposit_id, confirmed=True, reason=""))
    assert refused.value.code == "limit_reached"
    assert have(town, ann) == 1
