"""Faults of servers, workers, PostgreSQL, NATS, network, clocks and disks, round after round.

`EARNEST_CLUSTER_ROUNDS` says how many rounds, `EARNEST_FAULT_SEED` which; `python -m surfaces.web.cluster_faults` plays
any number.
"""

import os

import pytest

from .cluster_faults import play

ROUNDS = int(os.environ.get("EARNEST_CLUSTER_ROUNDS", "12"))
SEED = int(os.environ.get("EARNEST_FAULT_SEED", "1"))


@pytest.mark.slow  # minutes of faults
@pytest.mark.timeout(600 + 60 * ROUNDS)
def test_whatever_fails_the_platform_works_on_and_loses_and_doubles_nothing() -> None:
    assert sum(play(SEED, ROUNDS).values()) == ROUNDS
