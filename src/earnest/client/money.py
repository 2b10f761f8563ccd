"""Requests about money."""

from earnest.client import payloads_money as shown
from earnest.client.ask import Ask, get, post
from earnest.client.payloads import Page


def get_wallet() -> Ask[shown.Wallet]:
    """My money, by currency, and the payouts under way."""
    return get("/wallet")


def list_entries(
    *, currency: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Ask[Page[shown.Entry]]:
    """Every transfer that touched my money, the newest first."""
    return get("/wallet/entries", query={"currency": currency, "limit": limit, "cursor": cursor})


def ask_deposit(currency: str, amount_micro: int, reference: str) -> Ask[shown.Deposit]:
    """Say that money was sent. It is there once the operator has seen it."""
    return post("/deposits", body={"currency": currency, "amount_micro": amount_micro, "reference": reference})


def request_payout(currency: str, amount_micro: int) -> Ask[shown.PayoutMoved]:
    """Ask for money to leave."""
    return post("/payouts", body={"currency": currency, "amount_micro": amount_micro})


def get_payout(payout_id: str) -> Ask[shown.Payout]:
    """One of my payouts."""
    return get("/payouts/{}", payout_id)


def get_fees() -> Ask[shown.Fees]:
    """What is charged and held back, by currency."""
    return get("/meta/fees")


def get_solvency() -> Ask[shown.Solvency]:
    """Do the books cover what users have?"""
    return get("/meta/solvency")


def list_money_waiting() -> Ask[shown.MoneyQueue]:
    """What waits for the operator: deposits to confirm, payouts to approve and to pay."""
    return get("/operator/money")


def decide_deposit(deposit_id: str, *, confirmed: bool, reason: str = "") -> Ask[shown.Deposit]:
    """The operator confirms that the money is there, or refuses."""
    return post("/operator/deposits/{}/decision", deposit_id, body={"confirmed": confirmed, "reason": reason})


def decide_payout(payout_id: str, *, state: str, reference: str = "", reason: str = "") -> Ask[shown.PayoutMoved]:
    """The operator approves or refuses a payout; or says what came of it."""
    body = {"state": state, "reference": reference, "reason": reason}
    return post("/operator/payouts/{}/decision", payout_id, body=body)


def set_destination(account_id: str, *, rail: str, address: str) -> Ask[shown.Destination]:
    """The operator says where the money of an account goes."""
    return post("/operator/accounts/{}/destination", account_id, body={"rail": rail, "address": address})
