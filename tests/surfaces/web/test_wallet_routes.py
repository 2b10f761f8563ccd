"""Money over HTTP: who may do what, and what everybody sees."""

import sqlite3
from typing import Any

import pytest

from books_file import file_of
from earnest.effects.outside.rails.api import ManualRail
from earnest.ledger import service as ledger
from earnest.ledger.transfer import available, external, moved
from earnest.runtime.market.payouts import tend_payouts
from earnest.surfaces.web.requests import cursor_of
from earnest.surfaces.web.wallet import SOLVENCY_KEPT_MS

from .conftest import Site

USD = 1_000_000


class People:
    """Olga, who operates, and her agent Ann."""

    def __init__(self, site: Site, olga: str, ann: dict[str, Any]) -> None:
        self.site, self.olga, self.ann = site, olga, ann

    async def get(self, path: str, key: str) -> Any:
        answer = await self.site.ask("GET", path, key=key)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, key: str, body: object, status: int = 200) -> Any:
        answer = await self.site.ask("POST", path, key=key, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def deposit(self, amount: int) -> None:
        asked = {"currency": "USD", "amount_micro": amount, "reference": "transfer 17"}
        deposit = await self.post("/deposits", self.ann["live"], asked, 201)
        await self.post(f"/operator/deposits/{deposit['deposit_id']}/decision", self.olga, {"confirmed": True})

    async def enable_payouts(self) -> None:
        account = f"/operator/accounts/{self.ann['id']}"
        await self.post(f"{account}/destination", self.olga, {"rail": "manual", "address": "IBAN 12"})
        await self.post(f"{account}/enable-payouts", self.olga, {"reason": "known"})

    async def dollars(self) -> Any:
        wallet = await self.get("/wallet", self.ann["live"])
        return next(one for one in wallet["balances"] if one["currency"] == "USD")


@pytest.fixture
async def people(site: Site) -> People:
    olga = await site.operator()
    return People(site, olga, await site.agent("ann", olga))


@pytest.mark.slow
async def test_a_wallet_shows_what_came_in_and_what_is_laid_aside(people: People) -> None:
    await people.deposit(10 * USD)
    await people.enable_payouts()
    await people.post("/payouts", people.ann["live"], {"currency": "USD", "amount_micro": 4 * USD}, 201)
    assert await people.dollars() == {
        "currency": "USD",
        "balance_micro": 10 * USD,
        "withdrawable_micro": 6 * USD,
        "available_micro": 10 * USD,
        "reserved_micro": 4 * USD,
        "pending_micro": 0,
        "held_micro": 0,
    }
    wallet = await people.get("/wallet", people.ann["hb"])
    assert [one["state"] for one in wallet["payouts_under_way"]] == ["requested"]
    assert next(one for one in wallet["balances"] if one["currency"] == "AID")["balance_micro"] == 100 * USD


async def test_a_payout_goes_from_request_to_settled(people: People) -> None:
    await people.deposit(10 * USD)
    await people.enable_payouts()
    asked = await people.post("/payouts", people.ann["live"], {"currency": "USD", "amount_micro": 4 * USD}, 201)
    decision = f"/operator/payouts/{asked['payout_id']}/decision"
    waiting = await people.get("/operator/money", people.olga)
    assert [(one["payout_id"], one["destination"]) for one in waiting["payouts"]] == [(asked["payout_id"], "IBAN 12")]
    await people.post(decision, people.olga, {"state": "approved"})
    await tend_payouts(people.site.market.desk, {"manual": ManualRail()})
    await people.post(decision, people.olga, {"state": "settled", "reference": "wire 9"})
    shown = await people.get(f"/payouts/{asked['payout_id']}", people.ann["live"])
    assert (shown["state"], shown["amount_micro"]) == ("settled", 4 * USD)
    assert (await people.dollars())["balance_micro"] == 6 * USD
    assert (await people.get("/operator/money", people.olga))["payouts"] == []
    refused = await people.post(decision, people.olga, {"state": "approved"}, 409)
    assert refused["code"] == "payout_state"


async def test_every_entry_is_listed_once_whatever_the_page(people: People) -> None:
    for _ in range(3):
        await people.deposit(2 * USD)
    await people.enable_payouts()
    payout = await people.post("/payouts", people.ann["live"], {"currency": "USD", "amount_micro": USD}, 201)
    decision = f"/operator/payouts/{payout['payout_id']}/decision"
    for state in ("approved", "sent", "settled"):
        await people.post(decision, people.olga, {"state": state})
    whole = (await people.get("/wallet/entries?limit=100", people.ann["live"]))["data"]
    assert [(one["reason"], one["direction"]) for one in whole if one["account"] == "pending_out"] == [
        ("paid_out", "out"),
        ("payout", "in"),
        ("payout_held", "in"),
    ]
    for limit in (1, 2, 3):
        seen, cursor = [], ""
        while True:
            found = await people.get(f"/wallet/entries?limit={limit}&cursor={cursor}", people.ann["live"])
            assert len(found["data"]) <= limit
            seen += found["data"]
            if not found["next_cursor"]:
                break
            cursor = found["next_cursor"]
        assert seen == whole
    moving = {"posted", "post"}
    spendable = sum(
        one["amount_micro"] * (1 if one["direction"] == "in" else -1)
        for one in whole
        if one["account"] == "available" and one["currency"] == "USD" and one["kind"] in moving
    )
    assert spendable == (await people.dollars())["available_micro"] == 5 * USD
    only = await people.get("/wallet/entries?currency=AID", people.ann["live"])
    assert [one["reason"] for one in only["data"]] == ["genesis"]


async def test_a_cursor_that_names_transfers_of_others_shows_none_of_them(people: People) -> None:
    await people.deposit(2 * USD)
    bob = await people.site.agent("bob", people.olga)
    own = (await people.get("/wallet/entries?limit=100", bob["live"]))["data"]
    assert own
    for number in range(1, 20):
        forged = cursor_of(".".join([str(number)] * 6))
        found = await people.get(f"/wallet/entries?limit=100&cursor={forged}", bob["live"])
        assert all(entry in own for entry in found["data"])


@pytest.mark.parametrize(
    "cursor", ["x", "YzE6MQ==", "YzE6MS4xLjE=", "YzE6Li4=", "YzE6OTk5OTk5OTk5OTk5OTk5OTk5OTkuMS4x"]
)
async def test_a_cursor_of_somebody_elses_making_is_harmless(people: People, cursor: str) -> None:
    answer = await people.site.ask("GET", f"/wallet/entries?cursor={cursor}", key=people.ann["live"])
    assert answer.status_code in {200, 400}
    assert answer.status_code == 200 or answer.json()["code"] == "bad_cursor"


@pytest.mark.parametrize(
    "body",
    [
        {"currency": "USD", "amount_micro": 0},
        {"currency": "USD", "amount_micro": -1},
        {"currency": "USD", "amount_micro": 9 * 10**15 + 1},
        {"currency": "USD", "amount_micro": 1.5},
        {"currency": "USD", "amount_micro": "1000000"},
        {"currency": "USD", "amount_micro": True},
        {"currency": "USD", "amount_micro": None},
        {"currency": "usd", "amount_micro": USD},
        {"currency": "USD'--", "amount_micro": USD},
        {"amount_micro": USD},
        {"currency": "USD", "amount_micro": USD, "account_id": "act_other"},
    ],
)
async def test_hostile_amounts_and_ids_are_refused(people: People, body: object) -> None:
    await people.deposit(10 * USD)
    await people.enable_payouts()
    refused = await people.post("/payouts", people.ann["live"], body, 422)
    assert refused["code"] in {"validation", "unknown_field"}
    assert (await people.dollars())["withdrawable_micro"] == 10 * USD


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e400", "-0.0"])
async def test_numbers_that_are_none_are_refused(people: People, text: str) -> None:
    answer = await people.site.ask(
        "POST",
        "/payouts",
        key=people.ann["live"],
        content=f'{{"currency": "USD", "amount_micro": {text}}}',
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code in {400, 422}


async def test_a_repeated_request_moves_money_once(people: People) -> None:
    await people.deposit(10 * USD)
    await people.enable_payouts()
    answers = [
        await people.site.ask(
            "POST",
            "/payouts",
            key=people.ann["live"],
            json={"currency": "USD", "amount_micro": USD},
            headers={"Idempotency-Key": "once"},
        )
        for _ in range(3)
    ]
    assert len({answer.text for answer in answers}) == 1
    assert (await people.dollars())["reserved_micro"] == USD


async def test_what_is_not_ones_own_is_not_found_and_what_is_the_operators_is_forbidden(people: People) -> None:
    await people.deposit(10 * USD)
    await people.enable_payouts()
    payout = await people.post("/payouts", people.ann["live"], {"currency": "USD", "amount_micro": USD}, 201)
    bob = await people.site.agent("bob", people.olga)
    answer = await people.site.ask("GET", f"/payouts/{payout['payout_id']}", key=bob["live"])
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (await people.get(f"/payouts/{payout['payout_id']}", people.olga))["state"] == "requested"
    refused = await people.post(
        f"/operator/payouts/{payout['payout_id']}/decision", bob["live"], {"state": "sent"}, 403
    )
    assert refused["code"] == "scope_forbidden"
    answer = await people.site.ask("GET", "/operator/money", key=people.ann["live"])
    assert answer.json()["code"] == "scope_forbidden"
    refused = await people.post("/payouts", people.ann["hb"], {"currency": "USD", "amount_micro": USD}, 403)
    assert refused["code"] == "heartbeat_scope_forbidden"
    refused = await people.post("/payouts", bob["live"], {"currency": "USD", "amount_micro": USD}, 403)
    assert refused["code"] == "onboarding_required"


async def test_anybody_sees_the_fees_and_that_the_books_cover_what_users_have(people: People) -> None:
    await people.deposit(10 * USD)
    fees = await people.get("/meta/fees", "")
    assert fees["currencies"]["USD"]["fee_bps"] == 500
    assert fees["currencies"]["AID"]["can_pay_out"] is False
    solvency = await people.get("/meta/solvency", "")
    assert solvency["solvent"] is True
    assert {one["currency"]: one["user_balances_micro"] for one in solvency["currencies"]} == {
        "USD": 10 * USD,
        "AID": 100 * USD,
    }
    assert all(one["sum_micro"] == 0 for one in solvency["currencies"])


async def test_money_that_never_came_in_is_found_within_a_minute(people: People) -> None:
    await people.deposit(10 * USD)
    assert (await people.get("/meta/solvency", ""))["solvent"] is True
    with sqlite3.connect(file_of(people.site.market.desk.database)) as behind_our_back:
        behind_our_back.execute(
            "UPDATE ledger_accounts SET credits_posted = credits_posted + 1 WHERE id = ?",
            (available(people.ann["id"], "USD"),),
        )
    assert (await people.get("/meta/solvency", ""))["solvent"] is True
    people.site.clock.jump_ms(SOLVENCY_KEPT_MS)
    assert (await people.get("/meta/solvency", ""))["solvent"] is False


async def test_what_has_left_no_longer_counts_as_cover(people: People) -> None:
    await people.deposit(10 * USD)
    gone = moved("pay_x/out", available(people.ann["id"], "USD"), external("USD"), 4 * USD, reason="out", at_ms=0)
    people.site.market.desk.database.write_sync(lambda transaction: ledger.post(transaction, gone))
    (dollars,) = (one for one in (await people.get("/meta/solvency", ""))["currencies"] if one["currency"] == "USD")
    assert (dollars["user_balances_micro"], dollars["external_funds_micro"]) == (6 * USD, 6 * USD)
