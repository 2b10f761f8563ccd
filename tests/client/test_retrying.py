"""When is a request sent again, and is it the same one?"""

import json
from collections.abc import Callable, Sequence

import httpx2
import pytest

from earnest.client.client import AsyncClient, Client
from earnest.client.problem import Problem
from earnest.client.retrying import Patience
from earnest.effects.ground.clock import SeededChance
from earnest.foundation.errors import Refused, Unavailable

URL = "http://127.0.0.1:8420"
MOVED = {"claim_id": "clm_1", "state": "in_progress"}
Step = httpx2.Response | Exception


def no(status: int, code: str, *, retryable: bool = False, **headers: str) -> httpx2.Response:
    body = {"code": code, "detail": "no", "retryable": retryable, "request_id": "req_1"}
    return httpx2.Response(status, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


def yes() -> httpx2.Response:
    return httpx2.Response(200, json=MOVED)


class Script:
    """Answers one after the other, and remembers what was asked."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = list(steps)
        self.requests: list[httpx2.Request] = []
        self.waits: list[float] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        step = self._steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    def client(self, **given: object) -> Client:
        transport = httpx2.MockTransport(self)
        return Client(URL, "ern_live_x", transport=transport, chance=SeededChance(5), sleep=self.waits.append, **given)  # type: ignore[arg-type]

    def idempotency_keys(self) -> set[str]:
        return {request.headers["idempotency-key"] for request in self.requests}


FAILURES: list[Callable[[], Step]] = [
    lambda: httpx2.ConnectError("refused"),
    lambda: httpx2.ReadTimeout("silence"),
    lambda: no(500, "internal_error"),
    lambda: no(503, "maintenance", retryable=True, retry_after="2"),
    lambda: no(429, "quota_exceeded", retryable=True, retry_after="7"),
    lambda: no(409, "idempotency_in_progress", retryable=True, retry_after="1"),
]


@pytest.mark.parametrize("failure", FAILURES)
def test_an_uncertain_call_is_repeated_under_the_same_key(failure: Callable[[], Step]) -> None:
    script = Script([failure(), failure(), yes()])
    assert script.client().start_claim("clm_1") == MOVED
    assert len(script.requests) == 3
    assert len(script.idempotency_keys()) == 1
    assert len(script.waits) == 2


def test_every_call_has_a_key_of_its_own_unless_one_is_given() -> None:
    script = Script([yes(), yes(), yes()])
    client = script.client()
    client.start_claim("clm_1")
    client.start_claim("clm_1")
    client.keyed("mine").start_claim("clm_1")
    assert len(script.idempotency_keys()) == 3
    assert "mine" in script.idempotency_keys()
    assert client.idempotency_key == ""


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "malformed_json"),
        (403, "scope_forbidden"),
        (404, "not_found"),
        (409, "job_already_claimed"),
        (422, "validation"),
    ],
)
def test_a_refusal_is_final(status: int, code: str) -> None:
    script = Script([no(status, code)])
    with pytest.raises(Problem) as told:
        script.client().claim_job("job_1")
    assert (told.value.status, told.value.code, told.value.request_id) == (status, code, "req_1")
    assert script.waits == []


def test_a_quota_that_nobody_says_the_end_of_is_not_waited_for() -> None:
    script = Script([no(429, "decline_quota", retryable=True)])
    with pytest.raises(Problem, match="decline_quota"):
        script.client().decline_claim("clm_1", reason="no", criteria=["C1"])


def test_nobody_waits_for_a_day() -> None:
    script = Script([no(429, "attempt_limit", retryable=True, retry_after="86400")])
    with pytest.raises(Problem, match="attempt_limit"):
        script.client().start_trial("cap_1")


def test_the_platform_says_how_long_to_wait_and_chance_adds_to_it() -> None:
    script = Script([no(429, "quota_exceeded", retryable=True, retry_after="7"), yes()])
    script.client().start_claim("clm_1")
    assert 7.0 <= script.waits[0] <= 7.25


def test_a_date_is_read_against_the_clock_of_the_platform() -> None:
    date = "Sun, 22 Nov 2026 06:00:00 GMT"
    later = "Sun, 22 Nov 2026 06:00:09 GMT"
    script = Script([no(503, "maintenance", retry_after=later, date=date), yes()])
    script.client().start_claim("clm_1")
    assert 9.0 <= script.waits[0] < 10


def test_without_advice_waits_grow_and_end() -> None:
    script = Script([httpx2.ConnectError("no")] * 5)
    with pytest.raises(Unavailable, match="cannot be reached"):
        script.client().get_wallet()
    assert len(script.requests) == 5
    for index, wait in enumerate(script.waits):
        assert 0.25 * 2**index <= wait <= 0.5 * 2**index


def test_patience_is_the_callers() -> None:
    script = Script([httpx2.ConnectError("no")])
    with pytest.raises(Unavailable):
        script.client(patience=Patience(attempts=1)).get_wallet()


def test_what_stands_between_may_answer_in_html() -> None:
    script = Script([httpx2.Response(404, text="<h1>nginx</h1>")])
    with pytest.raises(Problem) as told:
        script.client().get_wallet()
    assert told.value.code == "http_404"


def test_a_key_is_not_carried_elsewhere() -> None:
    script = Script([httpx2.Response(307, headers={"location": "http://elsewhere.example/"})])
    with pytest.raises(Problem, match="http_307"):
        script.client().get_wallet()
    assert len(script.requests) == 1


def test_an_answer_that_is_no_json_is_no_platforms() -> None:
    with pytest.raises(Unavailable, match="not JSON"):
        Script([httpx2.Response(200, text="hello")]).client().get_wallet()


def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(Refused):
        Client("localhost:8420")


async def test_the_asynchronous_client_takes_the_same_steps() -> None:
    script = Script([httpx2.ConnectError("no"), no(503, "maintenance", retry_after="3"), yes()])

    async def sleep(seconds: float) -> None:
        script.waits.append(seconds)

    async with AsyncClient(URL, transport=httpx2.MockTransport(script), chance=SeededChance(5), sleep=sleep) as client:
        items = [{"requirement_id": "a", "kind": "text", "inline": "ü"}]
        assert (await client.submit_evidence("clm_1", items))["state"] == "in_progress"
    assert len(script.idempotency_keys()) == 1
    assert {request.content for request in script.requests} == {
        json.dumps({"items": [{"requirement_id": "a", "kind": "text", "inline": "ü"}]}, ensure_ascii=False).encode()
    }
    assert script.waits[1] >= 3
