"""Who puts the dreamer's rules into words?"""

from earnest.app.model_settings import ModelSettings
from earnest.app.models import ModelPool, distiller_for
from earnest.effects.ground.clock import SeededChance, VirtualClock
from earnest.memory.consolidation import Cluster
from earnest.memory.distilling import digest, distilled
from earnest.memory.megram import Tag
from earnest.memory.potential import Potentials
from earnest.testing.model_server import ModelServer, ScriptedReply, fails, says

CLUSTER = Cluster(
    tag=Tag(space="approach:count", entity="tool:sed"),
    potentials=Potentials(attention=6.0, decision=-4.0),
    events=(),
)


async def distilled_by(reply: ScriptedReply) -> tuple[str, list[str]]:
    clock, chance = VirtualClock(), SeededChance()
    async with ModelServer(reply) as server:
        settings = ModelSettings(base_url=server.base_url, default="m")
        async with ModelPool(settings, clock=clock, chance=chance) as pool:
            rule = (await distilled(CLUSTER, distiller_for(pool, clock, chance))).rule
        return rule, [request.prompt_name for request in server.requests]


async def test_an_endpoint_that_was_set_up_distils() -> None:
    rule, asked = await distilled_by(says('<think>{"rule": "no"</think>```json\n{"rule": "Count with wc."}\n```'))
    assert (rule, asked) == ("Count with wc.", ["distil"])


async def test_an_endpoint_that_fails_or_talks_leaves_it_to_the_digest() -> None:
    for reply in (fails(400), says("I would rather not."), says('{"rule": " "}')):
        assert (await distilled_by(reply))[0] == digest(CLUSTER).rule


async def test_without_an_endpoint_nobody_is_looked_for() -> None:
    clock, chance = VirtualClock(), SeededChance()
    pool = ModelPool(ModelSettings(), clock=clock, chance=chance)
    assert distiller_for(pool, clock, chance) is None
