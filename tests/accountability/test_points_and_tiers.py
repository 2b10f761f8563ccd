"""The seed's tables: what a verdict comes to, which tier a score leads to, and how often it makes an agent wake."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.accountability.asking import AskedTask
from earnest.accountability.points import POINTS, PointsRule, rules_for
from earnest.accountability.tiers import (
    FORCING,
    INTERVAL_MAX_S,
    INTERVAL_MIN_S,
    Penalty,
    Reward,
    contract_interval_s,
    ends_when,
    interval_s,
    message_of,
    penalty_of,
    reward_of,
)
from earnest.verification.verdict import Answer, Cause

NO, YES = Answer.NOT_VERIFIED, Answer.VERIFIED
UNCLEAR = Answer.UNCLEAR


def task(**changes: object) -> AskedTask:
    return AskedTask(id="mail", description="Look at the mail", **changes)  # type: ignore[arg-type]


REQUIRED, OPTIONAL = task(), task(is_required=False)
FORCED = task(is_required=False, is_forced=True)
BESIDE, PLAIN = task(is_accepted=False), task(is_required=False, is_structured=False)


@pytest.mark.parametrize(
    ("asked", "answer", "cause", "asserted", "contradiction", "points"),
    [
        (REQUIRED, YES, None, False, False, 10),
        (OPTIONAL, YES, None, False, False, 5),
        (FORCED, YES, None, False, False, 10),
        (REQUIRED, NO, None, False, False, -15),
        (OPTIONAL, NO, None, True, False, -15),
        (OPTIONAL, NO, None, False, False, 0),
        (FORCED, NO, None, False, False, -15),
        (REQUIRED, NO, None, True, True, -45),
        (OPTIONAL, NO, None, True, True, -45),
        (REQUIRED, UNCLEAR, Cause.EVIDENCE, True, False, -2),
        (REQUIRED, UNCLEAR, Cause.EVIDENCE, True, True, -2),
        (OPTIONAL, UNCLEAR, Cause.EVIDENCE, False, False, 0),
        (OPTIONAL, UNCLEAR, Cause.EVIDENCE, True, False, -2),
        (REQUIRED, UNCLEAR, Cause.VERIFIER, True, False, 0),
        (REQUIRED, UNCLEAR, None, True, False, 0),
        (BESIDE, YES, None, True, False, 0),
        (BESIDE, NO, None, True, False, -15),
        (PLAIN, YES, None, True, False, 5),
        (PLAIN, NO, None, True, True, 0),
        (PLAIN, UNCLEAR, Cause.EVIDENCE, True, False, 0),
        (task(weakened="it is gone"), YES, None, True, False, -15),
    ],
)
def test_a_verdict_comes_to_the_points_of_the_table(
    asked: AskedTask, answer: Answer, cause: Cause | None, asserted: bool, contradiction: bool, points: int
) -> None:
    rules = rules_for(asked, answer, cause, asserted=asserted, contradiction=contradiction)
    assert sum(POINTS[rule] for rule in rules) == points


def test_thumbs_are_worth_what_the_seed_says() -> None:
    assert (POINTS[PointsRule.VOTE_UP], POINTS[PointsRule.VOTE_DOWN]) == (3, -10)
    assert set(POINTS) == set(PointsRule)


@pytest.mark.parametrize(
    ("score", "penalty"),
    [
        (-21, Penalty.LOCKDOWN),
        (-20, Penalty.ESCALATED),
        (-1, Penalty.ESCALATED),
        (0, Penalty.TIGHTENED),
        (14, Penalty.TIGHTENED),
        (15, Penalty.WARNING),
        (24, Penalty.WARNING),
        (25, Penalty.NONE),
    ],
)
def test_of_a_target_of_100_the_penalties_begin_where_the_table_says(score: int, penalty: Penalty) -> None:
    assert penalty_of(score, 100) is penalty


@pytest.mark.parametrize(
    ("score", "streak", "reward"),
    [
        (49, 9, Reward.NONE),
        (50, 9, Reward.GOOD),
        (69, 9, Reward.GOOD),
        (70, 0, Reward.EXCELLENT),
        (70, 2, Reward.EXCELLENT),
        (70, 3, Reward.OUTSTANDING),
        (89, 2, Reward.EXCELLENT),
        (90, 0, Reward.OUTSTANDING),
    ],
)
def test_of_a_target_of_100_the_rewards_begin_where_the_table_says(score: int, streak: int, reward: Reward) -> None:
    assert reward_of(score, 100, streak) is reward


def test_thresholds_between_whole_points_are_exact() -> None:
    assert penalty_of(20, 83) is Penalty.WARNING  # 20.75
    assert penalty_of(21, 83) is Penalty.NONE
    assert penalty_of(-17, 83) is Penalty.LOCKDOWN  # -16.6
    assert penalty_of(-16, 83) is Penalty.ESCALATED
    assert reward_of(58, 83, 0) is Reward.GOOD  # 58.1
    assert reward_of(59, 83, 0) is Reward.EXCELLENT


@given(st.integers(-2_000, 2_000), st.integers(50, 500), st.integers(0, 10))
def test_a_tier_ends_exactly_where_it_says(score: int, target: int, streak: int) -> None:
    penalty, reward = penalty_of(score, target), reward_of(score, target, streak)
    said = ends_when(penalty, reward, target, streak)
    if said is None:
        assert (penalty, reward) == (Penalty.NONE, Reward.NONE)
        return
    bound = int(said.rsplit(" ", 1)[1])
    if penalty is not Penalty.NONE:
        assert penalty_of(bound - 1, target) is penalty
        assert penalty_of(bound, target) is not penalty
    else:
        assert reward_of(bound, target, streak) is reward
        assert reward_of(bound - 1, target, streak) is not reward
    assert bool(message_of(penalty, reward))


def test_only_the_two_gravest_penalties_force_tasks() -> None:
    assert {Penalty.ESCALATED, Penalty.LOCKDOWN} == FORCING


@pytest.mark.parametrize(
    ("penalty", "reward", "minutes"),
    [
        (Penalty.LOCKDOWN, Reward.NONE, 8),
        (Penalty.ESCALATED, Reward.NONE, 10),
        (Penalty.TIGHTENED, Reward.NONE, 12),
        (Penalty.WARNING, Reward.NONE, 15),
        (Penalty.NONE, Reward.NONE, 15),
        (Penalty.NONE, Reward.GOOD, 17),
        (Penalty.NONE, Reward.EXCELLENT, 20),
        (Penalty.NONE, Reward.OUTSTANDING, 20),
    ],
)
def test_without_a_set_interval_the_ladder_of_the_seed_holds(penalty: Penalty, reward: Reward, minutes: int) -> None:
    assert contract_interval_s(penalty, reward, None) == minutes * 60


INTERVALS = st.none() | st.integers(INTERVAL_MIN_S, INTERVAL_MAX_S)


@given(st.sampled_from(Penalty), st.sampled_from(Reward), INTERVALS)
def test_a_penalty_never_lengthens_the_interval(penalty: Penalty, reward: Reward, set_s: int | None) -> None:
    usual = contract_interval_s(Penalty.NONE, Reward.NONE, set_s)
    assert contract_interval_s(penalty, Reward.NONE, set_s) <= usual
    if penalty is not Penalty.NONE:
        assert contract_interval_s(penalty, reward, set_s) <= usual


@given(st.sampled_from(Reward), INTERVALS)
def test_a_reward_never_shortens_the_interval(reward: Reward, set_s: int | None) -> None:
    usual = contract_interval_s(Penalty.NONE, Reward.NONE, set_s)
    assert contract_interval_s(Penalty.NONE, reward, set_s) >= usual


@given(st.none() | st.integers(60, 90_000), st.integers(60, 90_000), st.none() | st.integers(0, 90_000))
def test_the_boundary_of_a_claim_can_only_shorten_it(
    contract_s: int | None, cadence_s: int, boundary_s: int | None
) -> None:
    free = interval_s(contract_s, cadence_s)
    assert free == (cadence_s if contract_s is None else contract_s)
    assert 60 <= interval_s(contract_s, cadence_s, boundary_s) <= free
