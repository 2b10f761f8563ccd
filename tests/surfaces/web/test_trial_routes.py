"""Does the whole way from a declared capability to its badge work over HTTP, and nothing beside it?"""

import json
from typing import Any

import pytest

from earnest.market.capabilities.trial import regrade
from market.solvers import solve

from .conftest import Site

ID = "cap_01J8XK3QZ0ABCDEFGHJKMNPQRS"
PLACE = f"/agents/me/capabilities/{ID}"
FORM: dict[str, Any] = {"category": "data-analysis", "availability": {"max_concurrent": 2}}


@pytest.fixture
async def crow(site: Site) -> dict[str, str]:
    return await site.agent("crow", await site.operator())


async def code_of(site: Site, method: str, path: str, **given: Any) -> tuple[int, str]:
    answer = await site.ask(method, path, **given)
    return answer.status_code, answer.json()["code"]


async def test_an_agent_declares_is_tested_and_is_verified(site: Site, crow: dict[str, str]) -> None:
    declared = await site.ask("PUT", PLACE, key=crow["reg"], json=FORM)
    assert (declared.status_code, declared.json()["state"], declared.headers["ETag"]) == (200, "declared", '"1"')
    for _ in range(3):
        begun = await site.ask("POST", "/agents/me/trials", key=crow["hb"], json={"capability_id": ID})
        assert begun.status_code == 201, begun.text
        trial = begun.json()
        answer = solve(trial["generator"], trial["question"])
        place = f"/trials/{trial['id']}"
        graded = (await site.ask("POST", f"{place}/answer", key=crow["hb"], json={"answer": answer})).json()
        assert (graded["state"], graded["paid_micro"]) == ("passed", 10_000)
        stranger = await site.register(f"fox_{trial['id'][-6:].lower()}")
        public = (await site.ask("GET", place, key=stranger["key"])).json()
        grade = regrade(public["revealed"], public["answer"])
        assert (grade.passed, grade.commitment) == (True, trial["commitment"])
    listed = (await site.ask("GET", "/agents/me/capabilities", key=crow["live"])).json()
    assert [each["state"] for each in listed["data"]] == ["verified"]
    refused = await site.ask("POST", "/agents/me/trials", key=crow["live"], json={"capability_id": ID})
    assert (refused.status_code, refused.json()["code"]) == (429, "attempt_limit")
    assert 0 < int(refused.headers["Retry-After"]) <= 86_400
    page = (await site.ask("GET", "/agents/me/trials?limit=2", key=crow["live"])).json()
    rest = (await site.ask("GET", f"/agents/me/trials?limit=2&cursor={page['next_cursor']}", key=crow["live"])).json()
    assert (len(page["data"]), len(rest["data"]), rest["next_cursor"]) == (2, 1, None)


async def test_an_answer_sent_again_with_its_key_is_graded_once(site: Site, crow: dict[str, str]) -> None:
    await site.ask("PUT", PLACE, key=crow["live"], json=FORM)
    trial = (await site.ask("POST", "/agents/me/trials", key=crow["live"], json={"capability_id": ID})).json()
    sent = {"key": crow["live"], "json": {"answer": 1}, "headers": {"Idempotency-Key": "once"}}
    first = await site.ask("POST", f"/trials/{trial['id']}/answer", **sent)  # type: ignore[arg-type]
    again = await site.ask("POST", f"/trials/{trial['id']}/answer", **sent)  # type: ignore[arg-type]
    assert first.json() == again.json()
    assert again.headers["Idempotency-Replayed"] == "true"


async def test_an_edit_names_the_revision_that_it_means(site: Site, crow: dict[str, str]) -> None:
    await site.ask("PUT", PLACE, key=crow["live"], json=FORM)
    edited = {**FORM, "floor_micro": 5}
    stale = {"If-Match": '"2"'}
    assert await code_of(site, "PUT", PLACE, key=crow["live"], json=edited, headers=stale) == (
        412,
        "precondition_failed",
    )
    assert await code_of(site, "DELETE", PLACE, key=crow["live"], headers=stale) == (412, "precondition_failed")
    again = await site.ask("PUT", PLACE, key=crow["live"], json=edited, headers={"If-Match": '"1"'})
    assert again.headers["ETag"] == '"2"'
    gone = await site.ask("DELETE", PLACE, key=crow["live"], headers={"If-Match": '"2"'})
    assert gone.json() == {"id": ID, "removed": True}


async def test_a_heartbeat_key_changes_no_capability_over_http(site: Site, crow: dict[str, str]) -> None:
    for method, given in (("PUT", {"json": FORM}), ("DELETE", {})):
        assert await code_of(site, method, PLACE, key=crow["hb"], **given) == (403, "heartbeat_scope_forbidden")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"more": 1}, "unknown_field"),
        ({"availability": {"max_concurrent": 1, "more": 1}}, "unknown_field"),
        ({"availability": {"max_concurrent": "1"}}, "validation"),
        ({"availability": {"max_concurrent": 1e3}}, "validation"),
        ({"availability": {"max_concurrent": 10**6}}, "validation"),
        ({"availability": {"hours": [{"days": ["mon"], "from": "10:00", "to": "09:00", "tz": "UTC"}]}}, "validation"),
        ({"availability": {"hours": [{"days": ["mon"], "from": "10:00", "to": "24:00", "tz": "Mars"}]}}, "validation"),
        ({"category": "No"}, "validation"),
        ({"task_class": "other"}, "validation"),
        ({"floor_micro": -1}, "validation"),
        ({"floor_micro": 9 * 10**15 + 1}, "validation"),
        ({"floor_micro": True}, "validation"),
        ({"currency": "EUR"}, "validation"),
        ({"model_fingerprint": "a\nb"}, "validation"),
    ],
)
async def test_a_capability_of_another_form_is_refused(
    site: Site, crow: dict[str, str], change: dict[str, Any], code: str
) -> None:
    assert await code_of(site, "PUT", PLACE, key=crow["live"], json={**FORM, **change}) == (422, code)


async def test_hours_are_kept_as_they_were_sent(site: Site, crow: dict[str, str]) -> None:
    hours = [{"days": ["mon", "fri"], "from": "09:00", "to": "24:00", "tz": "Europe/Berlin"}]
    availability = {"max_concurrent": 1, "paused": True, "hours": hours}
    shown = (await site.ask("PUT", PLACE, key=crow["live"], json={**FORM, "availability": availability})).json()
    assert shown["availability"] == availability


async def test_a_test_job_shows_no_secret_before_its_end(site: Site, crow: dict[str, str]) -> None:
    await site.ask("PUT", PLACE, key=crow["live"], json=FORM)
    sent = {"capability_id": ID, "generator": "rule-program"}
    trial = (await site.ask("POST", "/agents/me/trials", key=crow["live"], json=sent)).json()
    again = (await site.ask("GET", f"/trials/{trial['id']}", key=crow["live"])).json()
    assert again["revealed"] is None
    stranger = await site.register("fox")
    assert await code_of(site, "GET", f"/trials/{trial['id']}", key=stranger["key"]) == (404, "not_found")
    ended = await site.ask("POST", f"/trials/{trial['id']}/answer", key=crow["live"], json={"answer": None})
    revealed = ended.json()["revealed"]
    for before in (trial, again):
        text = json.dumps(before)
        assert revealed["seed"] not in text
        assert revealed["salt"] not in text


async def test_only_the_operator_takes_a_badge_away(site: Site, crow: dict[str, str]) -> None:
    await site.ask("PUT", PLACE, key=crow["live"], json=FORM)
    place = f"/operator/capabilities/{ID}/revoke"
    assert (await code_of(site, "POST", place, key=crow["live"], json={"reason": "x"}))[1] == "scope_forbidden"


async def test_the_generators_are_public(site: Site) -> None:
    shown = (await site.ask("GET", "/meta/generators")).json()
    assert len(shown["data"]) >= 6
    assert sum(each["hidden"] for each in shown["data"]) >= 2
