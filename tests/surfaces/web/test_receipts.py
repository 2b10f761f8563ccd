"""Receipts over HTTP, the header of homes, and witnesses that see a fork."""

import base64
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.foundation.errors import Broken, Refused
from earnest.journal.notes import cosign, growth_flaws, read_checkpoint, with_signatures
from earnest.journal.receipt import check_receipt
from earnest.journal.service import Sealer
from earnest.journal.signing import WITNESS, PrivateKey
from earnest.runtime.market.periods import open_first_period
from earnest.runtime.replaying import replayed_claim
from earnest.verification.replay import ReplayAgreement

from .conftest import LOG_KEY, WITNESS_KEY, Site
from .jobs import RIGHT
from .test_period_routes import WRONG, Town
from .test_score_routes import checked_in


@pytest.fixture
async def town(site: Site) -> Town:
    olga = await site.operator()
    agents = {handle: await site.agent(handle, olga) for handle in ("ann", "bob", "cat")}
    await site.market.desk.tick(open_first_period)
    return Town(site, olga, agents)


async def seal(site: Site) -> None:
    await Sealer(site.market.desk.database, site.clock).seal()


async def paid(town: Town) -> str:
    """A claim of Bob's that was verified and paid."""
    claim_id = await town.work("bob", RIGHT)
    await town.later(3 * 86_400)
    assert (await town.ask("bob", "GET", f"/claims/{claim_id}"))["state"] == "released"
    await seal(town.site)
    return claim_id


async def receipt_of(town: Town, claim_id: str) -> tuple[bytes, dict[str, Any]]:
    answer = await town.site.ask("GET", f"/claims/{claim_id}/receipt", key=town.agents["bob"]["live"])
    assert answer.status_code == 200, answer.text
    found = check_receipt(answer.content, [LOG_KEY.public])
    assert found.flaws == ()
    assert found.statement is not None
    return answer.content, dict(found.statement)


async def test_a_claim_that_ended_yields_a_receipt_that_says_what_came_of_it(town: Town) -> None:
    claim_id = await paid(town)
    _, statement = await receipt_of(town, claim_id)
    predicate = statement["predicate"]
    assert (predicate["kind"], predicate["id"], predicate["promise"]["seller"]) == (
        "claim",
        claim_id,
        town.agents["bob"]["id"],
    )
    assert [one["id"] for one in predicate["criteria"]] == ["C1"]
    [judged] = predicate["verdicts"]
    assert (judged["verdict"]["verdict"], predicate["consequences"]["state"]) == ("verified", "released")
    assert predicate["consequences"]["transfers"]
    [subject] = statement["subject"]
    assert subject["name"].endswith("/answer.json")
    kinds = {place["kind"] for place in predicate["log"]["places"]}
    assert kinds >= {"job.opened", "claim.opened", "claim.changed", "submission.changed", "ledger.posted"}


async def test_who_gets_a_receipt_and_when(town: Town) -> None:
    claim_id = await town.claim("bob", await town.job())
    path = f"/claims/{claim_id}/receipt"
    assert await town.code("bob", "GET", path) == "not_ended"
    assert await town.code("cat", "GET", path) == "not_a_party"
    assert await town.code("bob", "GET", "/claims/clm_none/receipt") == "not_found"
    await town.ask("bob", "POST", f"/claims/{claim_id}/cancel")
    assert await town.code("bob", "GET", path) == "not_sealed"
    await seal(town.site)
    for who in ("ann", "bob", "olga"):
        assert await town.code(who, "GET", path) == ""
    _, statement = await receipt_of(town, claim_id)
    assert statement["subject"][0]["name"].endswith("/spec")  # nothing was handed in


async def test_what_a_receipt_says_was_judged_is_judged_again(town: Town) -> None:
    claim_id = await paid(town)
    predicate = (await receipt_of(town, claim_id))[1]["predicate"]
    market = town.site.market
    [row] = await replayed_claim(market, predicate)
    assert (row.agreement, row.id.rpartition("/")[2]) == (ReplayAgreement.AGREES, "C1")
    lied = json.loads(json.dumps(predicate).replace('"verified"', '"not_verified"'))
    with pytest.raises(Broken, match="another verdict"):
        await replayed_claim(market, lied)
    lied = json.loads(json.dumps(predicate).replace('"evidence_root": "', '"evidence_root": "x'))
    with pytest.raises(Refused, match="does not hold"):
        await replayed_claim(market, lied)
    with pytest.raises(Refused, match="only a claim"):
        await replayed_claim(market, {"kind": "run"})


async def test_work_that_failed_has_its_receipt_too(town: Town) -> None:
    claim_id = await town.work("bob", WRONG, max_revisions=0)
    await town.later(30 * 86_400)
    await seal(town.site)
    predicate = (await receipt_of(town, claim_id))[1]["predicate"]
    assert predicate["consequences"]["state"] == "refunded"
    assert predicate["verdicts"][0]["verdict"]["verdict"] == "not_verified"
    [row] = await replayed_claim(town.site.market, predicate)
    assert row.agreement is ReplayAgreement.AGREES


async def test_a_day_that_is_over_yields_a_receipt(site: Site) -> None:
    operator = await site.operator()
    ada = await site.agent("ada", operator)
    sent = await checked_in(site, ada["hb"])
    shown = (await site.ask("GET", f"/agents/me/heartbeats/{sent['heartbeat_id']}", key=ada["live"])).json()
    path = f"/agents/me/days/{shown['date']}/receipt"
    assert (await site.ask("GET", path, key=ada["live"])).json()["code"] == "not_ended"
    await site.clock.advance_ms(2 * 86_400_000)
    await seal(site)
    answer = await site.ask("GET", path, key=ada["live"])
    found = check_receipt(answer.content, [LOG_KEY.public])
    assert found.flaws == ()
    assert found.statement is not None
    predicate: Any = found.statement["predicate"]
    assert (predicate["id"], [one["heartbeat_id"] for one in predicate["verdicts"]]) == (
        f"ada/{shown['date']}",
        [sent["heartbeat_id"]],
    )
    for day, code in (("2020-01-01", "not_found"), ("2020-13-77", "not_found"), ("yesterday", "validation")):
        answer = await site.ask("GET", f"/agents/me/days/{day}/receipt", key=ada["live"])
        assert answer.json()["code"] == code


async def test_every_home_answers_with_the_newest_checkpoint(site: Site, clock: VirtualClock) -> None:
    agent = await site.register("ann")
    home = "/agents/me/home"
    assert "earnest-checkpoint" not in (await site.ask("GET", home, key=agent["key"])).headers
    await seal(site)
    await clock.advance_ms(1_000)
    answer = await site.ask("GET", home, key=agent["key"])
    note = base64.b64decode(answer.headers["earnest-checkpoint"]).decode()
    assert note == (await site.client.get("/checkpoint")).text == (await site.ask("GET", "/checkpoint")).text
    again = await site.ask("GET", home, key=agent["key"], headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.headers["earnest-checkpoint"]) == (304, answer.headers["earnest-checkpoint"])


async def test_a_witness_that_is_known_cosigns(site: Site) -> None:
    await site.register("ann")
    assert (await site.client.get("/checkpoint")).json()["code"] == "not_sealed"
    await seal(site)
    checkpoint = read_checkpoint((await site.client.get("/checkpoint")).text)
    for key, code in ((WITNESS_KEY, ""), (PrivateKey(name="x", type=WITNESS, seed=b"x" * 32), "witness_unknown")):
        note = str(with_signatures(checkpoint, [cosign(key, checkpoint, 7)]))
        answer = await site.ask("POST", "/log/cosignatures", json={"checkpoint": note})
        assert answer.json().get("code", "") == code, answer.text
    shown = read_checkpoint((await site.client.get(f"/checkpoint?size={checkpoint.head.size}")).text)
    assert [line.name for line in shown.signatures] == [LOG_KEY.name, WITNESS_KEY.name]
    keys = (await site.ask("GET", "/log/keys")).json()
    assert (keys["origin"], keys["key"]) == (LOG_KEY.name, str(LOG_KEY.public))
    assert keys["witnesses"] == [str(WITNESS_KEY.public)]


async def proof(site: Site, old: int) -> list[bytes]:
    answer = await site.ask("GET", f"/log/consistency?from={old}")
    return [bytes.fromhex(node) for node in answer.json().get("path", [])]


async def test_a_witness_sees_that_the_log_grew_and_that_it_forked(site: Site, tmp_path: Path) -> None:
    """The books are rewritten, leaves and heads included, and sealed again: only who saw the old head knows."""
    await site.register("ann")
    await seal(site)
    first = read_checkpoint((await site.client.get("/checkpoint")).text)
    await site.register("bob")
    await seal(site)
    second = read_checkpoint((await site.client.get("/checkpoint")).text)
    assert growth_flaws(LOG_KEY.public, first, second, await proof(site, first.head.size)) == []
    assert "went back" in str(growth_flaws(LOG_KEY.public, second, first, [])[0])
    _forge(tmp_path / "books.sqlite")
    forked = read_checkpoint((await site.client.get("/checkpoint")).text)
    assert forked.head.size == second.head.size
    assert forked.head.root != second.head.root
    assert "it forked" in str(growth_flaws(LOG_KEY.public, second, forked, await proof(site, second.head.size))[0])
    await site.register("cat")
    await seal(site)
    grown = read_checkpoint((await site.client.get("/checkpoint")).text)
    assert "it forked" in str(growth_flaws(LOG_KEY.public, second, grown, await proof(site, second.head.size))[0])


def _forge(path: Path) -> None:
    """Change a fact of the past as somebody would who can write to the file and knows all of our code."""
    from earnest.foundation.canonical import canonical_bytes, leaf_hash
    from earnest.journal.merkle import Frontier

    with sqlite3.connect(path, isolation_level=None) as raw:
        raw.execute("DROP TRIGGER facts_unchanged")
        tree = Frontier()
        for seq, at_ms, kind, subject, body in raw.execute(
            "SELECT seq, at_ms, kind, subject, body FROM facts ORDER BY seq"
        ).fetchall():
            told = json.loads(body)
            if seq == 2:
                told["forged"] = True
            if kind == "journal.sealed":
                told |= {"root": tree.root().hex(), "subtrees": [root.hex() for root in tree.roots]}
            forged = canonical_bytes(told)
            leaf = leaf_hash(seq, at_ms, kind, subject, forged)
            raw.execute("UPDATE facts SET body = ?, leaf = ? WHERE seq = ?", (forged, leaf, seq))
            tree.append(leaf)
        raw.execute(
            "CREATE TRIGGER facts_unchanged BEFORE UPDATE ON facts "
            "BEGIN SELECT RAISE(ABORT, 'a fact never changes'); END"
        )
