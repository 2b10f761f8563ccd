"""Does a run that is killed with signal 9, anywhere, end as if nobody had touched it?"""

import random
from itertools import count
from pathlib import Path

import pytest

from .lives import Ending, Nursery, World
from .playbooks import BLIND, COUNTED

STRIDE = 8
"""The boundaries are shared out among so many tests."""
LATE = 105
"""A boundary in the last round, when most effects have been made."""
RESUME_MS_MAX = 1_000


@pytest.fixture(scope="module")
def undisturbed(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the counted playbook leaves behind when nobody interrupts it."""
    world = World.made(tmp_path_factory.mktemp("undisturbed"), COUNTED, nursery)
    assert world.run().code == 0
    (run_id,) = world.started()
    left = world.left_behind(run_id)
    assert left["files"]["outside/ledger"] == "x\n"  # type: ignore[index]
    assert not world.faults()
    return left


def _differences(world: World, run_id: str, expected: dict[str, object]) -> dict[str, object]:
    """What is not as expected; empty if all is."""
    left = world.left_behind(run_id)
    return {name: (left[name], value) for name, value in expected.items() if left[name] != value}


def _bring_to_its_end(world: World, killed: Ending) -> str:
    """Start again after a crash, check that no fact was lost, and give the run's id."""
    assert killed.was_killed, killed.output
    before = world.facts()
    again = world.run()
    assert again.code == 0, again.output
    assert world.facts()[: len(before)] == before
    assert not world.faults()
    (run_id,) = world.started()
    return run_id


@pytest.mark.slow
@pytest.mark.parametrize("boundary", [31, 67, 102])
def test_a_run_killed_at_a_boundary_ends_as_if_nothing_had_happened(
    boundary: int, tmp_path: Path, nursery: Nursery, undisturbed: dict[str, object]
) -> None:
    world = World.made(tmp_path, COUNTED, nursery)
    run_id = _bring_to_its_end(world, world.run(kill_at=boundary))
    assert not _differences(world, run_id, undisturbed)


@pytest.mark.slow  # a process is killed at each of some 140 boundaries
@pytest.mark.parametrize("first", range(1, STRIDE + 1))
def test_a_run_killed_at_any_boundary_ends_as_if_nothing_had_happened(
    first: int, tmp_path: Path, nursery: Nursery, undisturbed: dict[str, object]
) -> None:
    for boundary in count(first, STRIDE):
        world = World.made(tmp_path / str(boundary), COUNTED, nursery)
        ending = world.run(kill_at=boundary)
        if not ending.was_killed:
            assert boundary > STRIDE
            return
        assert not _differences(world, _bring_to_its_end(world, ending), undisturbed), f"killed at {boundary}"


@pytest.mark.slow  # twenty runs are killed and begun again
@pytest.mark.parametrize("part", range(4))
def test_a_run_killed_at_a_random_moment_ends_as_if_nothing_had_happened(
    part: int, tmp_path: Path, nursery: Nursery, undisturbed: dict[str, object]
) -> None:
    chance = random.Random(f"moments {part}")
    for number in range(5):
        world = World.made(tmp_path / str(number), COUNTED, nursery)
        ending = world.run(kill_after_ms=chance.randint(120, 520))
        if ending.was_killed:
            assert not _differences(world, _bring_to_its_end(world, ending), undisturbed)
        else:
            assert not _differences(world, world.started()[0], undisturbed)


@pytest.mark.slow  # some thirty processes
@pytest.mark.parametrize("part", range(3))
def test_a_run_killed_again_and_again_while_it_resumes_ends_as_if_nothing_had_happened(
    part: int, tmp_path: Path, nursery: Nursery, undisturbed: dict[str, object]
) -> None:
    chance = random.Random(f"resumes {part}")
    for number in range(3):
        world = World.made(tmp_path / str(number), COUNTED, nursery)
        ending = world.run(kill_at=chance.randint(10, 100))
        while ending.was_killed and not world.started():
            ending = world.run()
        for _ in range(3):
            if ending.was_killed and not world.has_ended(world.started()[0]):
                ending = world.resume(world.started()[0], kill_at=chance.randint(10, 60))
        run_id = _bring_to_its_end(world, ending) if ending.was_killed else world.started()[0]
        assert not _differences(world, run_id, undisturbed)


@pytest.mark.slow  # runs beside each other are timed
def test_going_on_costs_less_than_a_second_beside_the_work_itself(
    tmp_path: Path, nursery: Nursery, undisturbed: dict[str, object]
) -> None:
    anew = World.made(tmp_path / "anew", COUNTED, nursery).run()
    world = World.made(tmp_path / "late", COUNTED, nursery)
    assert world.run(kill_at=LATE).was_killed
    (run_id,) = world.started()
    assert not world.has_ended(run_id)
    again = world.resume(run_id)
    assert (again.code, world.has_ended(run_id)) == (0, True)
    assert again.ms < anew.ms + RESUME_MS_MAX


def _effects(world: World) -> int:
    ledger = world.folder / "outside" / "ledger"
    return len(ledger.read_text().splitlines()) if ledger.exists() else 0


@pytest.mark.slow  # a process is killed at each of some 40 boundaries
def test_an_effect_that_nothing_can_tell_of_is_asked_about_and_happens_once(tmp_path: Path, nursery: Nursery) -> None:
    unknown = 0
    for boundary in count(1):
        world = World.made(tmp_path / str(boundary), BLIND, nursery)
        if not world.run(kill_at=boundary).was_killed:
            break
        again = world.run()
        while again.code == 4:
            unknown += 1
            assert again.result["asks"], again.output
            happened = _effects(world) == 1
            (run_id,) = world.started()
            again = world.resume(run_id, "--effect", "happened" if happened else "absent")
        assert (again.code, _effects(world), len(world.started())) == (0, 1, 1), again.output
    assert unknown >= 2, "killed before the effect as well as after it"
