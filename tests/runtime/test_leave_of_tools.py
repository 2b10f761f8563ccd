"""Does a tool that reaches beyond the sandbox get no further than leave was given for?"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.hands.sandbox.available import UnavailableSandbox
from earnest.effects.hands.tools.api import Leave, ToolPlace
from earnest.effects.hands.tools.arguments import text_faults, texts_schema
from earnest.effects.hands.tools.record import RawResult, ToolCall
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.engine.ports import EffectUnknown, NeedsConfirmation
from earnest.foundation.canonical import JsonObject
from earnest.runtime.minds_of_models import within_reach
from earnest.runtime.order import Grants

from .hands_stage import Life, Says, begin

KEY = "r1/one/a1/c1"


class Told:
    """A tool that remembers its calls."""

    version = "1"
    purpose = "Tell."
    args_schema = texts_schema(what="what")

    def __init__(self, leave: Leave, *, reads_only: bool) -> None:
        self.name = f"tell_{leave}"
        self.leave = leave
        self.reads_only = reads_only
        self.calls = 0
        self.dies = False

    def args_faults(self, args: JsonObject) -> list[str]:
        return text_faults(args, {"what": 100})

    def tool_ids(self, _args: JsonObject) -> frozenset[str]:
        return frozenset({self.name})

    def target(self, _args: JsonObject) -> str:
        return self.name

    async def run(self, _call: ToolCall, _place: ToolPlace) -> RawResult:
        self.calls += 1
        if self.dies:
            raise KeyboardInterrupt
        return RawResult(stdout=b"told")


class House:
    def __init__(self, folder: Path, database: Database) -> None:
        self.reading = Told(Leave.NETWORK, reads_only=True)
        self.acting = Told(Leave.OUTSIDE, reads_only=False)
        self._folder = folder
        self._database = database

    async def begin(self, person: Says | None = None, grants: Grants | None = None) -> Life:
        clock = VirtualClock()
        return await begin(
            self._folder,
            self._database,
            clock=clock,
            sandbox=UnavailableSandbox("none", clock),
            person=person,
            grants=grants,
            toolbox=Toolbox(clock, (self.reading, self.acting)),
        )


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    database = Database.open(tmp_path / "books.sqlite3", VirtualClock())
    yield House(tmp_path, database)
    database.close()


def call(tool: Told) -> ToolCall:
    return ToolCall(tool=tool.name, args={"what": "hello"})


async def test_without_leave_nothing_happens_and_the_question_says_what_would(house: House) -> None:
    person = Says(False)
    life = await house.begin(person)
    for tool, wants in (
        (house.reading, "use the network"),
        (house.acting, "act outside the sandbox, with your rights"),
    ):
        with pytest.raises(NeedsConfirmation, match=wants):
            await life.call(f"{KEY}{tool.name}", call(tool))
        assert tool.calls == 0
    assert [asked.network for asked in person.asked] == [True, True]


async def test_a_granted_network_is_leave_to_read_the_web_and_none_to_act(house: House) -> None:
    life = await house.begin(grants=Grants(network=True))
    assert (await life.call(KEY, call(house.reading))).ok
    with pytest.raises(NeedsConfirmation):
        await life.call("r1/one/a1/c2", call(house.acting))
    assert (house.reading.calls, house.acting.calls) == (1, 0)


async def test_a_yes_is_good_for_one_call(house: House) -> None:
    person = Says(True)
    life = await house.begin(person)
    assert (await life.call(KEY, call(house.acting))).ok
    assert (await life.call("r1/one/a1/c2", call(house.acting))).ok
    assert len(person.asked) == 2


async def test_an_act_that_a_crash_cut_off_is_unknown_and_a_look_at_the_web_is_taken_again(house: House) -> None:
    for tool in (house.reading, house.acting):
        tool.dies = True
        with pytest.raises(KeyboardInterrupt):
            await (await house.begin(Says(True))).call(f"{KEY}{tool.name}", call(tool))
        tool.dies = False
    life = await house.begin(Says(True))
    assert (await life.call(f"{KEY}{house.reading.name}", call(house.reading))).ok
    with pytest.raises(EffectUnknown):
        await life.call(f"{KEY}{house.acting.name}", call(house.acting))
    assert (house.reading.calls, house.acting.calls) == (2, 1)


@pytest.mark.parametrize(
    ("network", "attended", "names"),
    [
        (False, False, []),
        (True, False, ["tell_network"]),
        (False, True, ["tell_network", "tell_outside"]),
    ],
)
def test_a_model_is_told_of_what_it_can_get_leave_for(network: bool, attended: bool, names: list[str]) -> None:
    tools = (Told(Leave.NETWORK, reads_only=True), Told(Leave.OUTSIDE, reads_only=False))
    grants = Grants(network=network)
    assert [tool.name for tool in within_reach(tools, grants, attended=attended)] == names
