"""The rail over the official library, against a stand-in of Stripe's API on loopback."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest

from earnest.effects.outside.rails.api import Order, RailState
from earnest.effects.outside.rails.stripe import StripeRail
from earnest.foundation.errors import Unavailable

KEY = "sk_test_never_shown"
ORDER = Order(id="pay_1", address="acct_1", currency="USD", amount_micro=4_000_000)


@dataclass
class Stripe:
    """What the stand-in remembers. `faults`: by path, what is answered instead, once each."""

    url: str = ""
    asked: list[tuple[str, str, dict[str, str], str, str]] = field(default_factory=list)
    kept: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    faults: dict[str, list[tuple[int, dict[str, Any] | None]]] = field(default_factory=dict)
    payout: dict[str, Any] = field(default_factory=lambda: {"status": "pending", "failure_code": None})
    reversed: bool = False
    made: dict[str, int] = field(default_factory=dict)

    def answer(self, method: str, path: str, form: dict[str, str], key: str) -> tuple[int, dict[str, Any]]:
        """As Stripe: the same idempotency key has the same answer and no second effect."""
        if self.faults.get(path):
            status, body = self.faults[path].pop(0)
            if body is None:  # done, but the answer is lost
                self._keep(method, path, form, key)
            return status, body or {"error": {"type": "api_error", "message": "lost"}}
        return self._keep(method, path, form, key)

    def _keep(self, method: str, path: str, form: dict[str, str], key: str) -> tuple[int, dict[str, Any]]:
        if key not in self.kept or not key:
            made = self._make(method, path, form)
            if not key:
                return made
            self.kept[key] = made
            self.made[path] = self.made.get(path, 0) + 1
        return self.kept[key]

    def _make(self, method: str, path: str, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        match method, path:
            case "POST", "/v1/transfers":
                return 200, {"id": "tr_1", "object": "transfer", "reversed": False, "amount": int(form["amount"])}
            case "GET", "/v1/transfers/tr_1":
                return 200, {"id": "tr_1", "object": "transfer", "reversed": self.reversed}
            case "POST", "/v1/transfers/tr_1/reversals":
                self.reversed = True
                return 200, {"id": "trr_1", "object": "transfer_reversal"}
            case "POST", "/v1/payouts":
                return 200, {"id": "po_1", "object": "payout", **self.payout}
            case "GET", "/v1/payouts/po_1":
                return 200, {"id": "po_1", "object": "payout", **self.payout}
            case _:
                return 404, {"error": {"type": "invalid_request_error", "message": path}}


@pytest.fixture
def stripe() -> Iterator[Stripe]:
    state = Stripe()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            key = self.headers.get("Idempotency-Key") or ""
            path = self.path.partition("?")[0]
            state.asked.append((self.command, path, form, key, self.headers.get("Stripe-Account") or ""))
            assert self.headers["Authorization"] == f"Bearer {KEY}"
            status, answer = state.answer(self.command, path, form, key if self.command == "POST" else "")
            sent = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def rail(stripe: Stripe) -> Iterator[StripeRail]:
    rail = StripeRail(KEY, base=stripe.url)
    yield rail
    rail.close()


NO = {"error": {"type": "invalid_request_error", "code": "account_closed", "message": f"no, {KEY}"}}


async def test_an_order_is_a_transfer_and_a_payout_of_the_connected_account(stripe: Stripe, rail: StripeRail) -> None:
    answer = await rail.send(ORDER)
    assert (answer.state, answer.ref) == (RailState.UNDER_WAY, "tr_1/po_1")
    posts = [one for one in stripe.asked if one[0] == "POST"]
    assert posts[0][1:] == (
        "/v1/transfers",
        {"amount": "400", "currency": "usd", "destination": "acct_1", "transfer_group": "pay_1"},
        "pay_1/transfer",
        "",
    )
    assert posts[1][1:] == (
        "/v1/payouts",
        {"amount": "400", "currency": "usd", "metadata[order]": "pay_1"},
        "pay_1/payout",
        "acct_1",
    )


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("pending", RailState.UNDER_WAY),
        ("in_transit", RailState.UNDER_WAY),
        ("something_new", RailState.UNDER_WAY),
        ("paid", RailState.SETTLED),
        ("failed", RailState.FAILED),
        ("canceled", RailState.FAILED),
    ],
)
async def test_only_what_stripe_says_was_paid_is_settled(
    stripe: Stripe, rail: StripeRail, status: str, state: RailState
) -> None:
    stripe.payout = {"status": status, "failure_code": None}
    order = Order(id="pay_1", address="acct_1", currency="USD", amount_micro=4_000_000, ref="tr_1/po_1")
    answer = await rail.look(order)
    assert (answer.state, answer.ref) == (state, "tr_1/po_1")
    assert stripe.reversed == (state is RailState.FAILED)
    assert stripe.asked[0][4] == "acct_1"


@pytest.mark.parametrize("path", ["/v1/transfers", "/v1/payouts"])
async def test_a_lost_answer_is_asked_for_again_and_nothing_is_sent_twice(
    stripe: Stripe, rail: StripeRail, path: str
) -> None:
    stripe.faults[path] = [(500, None)]
    with pytest.raises(Unavailable):
        await rail.send(ORDER)
    answer = await rail.send(ORDER)
    assert (answer.state, answer.ref) == (RailState.UNDER_WAY, "tr_1/po_1")
    assert stripe.made == {"/v1/transfers": 1, "/v1/payouts": 1}


async def test_what_stripe_refuses_at_once_has_failed(stripe: Stripe, rail: StripeRail) -> None:
    stripe.faults["/v1/transfers"] = [(400, NO)]
    answer = await rail.send(ORDER)
    assert (answer.state, answer.reason) == (RailState.FAILED, "account_closed")
    assert not stripe.made


async def test_where_the_payout_is_refused_the_transfer_is_taken_back(stripe: Stripe, rail: StripeRail) -> None:
    stripe.faults["/v1/payouts"] = [(400, NO)]
    answer = await rail.send(ORDER)
    assert (answer.state, answer.reason, stripe.reversed) == (RailState.FAILED, "account_closed", True)


async def test_what_was_taken_back_is_not_paid_out_by_a_later_try(stripe: Stripe, rail: StripeRail) -> None:
    stripe.faults["/v1/payouts"] = [(400, NO)]
    stripe.faults["/v1/transfers/tr_1/reversals"] = [(500, None)]
    with pytest.raises(Unavailable):
        await rail.send(ORDER)
    answer = await rail.send(ORDER)
    assert answer.state is RailState.FAILED
    assert "/v1/payouts" not in stripe.made


@pytest.mark.parametrize("status", [401, 409, 429, 500, 503])
async def test_where_nobody_knows_what_was_done_it_has_not_failed(
    stripe: Stripe, rail: StripeRail, status: int
) -> None:
    stripe.faults["/v1/transfers"] = [(status, {"error": {"type": "api_error", "message": f"key {KEY}"}})]
    with pytest.raises(Unavailable) as unavailable:
        await rail.send(ORDER)
    assert KEY not in str(unavailable.value)


async def test_a_rail_that_is_not_there_is_unavailable() -> None:
    rail = StripeRail(KEY, base="http://127.0.0.1:9")
    with pytest.raises(Unavailable):
        await rail.send(ORDER)
    rail.close()


async def test_parts_of_a_cent_are_not_sent(stripe: Stripe, rail: StripeRail) -> None:
    answer = await rail.send(Order(id="pay_1", address="acct_1", currency="USD", amount_micro=4_000_001))
    assert answer.state is RailState.FAILED
    assert stripe.asked == []
