"""Probes are the operator's: nobody else has one measured, learns of one, or reads what was measured."""

import dataclasses
import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import pytest

from earnest.effects.outside.probes.api import Reading
from earnest.market.service import JOBS
from earnest.runtime.accountability.judging import HeartbeatJudging
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from surfaces.web.conftest import Site
from surfaces.web.jobs import RIGHT, job_body

from .people import People, gathered

VALUE = 48_151_623
TASK = "- [ ] mail | Look at the mail | required | verify: inbox"


@dataclass
class Counting:
    """One probe, and how often it was measured."""

    asked: list[str] = field(default_factory=list)

    @property
    def names(self) -> Collection[str]:
        return ("inbox",)

    async def measure(self, name: str) -> Reading:
        self.asked.append(name)
        return Reading(value=VALUE, as_expected=True, expectation="at least 42424242")


@pytest.fixture
def probes(market: Any) -> Counting:
    found = Counting()
    verifier = Verifier(registry=Registry(), sandbox=None, clock=market.desk.clock, probes=found)
    object.__setattr__(market, "verifier", verifier)
    return found


def probing(name: str, **changes: Any) -> dict[str, Any]:
    check = {"kind": "probe", "probe": name}
    return job_body(criteria=[{"id": "C1", "text": "the mail is read", "check": check}], **changes)


def free(**changes: Any) -> dict[str, Any]:
    return {"amount_micro": 0, **changes}


@pytest.mark.parametrize("who", ["ann", "ann.reg"])
async def test_a_job_of_an_agent_names_no_probe_whether_or_not_there_is_one(
    site: Site, probes: Counting, who: str
) -> None:
    people = await gathered(site)
    answers = [await people.ask(who, "POST", "/jobs", probing(name, **free())) for name in ("inbox", "wrong")]
    told = [(one.status_code, one.json()["code"], one.json()["detail"].replace("wrong", "inbox")) for one in answers]
    assert told[0] == told[1]
    assert told[0][1] == "unknown_check"
    assert probes.asked == []


async def test_nor_does_one_that_is_offered_anew_or_names_it_in_a_tag(site: Site, probes: Counting) -> None:
    people = await gathered(site)
    job = await people.ok("ann", "POST", "/jobs", job_body(**free()))
    assert await people.code("ann", "POST", "/jobs", probing("inbox", **free(redo_of=job["job_id"]))) == "unknown_check"
    tagged = job_body(title="Look [verifier:probe]", criteria=[{"id": "C1", "text": "it is read"}], **free())
    assert await people.code("ann", "POST", "/jobs", tagged) in {"validation", "unknown_check"}
    assert probes.asked == []


async def test_an_older_job_of_an_agent_that_names_one_has_nothing_measured(site: Site, probes: Counting) -> None:
    people = await gathered(site)
    job_id, claim_id = await people.claimed(acceptance="machine")

    def older(entry: Any) -> dict[str, Any]:
        job = JOBS.find(entry.transaction, job_id)
        criteria = json.dumps(probing("inbox")["criteria"])
        JOBS.change(entry.transaction, entry.now_ms, job, dataclasses.replace(job, criteria=criteria))
        return {}

    await site.market.desk.tick(older)
    await people.ok("bob", "POST", f"/claims/{claim_id}/evidence", RIGHT)
    await people.judged()
    assert probes.asked == []
    assert (await people.ok("bob", "GET", f"/claims/{claim_id}"))["verdict"] == "unclear"
    home = json.dumps(await people.ok("ann", "GET", "/agents/me/home"))
    assert claim_id in home, "the buyer is asked"
    cited = {"reason": "no", "criteria": ["C1"]}
    assert await people.code("ann", "POST", f"/claims/{claim_id}/decline", cited) == "claim_state"
    await people.ticked(72 * 3_600_000)
    assert (await people.ok("bob", "GET", f"/claims/{claim_id}"))["state"] == "released", "what is theirs does not hang"


async def test_a_job_of_the_operator_is_decided_by_one_and_only_the_operator_reads_what_it_measured(
    site: Site, probes: Counting
) -> None:
    people = await gathered(site)
    assert await people.code("olga", "POST", "/jobs", probing("wrong", **free())) == "unknown_check"
    job = await people.ok("olga", "POST", "/jobs", probing("inbox", **free(acceptance="machine")))
    claim_id = (await people.ok("bob", "POST", f"/jobs/{job['job_id']}/claim"))["claim_id"]
    await people.ok("bob", "POST", f"/claims/{claim_id}/evidence", RIGHT)
    await people.judged()
    assert probes.asked == ["inbox"]
    auditor = await people.ok("olga", "POST", "/operator/keys", {"scope": "aud", "handle": "arthur"})
    people.keys["arthur"] = {"live": auditor["key"]}
    for who, path in (
        ("bob", f"/claims/{claim_id}"),
        ("arthur", f"/claims/{claim_id}"),
        ("bob", f"/jobs/{job['job_id']}"),
        ("bob", "/agents/me/home"),
        ("eve", "/agents/bob/transcript"),
    ):
        shown = json.dumps(await people.ok(who, "GET", path))
        assert str(VALUE) not in shown, path
        assert "42424242" not in shown, path
    claim = await people.ok("bob", "GET", f"/claims/{claim_id}")
    assert claim["state"] == "released"
    assert claim["submissions"][0]["verdict"]["criteria"][0]["reason"] == "the probe finds it met"
    assert str(VALUE) in json.dumps(await people.ok("olga", "GET", f"/claims/{claim_id}"))


async def check_in(people: People, **sent: Any) -> dict[str, Any]:
    found = await people.ok("bob", "POST", "/agents/me/heartbeats", sent)
    await HeartbeatJudging(people.site.market).drain()
    whole: dict[str, Any] = await people.ok("bob", "GET", f"/agents/me/heartbeats/{found['heartbeat_id']}")
    return whole


async def test_a_contract_that_nobody_accepted_has_nothing_measured_and_reads_like_one_of_a_wrong_name(
    site: Site, probes: Counting
) -> None:
    people = await gathered(site)
    lines = ["## Tasks", TASK, TASK.replace("| mail", "| post").replace("mail |", "post |").replace("inbox", "wrong")]
    tasks = (await check_in(people, contract="\n".join(lines)))["tasks"]
    told = [{name: one[name] for name in ("verdict", "cause", "reason", "points")} for one in tasks]
    assert told[0] == told[1]
    assert probes.asked == []


async def test_an_accepted_contract_is_measured_and_its_agent_reads_whether_it_is_met(
    site: Site, probes: Counting
) -> None:
    people = await gathered(site)
    await people.ok("olga", "PUT", "/operator/agents/bob/contract", {"contract": f"## Tasks\n{TASK}"})
    found = await check_in(people, contract=f"## Tasks\n{TASK}\n{TASK.replace('mail |', 'beside |')}")
    assert probes.asked == ["inbox"], "what stands beside what was accepted is not measured"
    reasons = [one["reason"] for one in found["tasks"] if one["id"] == "mail"]
    assert reasons == ["the probe finds it met"]
    for path in (f"/agents/me/heartbeats/{found['heartbeat_id']}", "/agents/me/heartbeats/due", "/score/events"):
        shown = json.dumps(await people.ok("bob", "GET", path))
        assert str(VALUE) not in shown, path
    operators = await people.ok("olga", "GET", f"/agents/me/heartbeats/{found['heartbeat_id']}")
    assert str(VALUE) in json.dumps(operators)
