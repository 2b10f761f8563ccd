"""Heartbeats and scores over HTTP: the shapes of ruling 5, who may see what, and that keys have one effect."""

import asyncio
from typing import Any

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.runtime.accountability.judging import HeartbeatJudging

from .conftest import Site

HUMAN = "- [ ] call | Call grandmother | required | verify: human"
CONTRACT = f"# Heartbeat\n\n## Tasks\n\n{HUMAN}\n"
TODAY = {
    "date",
    "zone",
    "score",
    "target",
    "floor",
    "verified",
    "failed",
    "unclear",
    "contradictions",
    "peak",
    "lowest",
    "target_reached",
    "possible",
}
LIFETIME = {"verified", "failed", "points", "best", "worst", "streak", "longest", "days"}


@pytest.fixture
async def people(site: Site) -> dict[str, Any]:
    operator = await site.operator()
    return {"operator": operator, **await site.agent("ada", operator)}


async def checked_in(site: Site, key: str, **sent: Any) -> dict[str, Any]:
    answer = await site.ask("POST", "/agents/me/heartbeats", key=key, json={"contract": CONTRACT, **sent})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    await HeartbeatJudging(site.market).drain()
    return found


@pytest.mark.parametrize("base", ["/api/v1/score", "/api/score"])
async def test_a_score_has_the_shape_of_the_ruling_at_both_paths(site: Site, people: dict[str, Any], base: str) -> None:
    await checked_in(site, people["hb"])
    shown = (await site.ask("GET", base, key=people["live"])).json()
    assert set(shown) == {"today", "tier", "interval_s", "lifetime"}
    assert set(shown["today"]) == TODAY
    assert set(shown["tier"]) == {"penalty", "reward", "since", "ends_when"}
    assert set(shown["lifetime"]) == LIFETIME
    assert (shown["interval_s"], shown["today"]["possible"]) == (900, 960)
    history = (await site.ask("GET", f"{base}/history", key=people["live"])).json()
    assert (history["handle"], set(history["today"]), history["days"]) == ("ada", TODAY, [])


async def test_who_has_shown_no_contract_follows_the_pace_of_the_market(site: Site, people: dict[str, Any]) -> None:
    shown = (await site.ask("GET", "/score", key=people["live"])).json()
    home = (await site.ask("GET", "/agents/me/home", key=people["live"])).json()
    assert (shown["interval_s"], shown["today"]["target"]) == (86_400, 50)
    assert home["accountability"] is None


async def test_an_operator_decides_what_waits_and_sees_where_each_number_comes_from(
    site: Site, people: dict[str, Any]
) -> None:
    taken = await checked_in(site, people["hb"], reply="I called her.")
    name, operator = taken["heartbeat_id"], people["operator"]
    (waiting,) = (await site.ask("GET", "/operator/agents/ada/heartbeats", key=operator)).json()["data"]
    assert (waiting["heartbeat_id"], waiting["reply"]) == (name, "I called her.")
    said = {"task": "call", "verdict": "verified", "reason": "She told me."}
    decided = await site.ask("POST", f"/operator/heartbeats/{name}/decide", key=operator, json=said)
    assert decided.json()["points"] == 10, decided.text
    again = await site.ask("POST", f"/operator/heartbeats/{name}/decide", key=operator, json=said)
    assert (again.status_code, again.json()["code"]) == (409, "heartbeat_state")
    mine = (await site.ask("GET", f"/agents/me/heartbeats/{name}", key=people["hb"])).json()
    assert (mine["tasks"][0]["verdict"], mine["points"], "reply" in mine) == ("verified", 10, False)
    events = (await site.ask("GET", "/score/events", key=people["live"])).json()["data"]
    assert [(one["rule"], one["points"]) for one in events[0]["events"]] == [
        ("unclear_verifier", 0),
        ("verified_required", 10),
    ]
    assert sum(one["points"] for one in events) == 10
    facts = [one["fact"] for one in events]
    assert facts == sorted(facts, reverse=True)


async def test_events_go_on_from_their_cursor(site: Site, people: dict[str, Any]) -> None:
    for _ in range(3):
        await checked_in(site, people["hb"])
        site.clock.jump_ms(900_000)
    seen, cursor = [], ""
    while True:
        found = (await site.ask("GET", f"/score/events?limit=1&cursor={cursor}", key=people["live"])).json()
        seen += [one["fact"] for one in found["data"]]
        cursor = found["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == 4
    assert len(set(seen)) == 4
    assert (await site.ask("GET", "/score/events?cursor=x", key=people["live"])).json()["code"] == "bad_cursor"


@pytest.mark.parametrize("path", ["/api/score/feedback", "/api/v1/score/feedback"])
async def test_feedback_needs_an_operator_and_no_idempotency_key(site: Site, people: dict[str, Any], path: str) -> None:
    name = (await checked_in(site, people["hb"]))["heartbeat_id"]
    for type_, points, score in (("up", 3, 3), ("up", 0, 3), ("down", -13, -10)):
        sent = {"type": type_, "message_id": name}
        answer = await site.client.post(path, json=sent, headers={"Authorization": f"Bearer {people['operator']}"})
        assert answer.json() == {"points": points, "score": score, "target": 50}
    refused = await site.ask("POST", path, key=people["live"], json={"type": "up", "message_id": name})
    assert refused.json()["code"] == "scope_forbidden"


async def test_a_check_in_has_one_effect_however_often_it_is_sent(site: Site, people: dict[str, Any]) -> None:
    sent = {"json": {"contract": CONTRACT}, "key": people["hb"], "headers": {"Idempotency-Key": "beat-1"}}
    first = await site.ask("POST", "/agents/me/heartbeats", **sent)
    site.clock.jump_ms(3_600_000)
    second = await site.ask("POST", "/agents/me/heartbeats", **sent)
    assert first.json() == second.json()
    assert second.headers["idempotency-replayed"] == "true"
    page = (await site.ask("GET", "/agents/me/heartbeats", key=people["hb"])).json()
    assert len(page["data"]) == 1


@pytest.mark.parametrize("verdict", ["verified", "not_verified"])
async def test_what_the_operator_decided_is_told_with_what_is_due(
    site: Site, people: dict[str, Any], verdict: str
) -> None:
    name = (await checked_in(site, people["hb"]))["heartbeat_id"]
    said = {"task": "call", "verdict": verdict, "reason": "She told me."}
    path = f"/operator/heartbeats/{name}/decide"
    assert (await site.ask("POST", path, key=people["operator"], json=said)).status_code == 200
    due = (await site.ask("GET", "/agents/me/heartbeats/due", key=people["hb"])).json()
    assert due["feedback"] == [f"call (attempt 1 of 3): {verdict}: She told me."]


async def test_what_is_due_is_told_before_the_work(site: Site, people: dict[str, Any]) -> None:
    await checked_in(site, people["hb"])
    due = (await site.ask("GET", "/agents/me/heartbeats/due", key=people["hb"])).json()
    assert (due["skip"], due["tasks"], due["interval_s"]) == ("nothing_to_do", [], 900)
    assert due["feedback"][0].startswith("call (attempt 1 of 3): unclear")
    site.clock.jump_ms(900_000)
    due = (await site.ask("GET", "/agents/me/heartbeats/due", key=people["hb"])).json()
    assert (due["skip"], [task["id"] for task in due["tasks"]]) == (None, ["call"])


async def test_only_operators_see_others(site: Site, people: dict[str, Any]) -> None:
    other = await site.agent("bob", people["operator"])
    await checked_in(site, people["hb"])
    for path in ("/score?agent=ada", "/score/history?agent=ada", "/score/events?agent=ada", "/score/leaderboard"):
        refused = await site.ask("GET", path, key=other["live"])
        assert (refused.status_code, refused.json()["code"]) == (403, "scope_forbidden"), path
        assert (await site.ask("GET", path, key=people["operator"])).status_code == 200, path
    board = (await site.ask("GET", "/score/leaderboard", key=people["operator"])).json()["data"]
    assert [(one["handle"], one["today"]["target"]) for one in board] == [("ada", 50)]
    name = (await site.ask("GET", "/agents/me/heartbeats", key=people["hb"])).json()["data"][0]["heartbeat_id"]
    assert (await site.ask("GET", f"/agents/me/heartbeats/{name}", key=other["live"])).status_code == 404


async def test_the_operator_accepts_a_contract_and_sees_what_was_weakened(site: Site, people: dict[str, Any]) -> None:
    operator = people["operator"]
    put = await site.ask(
        "PUT", "/operator/agents/ada/contract", key=operator, json={"contract": CONTRACT, "zone": "Europe/Berlin"}
    )
    assert put.status_code == 200, put.text
    weaker = CONTRACT.replace("required", "optional")
    await checked_in(site, people["hb"], contract=weaker)
    shown = (await site.ask("GET", "/operator/agents/ada/contract", key=operator)).json()
    assert (shown["offered"], list(shown["weakened"]), shown["zone"]) == (weaker, ["call"], "Europe/Berlin")
    home = (await site.ask("GET", "/agents/me/home", key=people["live"])).json()
    assert [one["code"] for one in home["human_attention"]] == ["lockdown", "contract_weakened"]
    assert (home["accountability"]["penalty"], home["accountability"]["interval_s"]) == ("lockdown", 480)
    assert home["accountability"]["message"].startswith("Lockdown")
    both = {"contract": CONTRACT, "accept": SHA}
    for settings, code in (
        ({"zone": "Mars/Base"}, "validation"),
        ({"interval_s": 5}, "validation"),
        (both, "validation"),
        ({"accept": SHA}, "etag_mismatch"),
    ):
        refused = await site.ask("PUT", "/operator/agents/ada/contract", key=operator, json=settings)
        assert refused.json()["code"] == code
    mine = await site.ask("PUT", "/operator/agents/ada/contract", key=people["live"], json={"is_paused": True})
    assert mine.json()["code"] == "scope_forbidden"


async def test_under_a_contract_home_calls_at_the_next_wake(
    site: Site, people: dict[str, Any], clock: VirtualClock
) -> None:
    taken = await checked_in(site, people["hb"])
    home = (await site.ask("GET", "/agents/me/home", key=people["live"])).json()
    assert home["next_check_in_after"] == taken["next_check_in_after"]
    clock.jump_ms(300_000)
    home = (await site.ask("GET", "/agents/me/home", key=people["live"])).json()
    assert home["next_check_in_after"] == taken["next_check_in_after"]


SHA = "sha256:" + "0" * 64
LONG = {f"v{number}": "x" * 1_000 for number in range(20)}


def named(*paths: str) -> dict[str, Any]:
    return {"artifacts": [{"path": path, "sha256": SHA} for path in paths]}


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ({"contract": "x" * (256 * 1024 + 1)}, 422, "validation"),
        ({"contract": "é" * (200 * 1024)}, 413, "too_large"),
        (named("../up"), 422, "validation"),
        (named("a"), 422, "validation"),
        (named("a", "a"), 422, "validation"),
        (named("a", "a/b"), 422, "validation"),
        (named("a/b", "a"), 422, "validation"),
        (named("a.txt", "A.txt"), 422, "validation"),
        (named("A/x", "a/y"), 422, "validation"),
        (named("e\u0301.txt", "\u00e9.txt"), 422, "validation"),
        (named("/".join("abcdefghi")), 422, "validation"),
        ({"claims": [{"task": "call", "values": {"a": None}}]}, 422, "validation"),
        ({"claims": [{"task": "call", "values": {"value": 7}}, {"task": "call", "done": False}]}, 422, "validation"),
        ({"claims": [{"task": f"t{number}", "values": LONG} for number in range(3)]}, 413, "too_large"),
        ({"records": [{"tool": "x", "ok": True, "exit_code": 2**31}]}, 422, "validation"),
        ({"unknown": 1}, 422, "unknown_field"),
    ],
)
async def test_what_is_not_of_the_form_is_refused_and_uses_up_no_wake(
    site: Site, people: dict[str, Any], sent: dict[str, Any], status: int, code: str
) -> None:
    """What could not be laid out for the verifier would leave it nothing to decide by."""
    key = people["hb"]
    answer = await site.ask("POST", "/agents/me/heartbeats", key=key, json={"contract": CONTRACT, **sent})
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert (await checked_in(site, key))["state"] == "verifying"


async def test_names_in_any_script_and_with_signs_of_patterns_are_names(site: Site, people: dict[str, Any]) -> None:
    brought = await site.ask("POST", "/artifacts", key=people["hb"], content=b"proof")
    paths = ("Bericht/M\u00e4rz [1].txt", "Bericht/*.txt", "\u62a5\u544a.txt")
    artifacts = [{"path": path, "sha256": brought.json()["sha256"]} for path in paths]
    assert (await checked_in(site, people["hb"], artifacts=artifacts))["state"] == "verifying"


async def test_of_check_ins_at_once_one_is_taken(site: Site, people: dict[str, Any]) -> None:
    asked = [site.ask("POST", "/agents/me/heartbeats", key=people["hb"], json={"contract": CONTRACT}) for _ in range(9)]
    answers = [answer.json() for answer in await asyncio.gather(*asked)]
    assert sorted(str(answer["skip"]) for answer in answers) == ["None", *["busy"] * 8]
    judges = [HeartbeatJudging(site.market), HeartbeatJudging(site.market)]
    await asyncio.gather(*(judge.drain() for judge in judges))
    events = (await site.ask("GET", "/score/events", key=people["live"])).json()["data"]
    assert [one["rule"] for event in events for one in event["events"]] == ["unclear_verifier"]


async def test_a_leaderboard_shows_each_days_own_target(site: Site, people: dict[str, Any]) -> None:
    operator = people["operator"]
    await site.agent("bob", operator)
    many = "## Tasks\n" + "".join(f"- [ ] t{number} | Do | required | verify: human\n" for number in range(9))
    for _ in range(2):
        name = (await checked_in(site, people["hb"], contract=many))["heartbeat_id"]
        for number in range(9):
            said = {"task": f"t{number}", "verdict": "verified", "reason": "Yes."}
            await site.ask("POST", f"/operator/heartbeats/{name}/decide", key=operator, json=said)
        site.clock.jump_ms(86_400_000)
    (ada,) = (await site.ask("GET", "/score/leaderboard", key=operator)).json()["data"]
    assert [(day["score"], day["target"], day["floor"]) for day in (ada["today"], *ada["days"])] == [
        (0, 90, 90),
        (90, 90, 90),
        (90, 50, 50),
    ]


@pytest.mark.parametrize("number", ["9007199254740992", "-1e16", "1e20", "9007199254740993.0", "1" + "0" * 400])
async def test_a_number_that_readers_of_json_take_for_others_is_refused_and_hides_nothing(
    site: Site, people: dict[str, Any], number: str
) -> None:
    """What cannot be judged costs nothing: so nothing may be handed in that nobody can judge."""
    body = f'{{"reply": "Done.", "claims": [{{"task": "call", "values": {{"calls": {number}}}}}]}}'
    answer = await site.ask(
        "POST", "/agents/me/heartbeats", key=people["hb"], content=body, headers={"content-type": "application/json"}
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_json")
