"""Are running sums the same as summing over everything, at any age and after any removal?"""

import math
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from megrams import START_MS, directly, instants, megram, megrams

from earnest.foundation.errors import Broken
from earnest.foundation.instants import DAY_MS
from earnest.memory.megram import INSTANT_MS_MAX, QUANTIZATION, Megram, MegramState
from earnest.memory.potential import (
    Advice,
    DecaySum,
    Potentials,
    expires_at_ms,
    live_attention,
    potentials,
)


def summed(remembered: list[Megram]) -> dict[float, DecaySum]:
    sums: dict[float, DecaySum] = {}
    for one in remembered:
        sums[one.k] = sums.get(one.k, DecaySum()).plus(one)
    return sums


def asked(remembered: list[Megram], now_ms: int) -> Potentials:
    return potentials(summed(remembered), [one for one in remembered if one.renewed_at_ms > now_ms], now_ms)


@pytest.mark.parametrize(
    ("attention", "decision", "action"),
    [
        (0.0, 0.0, Advice.IGNORE),
        (0.499, 0.499, Advice.IGNORE),
        (0.499, -0.499, Advice.IGNORE),
        (0.5, 0.0, Advice.CAUTION),
        (0.5, 0.2, Advice.CAUTION),
        (0.5, -0.2, Advice.CAUTION),
        (0.5, 0.201, Advice.EXPLOIT),
        (0.5, -0.201, Advice.AVOID),
        (9.0, 0.1, Advice.CAUTION),
        (math.nextafter(0.5, 0), 0.5, Advice.EXPLOIT),
        (1.0, math.nextafter(0.2, 1), Advice.CAUTION),
        (1.0, math.nextafter(-0.2, -1), Advice.CAUTION),
    ],
)
def test_the_action_follows_the_table(attention: float, decision: float, action: Advice) -> None:
    assert Potentials(attention=attention, decision=decision).action is action


@settings(deadline=None)
@given(st.lists(megrams(), max_size=30), instants())
def test_sums_are_what_summing_over_all_gives(remembered: list[Megram], now_ms: int) -> None:
    answer = asked(remembered, now_ms)
    assert (answer.attention, answer.decision) == pytest.approx(directly(remembered, now_ms), rel=1e-9, abs=1e-9)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(megrams(), max_size=20), st.lists(megrams(), max_size=20), st.randoms())
def test_what_was_added_and_removed_leaves_nothing(kept: list[Megram], removed: list[Megram], chance: Random) -> None:
    sums = summed(kept + removed)
    for one in chance.sample(removed, len(removed)):
        sums[one.k] = sums[one.k].minus(one)
    assert {k: part for k, part in sums.items() if part.count} == summed(kept)
    assert all(part == DecaySum() for part in sums.values() if not part.count)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(megrams(), max_size=20))
def test_a_sum_survives_being_written_down(remembered: list[Megram]) -> None:
    for part in summed(remembered).values():
        assert DecaySum.decode(part.encode()) == part


def test_a_sum_takes_few_bytes_at_any_date() -> None:
    part = DecaySum()
    for number in range(1_000):
        part = part.plus(megram(state=MegramState.REFINE, at_ms=START_MS + number * 60_000))
    assert len(part.encode()) < 100


def test_a_small_remainder_of_a_large_sum_is_exact() -> None:
    large = [replace(megram(f"m{number}", at_ms=START_MS + number), f=1.0, sigma=-1.0) for number in range(1_000)]
    small = replace(megram("small", at_ms=START_MS - 200 * DAY_MS), f=1e-3, sigma=1.0)
    sums = summed([*large, small])
    for one in large:
        sums[one.k] = sums[one.k].minus(one)
    answer = potentials(sums, [], START_MS)
    assert answer.attention == answer.decision == pytest.approx(1e-3 * math.exp(-10), rel=1e-9)


def test_nothing_can_be_removed_from_an_empty_sum() -> None:
    with pytest.raises(Broken):
        DecaySum().minus(megram())


@pytest.mark.parametrize("now_ms", [-(10**18), -1, 0, INSTANT_MS_MAX, 10**18])
@pytest.mark.parametrize("at_ms", [0, START_MS, INSTANT_MS_MAX])
@pytest.mark.parametrize("state", MegramState)
def test_no_instant_overflows(state: MegramState, at_ms: int, now_ms: int) -> None:
    answer = asked([megram(state=state, at_ms=at_ms)], now_ms)
    assert 0 <= answer.attention <= QUANTIZATION[state].f * (1 + 1e-12)


def test_a_decision_of_nothing_is_not_negative_zero() -> None:
    old = replace(megram(state=MegramState.CHANGE_PATH, at_ms=0), sigma=-0.0)
    for answer in (asked([old], INSTANT_MS_MAX), asked([replace(old, sigma=-1.0)], INSTANT_MS_MAX), asked([], 0)):
        assert math.copysign(1, answer.decision) == 1.0


def test_what_does_not_decay_weighs_the_same_for_ever() -> None:
    timeless = replace(megram(at_ms=0), k=0.0)
    assert asked([timeless], INSTANT_MS_MAX).attention == pytest.approx(0.95, rel=1e-12)


def test_half_lives_are_those_of_the_seed() -> None:
    for state, days in ((MegramState.ABANDON, 13.86), (MegramState.CHANGE_PATH, 3.47), (MegramState.REFINE, 1.39)):
        answer = asked([megram(state=state)], START_MS + round(days * DAY_MS))
        assert answer.attention == pytest.approx(QUANTIZATION[state].f / 2, rel=2e-3)


def test_five_refinements_at_once_are_enough_to_count() -> None:
    answer = asked([megram(f"m{number}", MegramState.REFINE) for number in range(5)], START_MS)
    assert answer.action is Advice.EXPLOIT


@settings(deadline=None)
@given(megrams())
def test_a_megram_expires_at_the_first_instant_below_its_limit(one: Megram) -> None:
    expiry_ms = expires_at_ms(one)
    limit = min(0.1, one.f / 2)
    if expiry_ms is None:
        assert one.k == 0
    else:
        assert live_attention(one, expiry_ms) < limit * (1 + 1e-12)
        assert live_attention(one, expiry_ms - 1) >= limit * (1 - 1e-12)


def test_a_refinement_outlives_its_own_writing() -> None:
    expiry_ms = expires_at_ms(megram(state=MegramState.REFINE))
    assert expiry_ms is not None
    assert expiry_ms - START_MS == pytest.approx(1.386 * DAY_MS, rel=1e-3)


@pytest.mark.parametrize("data", [b"", b"1 2 3", b"1 2 3 x", b"1 2 3 -4", b"\xff 1 1 1"])
def test_a_damaged_sum_is_broken(data: bytes) -> None:
    with pytest.raises(Broken, match="a sum that it did not write"):
        DecaySum.decode(data)
