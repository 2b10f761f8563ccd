"""Are tools that others bring there once they are asked for, and missing, with a reason, where they cannot be had?"""

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.tools.api import Tool
from earnest.effects.hands.tools.glob import Glob
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.foundation.errors import Unavailable


class Late(Glob):
    name = "late:find"


class Source:
    """Gives what a test says, in order; the last for ever."""

    def __init__(self, *gives: tuple[Tool, ...] | Exception) -> None:
        self.asked = 0
        self.closed = False
        self._gives = gives

    async def tools(self) -> tuple[Tool, ...]:
        given = self._gives[min(self.asked, len(self._gives) - 1)]
        self.asked += 1
        if isinstance(given, Exception):
            raise given
        return given

    async def close(self) -> None:
        self.closed = True


async def test_a_source_is_opened_for_the_names_that_begin_as_its_tools_do() -> None:
    late, other = Source((Late(),)), Source(())
    toolbox = Toolbox(VirtualClock(), (), sources={"late:": late, "other:": other})
    await toolbox.open({"shell"})
    assert (late.asked, other.asked) == (0, 0)
    await toolbox.open({"late:find"})
    assert (late.asked, other.asked) == (1, 0)
    assert toolbox.faults("late:find", {"pattern": "*"}) == []
    await toolbox.open()
    assert other.asked == 1
    await toolbox.close()
    assert (late.closed, other.closed) == (True, True)


@pytest.mark.parametrize(
    ("problem", "told"), [(Unavailable("it is off"), "it is off"), (RuntimeError("a\x1b"), "RuntimeError: a\\x1b")]
)
async def test_a_source_that_fails_leaves_its_tools_out_until_it_gives_them(problem: Exception, told: str) -> None:
    toolbox = Toolbox(VirtualClock(), (), sources={"late:": Source(problem, (Late(),))})
    await toolbox.open()
    assert toolbox.faults("late:find", {}) == [f"no tool 'late:find': {told}"]
    assert "late:find" not in toolbox
    await toolbox.open()
    assert toolbox.faults("late:find", {"pattern": "*"}) == []


async def test_a_name_in_a_file_has_no_faults_before_its_source_is_open_and_is_held_to_them_after() -> None:
    toolbox = Toolbox(VirtualClock(), (), sources={"late:": Source((Late(),))})
    assert "late:find" in toolbox
    assert toolbox.written_faults("late:find", {"x": 1}) == []
    assert toolbox.faults("late:find", {"x": 1}) != []
    await toolbox.open()
    assert toolbox.written_faults("late:find", {"x": 1}) != []
    assert toolbox.written_faults("late:none", {}) == ["no tool 'late:none': it has no such tool"]
