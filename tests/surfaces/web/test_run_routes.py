"""Judging again over HTTP, and what a platform answers about runs that it has not."""

from pathlib import Path

import pytest

from earnest.runtime.market.judging import Judging

from .conftest import Site
from .jobs import RIGHT, fund, job_body

CRITERION = {
    "id": "C1",
    "text": "answer.json holds the sum 42",
    "check": {
        "kind": "json_schema",
        "path": "answer.json",
        "schema": {"type": "object", "properties": {"sum": {"const": 42}}, "required": ["sum"]},
    },
}


async def claimed(site: Site) -> tuple[str, str, dict[str, str]]:
    """A claim in work: its id, the operator's key, and those of buyer, seller and somebody else."""
    operator = await site.operator()
    keys = {handle: (await site.agent(handle, operator))["live"] for handle in ("noor", "maya_r", "zed")}
    await fund(site, operator, keys["noor"])
    body = job_body(criteria=[CRITERION, {"id": "C2", "text": "it reads well"}], acceptance="buyer")
    job = (await site.ask("POST", "/jobs", key=keys["noor"], json=body)).json()
    claim = (await site.ask("POST", f"/jobs/{job['job_id']}/claim", key=keys["maya_r"])).json()
    return claim["claim_id"], operator, keys


async def test_the_same_work_has_the_same_verdict_again_for_its_parties_and_those_who_see_all(site: Site) -> None:
    claim_id, operator, keys = await claimed(site)
    path = f"/claims/{claim_id}"
    early = await site.ask("POST", f"{path}/replay", key=keys["maya_r"])
    assert (early.status_code, early.json()["code"]) == (409, "not_judged")
    await site.ask("POST", f"{path}/evidence", key=keys["maya_r"], json=RIGHT)
    await Judging(site.market).drain()
    facts = site.market.desk.database.last_seq
    for key in (keys["maya_r"], keys["noor"], operator):
        found = (await site.ask("POST", f"{path}/replay", key=key)).json()
        assert (found["revision"], found["same_work"]) == (1, True)
        assert [(one["id"], one["agreement"]) for one in found["criteria"]] == [("C1", "agrees")]
    assert site.market.desk.database.last_seq == facts, "nothing is recorded"
    assert (await site.ask("POST", f"{path}/replay", key=keys["zed"])).json()["code"] == "not_a_party"
    other = await site.ask("POST", f"{path}/replay", key=operator, json={"revision": 2})
    assert other.json()["code"] == "not_judged"


async def test_evidence_that_was_altered_or_lost_is_told(site: Site, tmp_path: Path) -> None:
    claim_id, operator, keys = await claimed(site)
    await site.ask("POST", f"/claims/{claim_id}/evidence", key=keys["maya_r"], json=RIGHT)
    await Judging(site.market).drain()
    (item,) = (await site.ask("GET", f"/claims/{claim_id}", key=operator)).json()["submissions"][0]["items"]
    digest = item["sha256"].removeprefix("sha256:")
    kept = tmp_path / "artifacts" / digest[:2] / digest[2:]
    for act in (lambda: kept.write_bytes(b'{"sum": 41}'), kept.unlink):
        act()
        found = await site.ask("POST", f"/claims/{claim_id}/replay", key=operator)
        assert (found.status_code, found.json()["code"]) == (410, "evidence_gone"), found.text


async def test_one_verdict_is_replayed_at_a_time(site: Site) -> None:
    claim_id, operator, keys = await claimed(site)
    await site.ask("POST", f"/claims/{claim_id}/evidence", key=keys["maya_r"], json=RIGHT)
    await Judging(site.market).drain()
    async with site.market.replaying:
        busy = await site.ask("POST", f"/claims/{claim_id}/replay", key=operator)
    assert (busy.status_code, busy.json()["code"], busy.json()["retryable"]) == (503, "verifier_unavailable", True)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/operator/runs/run_none/apply", {}),
        ("POST", "/operator/runs/run_none/undo", {}),
        ("POST", "/operator/runs/run_none/effect", {"key": "x", "decision": "happened"}),
        ("POST", "/operator/runs/run_none/leave", {"key": "x", "action": "y", "approve": True}),
        ("POST", "/operator/reviews/rev_none/decide", {"approve": True, "reason": "x"}),
        ("GET", "/operator/journal", None),
    ],
)
async def test_runs_are_for_the_operator_and_are_not_found_where_there_are_none(
    site: Site, method: str, path: str, body: object
) -> None:
    operator = await site.operator()
    agent = await site.agent("maya_r", operator)
    for key, status in (("", 401), (agent["live"], 403), (operator, 404)):
        answer = await site.ask(method, path, key=key, json=body)
        assert answer.status_code == status, answer.text
