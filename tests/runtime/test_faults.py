"""Runs under faults, by seed: killed, stopped by a service manager, or with a disk that fails, at any boundary.

`EARNEST_FAULT_ROUNDS` says how many rounds (300 for all), `EARNEST_FAULT_SEED` plays one again.
"""

import os
import random
from pathlib import Path
from typing import Any

import pytest

from .lives import Ending, Nursery, World
from .playbooks import BLIND, COUNTED

FAULTS = ("SIGKILL", "SIGTERM", "SIGINT", "EIO", "ENOSPC")
ROUNDS = int(os.environ.get("EARNEST_FAULT_ROUNDS", "36"))
SEEDS = [int(os.environ["EARNEST_FAULT_SEED"])] if "EARNEST_FAULT_SEED" in os.environ else list(range(ROUNDS))
PARTS = 6
LIVES_MAX = 8


def _effects(world: World) -> int:
    ledger = world.folder / "outside" / "ledger"
    return len(ledger.read_text().splitlines()) if ledger.exists() else 0


def _left(world: World) -> list[str]:
    """Folders that nobody needs any more."""
    stages = (world.home / "runs").glob("*/stages/*/*")
    return [str(p) for p in (*stages, *world.folder.glob("*.scratch")) if "checkpoints" not in p.parts]


def _next_life(world: World, last: Ending, **fault: Any) -> Ending:
    """The same command again; where a person is asked, their answer is the truth."""
    if last.code == 4 and last.result["asks"]:
        word = "happened" if _effects(world) else "absent"
        return world.resume(str(last.result["run"]), "--effect", word, **fault)
    return world.run(**fault)


@pytest.mark.timeout(3_600)
@pytest.mark.slow  # each round is some four processes
@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_fails_wherever_a_run_ends_well_with_each_effect_once(
    part: int, tmp_path: Path, nursery: Nursery
) -> None:
    for seed in SEEDS[part::PARTS]:
        chance = random.Random(f"faults {seed}")
        playbook, boundaries = chance.choice([(COUNTED, 150), (BLIND, 48)])
        world = World.made(tmp_path / str(seed), playbook, nursery)
        told = f"EARNEST_FAULT_SEED={seed}"
        ending = world.run(kill_at=chance.randint(1, boundaries), fault=chance.choice(FAULTS))
        for life in range(LIVES_MAX):
            assert ending.code in {0, 3, 4, 130, -2, -9, -15}, (told, ending)
            if ending.code == 0:
                break
            again = chance.random() < 0.5 and life < 3
            fault = {"kill_at": chance.randint(1, boundaries), "fault": chance.choice(FAULTS)} if again else {}
            ending = _next_life(world, ending, **fault)
        assert (ending.code, _effects(world), len(world.started())) == (0, 1, 1), (told, ending)
        assert ending.result["directive"] == "accept", told
        world.catch_up()
        assert (world.faults(), _left(world)) == ([], []), told
