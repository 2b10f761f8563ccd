"""Artifacts that were refused: nothing of them stays on the disk, and what somebody has brought is never collected."""

from pathlib import Path
from typing import Any

import pytest

from earnest.foundation.errors import Unavailable
from earnest.runtime.market.artifacts import bringing, collect_artifacts
from surfaces.web.conftest import Site
from surfaces.web.jobs import RIGHT, job_body

from .people import People, gathered


@pytest.fixture
async def people(site: Site) -> People:
    return await gathered(site)


def lying(folder: Path) -> int:
    return sum(path.is_file() for path in (folder / "artifacts").rglob("*"))


def item(**changes: Any) -> dict[str, Any]:
    return {"items": [{**RIGHT["items"][0], **changes}]}


async def brought(people: People, who: str, content: bytes, **given: Any) -> str:
    answer = await people.ask(who, "POST", "/artifacts", content=content, **given)
    return str(answer.json().get("sha256") or answer.json()["code"])


async def test_a_key_that_was_used_before_leaves_nothing_and_removes_nothing(people: People, tmp_path: Path) -> None:
    once = {"headers": {"Idempotency-Key": "once"}}
    kept = await brought(people, "bob", b"kept", **once)
    shared = await brought(people, "ann", b"shared")
    before = lying(tmp_path)
    for content in (b"more", b"and more", b"shared", b"shared"):
        assert await brought(people, "bob", content, **once) == "idempotency_key_conflict"
    assert lying(tmp_path) == before
    assert (await people.ask("bob", "GET", f"/artifacts/{kept}")).content == b"kept"
    assert (await people.ask("ann", "GET", f"/artifacts/{shared}")).content == b"shared"


async def test_evidence_that_is_refused_leaves_nothing_and_what_is_taken_stays(people: People, tmp_path: Path) -> None:
    _, claim_id = await people.claimed()
    path, before = f"/claims/{claim_id}/evidence", lying(tmp_path)
    two = {"items": [*RIGHT["items"], {"requirement_id": "more", "kind": "text", "inline": "x" * 50_000}]}
    refusals = (
        ("bob", item(sha256="sha256:" + "0" * 64, inline={"sum": 1}), "evidence_hash_mismatch"),
        ("bob", item(requirement_id="other", inline={"sum": 2}), "validation"),
        ("bob", item(kind="text", inline="x" * 50_000), "validation"),
        ("bob", two, "validation"),
        ("eve", item(inline={"sum": 3}), "not_a_party"),
    )
    for who, body, code in refusals:
        assert await people.code(who, "POST", path, body) == code
        assert lying(tmp_path) == before, code
    await people.ok("bob", "POST", path, RIGHT)
    await people.ok("ann", "POST", f"/claims/{claim_id}/accept")
    assert lying(tmp_path) == before + 1
    for number in range(3):
        assert await people.code("bob", "POST", path, item(inline={"sum": number})) == "claim_state"
    assert lying(tmp_path) == before + 1


async def test_nothing_is_fetched_for_a_claim_that_takes_no_evidence(people: People) -> None:
    _, claim_id = await people.submitted()
    await people.ok("ann", "POST", f"/claims/{claim_id}/accept")
    fetch = {"items": [{"requirement_id": "answer", "kind": "json", "storage_url": "https://127.0.0.1/x"}]}
    assert await people.code("bob", "POST", f"/claims/{claim_id}/evidence", fetch) == "claim_state"


async def test_what_a_crash_left_is_collected_and_what_arrives_or_is_named_is_not(
    people: People, tmp_path: Path
) -> None:
    market, arriving = people.site.market, list[str]()
    await market.artifacts.put(b"left by a crash")
    assert await collect_artifacts(market) == 0, "books that name nothing are not believed"
    named = await brought(people, "bob", b"named")
    await market.artifacts.put(b"on its way", held=arriving)
    assert await collect_artifacts(market) == 1
    assert lying(tmp_path) == 2
    assert (await people.ask("bob", "GET", f"/artifacts/{named}")).content == b"named"
    market.artifacts.let_go(arriving, lambda _: False)
    assert lying(tmp_path) == 1


async def test_what_broke_on_the_way_is_kept_a_while_and_then_collected(people: People, tmp_path: Path) -> None:
    market, bob = people.site.market, people.keys["bob"]["id"]
    await brought(people, "bob", b"named")
    with pytest.raises(Unavailable):  # noqa: PT012 - it is stored before it breaks
        async with bringing(market, bob) as sending:
            await sending.put(b"was it written?", 100)
            raise Unavailable("who knows")
    assert [await collect_artifacts(market) for _ in range(3)] == [0, 1, 0]
    assert lying(tmp_path) == 1


async def test_many_things_of_one_request_share_the_room_until_it_is_answered(people: People) -> None:
    market, bob = people.site.market, people.keys["bob"]["id"]
    room = market.artifacts.limits.owner_bytes
    async with bringing(market, bob) as sending:
        await sending.put(b"a" * 1_000, 1_000)
        with market.artifacts.expecting(bob, room, room) as left:
            assert left == min(room - 1_000, market.artifacts.limits.item_bytes)
    with market.artifacts.expecting(bob, room, room) as left:
        assert left == min(room, market.artifacts.limits.item_bytes)


async def test_a_foreign_artifact_is_refused_the_second_time_too_and_its_owner_may_name_it(people: People) -> None:
    schema = await brought(people, "ann", b'{"type": "object", "required": ["sum"]}')
    job = job_body(files=[{"path": "schema.json", "sha256": schema}])
    for _ in range(2):
        assert await people.code("eve", "POST", "/jobs", job) == "validation"
        await people.ok("ann", "POST", "/jobs", job)
    assert await people.code("eve", "POST", "/jobs", job) == "validation", "what was tried for Ann is not Eve's"
