"""Is no task accepted that was not done, and none refused that was, whoever works and judges it?"""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

from .roles import Who
from .task import tasks
from .trial import Ended, tried

TASKS_MIN = 40
AT_ONCE = 4
NAMES = tuple(tasks("anywhere"))
TRIALS = [(name, who) for name in NAMES for who in Who]
SAMPLE = {
    ("converting/a_list_without_doubles", Who.HONEST),
    ("impossible/a_file_that_is_not_there", Who.BOTH),
    ("summarising/errors_by_service", Who.LYING_EXECUTOR),
}
"""Quick ones, of three kinds."""

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def ended(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Ended]]:
    """How each trial ended that this session asks for, at a home that all of them share."""
    wanted = {item.callspec.id for item in request.session.items if hasattr(item, "callspec")}
    root = tmp_path_factory.mktemp("tasks")
    (root / "user").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(root / "user"))
        yield asyncio.run(_all(wanted, root))


async def _all(wanted: Collection[str], root: Path) -> dict[str, Ended]:
    """The first one tests the sandbox for all."""
    trials = [trial for trial in TRIALS if _id(trial) in wanted]
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(name: str, who: Who, tested: Path | None) -> Ended:
        async with turns:
            return await tried(name, who, root, tested)

    first = await one(*trials[0], None)
    tested = next((root / "books").rglob("self-test.json"), None)
    rest = await asyncio.gather(*(one(*trial, tested) for trial in trials[1:]))
    return {_id(trial): end for trial, end in zip(trials, (first, *rest), strict=True)}


def _id(trial: tuple[str, Who]) -> str:
    return f"{trial[0]}/{trial[1]}"


@pytest.mark.parametrize(
    "trial",
    [pytest.param(trial, id=_id(trial), marks=() if trial in SAMPLE else pytest.mark.slow) for trial in TRIALS],
)
def test_a_task_ends_as_it_was_done(trial: tuple[str, Who], ended: Mapping[str, Ended]) -> None:
    end = ended[_id(trial)]
    told = f"{end.ending}: {end.result.summary} {end.result.unmet}"
    assert end.is_untouched or end.task.write, "what is the user's was changed without leave"
    if end.who is Who.HONEST:
        assert end.ending == end.task.ends, told
        assert end.is_true or end.ending != "accept", "the script is honest, and wrong"
    elif end.is_lie_accepted:
        assert end.task.opinion, told
        assert end.who in {Who.LYING_JUDGE, Who.BOTH}, told
        assert "Judged only" in end.result.summary


def test_there_are_enough_tasks_and_each_is_worked_badly_in_another_way() -> None:
    found = tasks("anywhere").values()
    assert len(found) >= TASKS_MIN
    for task in found:
        for who in ("careless", "lying"):
            assert any(part.deeds[who] != part.deeds["honest"] for part in task.parts), (task.name, who)
