"""Anybody can hold the platform to its log."""

from earnest.effects.ground.clock import VirtualClock
from earnest.journal.merkle import verify_inclusion
from earnest.journal.service import Sealer

from .conftest import Site


async def test_a_fact_is_proved_to_stand_under_the_newest_checkpoint(site: Site, clock: VirtualClock) -> None:
    agent = await site.register("ann")
    await Sealer(site.market.desk.database, clock).seal()
    proof = (await site.ask("GET", "/log/proof?seq=2", key=agent["key"])).json()
    checkpoint = (await site.ask("GET", "/log/checkpoint")).json()
    assert proof["checkpoint"] == checkpoint
    assert verify_inclusion(
        leaf=bytes.fromhex(proof["leaf"]),
        index=1,
        size=checkpoint["size"],
        proof=[bytes.fromhex(node) for node in proof["path"]],
        root=bytes.fromhex(checkpoint["root"]),
    )


async def test_what_is_not_sealed_is_not_proved(site: Site) -> None:
    agent = await site.register("ann")
    answer = await site.ask("GET", "/log/proof?seq=1", key=agent["key"])
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (await site.ask("GET", "/log/checkpoint")).json() == {"size": 0, "root": "", "sealed_at": None}
