"""Are the five metrics what an agent's history says, whatever the history?"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.foundation.errors import Refused
from earnest.market.periods.metrics import (
    Approved,
    Began,
    ClaimedTask,
    Durations,
    Event,
    Headed,
    JudgedWork,
    MoneyMoved,
    Paused,
    Tally,
    Tallying,
    durations,
    metrics_of,
)
from earnest.market.periods.period import check_name
from earnest.verification.verdict import Answer

HOUR_MS = 3_600_000


def tallies(events: Sequence[Event], at_work: Mapping[str, str]) -> dict[str, Tally]:
    tallying = Tallying(at_work)
    for event in events:
        tallying.count(event)
    return tallying.by_agent


def of_ann(events: Sequence[Event], **at_work: str) -> Tally:
    return tallies(events, at_work).get("ann", Tally())


def judged(*answers: Answer) -> list[Event]:
    return [JudgedWork(agent="ann", answer=answer) for answer in answers]


def test_unclear_verdicts_are_no_decisions() -> None:
    found = metrics_of(of_ann(judged(Answer.UNCLEAR, Answer.NOT_VERIFIED, Answer.VERIFIED, Answer.UNCLEAR)), HOUR_MS)
    assert found.failure_rate == 0.5
    assert metrics_of(of_ann(judged(Answer.UNCLEAR)), HOUR_MS).failure_rate is None


def test_what_silence_approved_is_not_verified() -> None:
    spans = {"since_submission_ms": 1_000, "since_creation_ms": 2_000}
    events = [Approved(agent="ann", verified=yes, **spans) for yes in (True, False)]
    found = of_ann(events)
    assert (found.approved, found.verified) == (2, 1)
    assert metrics_of(found, HOUR_MS // 2).verified_per_hour == 2.0
    assert metrics_of(found, 0).verified_per_hour is None


@pytest.mark.parametrize(
    ("events", "at_work", "left"),
    [
        ([Began(agent="ann", claim_id="a"), Paused(agent="ann", claim_id="a")], {}, 0),
        ([Began(agent="ann", claim_id="a"), Paused(agent="ann", claim_id="a", left=True)], {}, 1),
        ([Began(agent="ann", claim_id="a"), Began(agent="ann", claim_id="b")], {}, 1),
        ([Began(agent="ann", claim_id="b")], {"ann": "a"}, 1),
        ([Began(agent="ann", claim_id="b")], {"bob": "a"}, 0),
        (
            [
                Began(agent="ann", claim_id="a"),
                Began(agent="ann", claim_id="b"),
                Paused(agent="ann", claim_id="a", left=True),
            ],
            {},
            1,
        ),
        ([Paused(agent="ann", claim_id="a"), Began(agent="ann", claim_id="b")], {"ann": "a"}, 0),
    ],
)
def test_a_task_is_left_once_by_giving_it_back_or_by_turning_to_another(
    events: list[Event], at_work: dict[str, str], left: int
) -> None:
    assert of_ann(events, **at_work).tasks_left == left


def test_thrash_counts_turns_and_leaves_by_what_was_begun() -> None:
    events: list[Event] = [Headed(agent="ann", turned=turned) for turned in (False, True, True)]
    events += [ClaimedTask(agent="ann"), Paused(agent="ann", claim_id="a", left=True)]
    assert metrics_of(of_ann(events), HOUR_MS).thrash_index == 0.75
    assert metrics_of(Tally(), HOUR_MS).thrash_index == 0


@pytest.mark.parametrize(
    ("spans_s", "median_s", "p90_s"),
    [([5], 5, 5), ([1, 2], 1, 2), ([3, 1, 2], 2, 3), (list(range(1, 11)), 5, 9), (list(range(1, 12)), 6, 10)],
)
def test_times_are_a_median_and_the_nearest_rank_of_90_percent(spans_s: list[int], median_s: int, p90_s: int) -> None:
    assert durations([one * 1_000 for one in spans_s]) == Durations(median_s=median_s, p90_s=p90_s)


AGENTS = st.sampled_from(("ann", "bob", "platform"))
HISTORY = st.lists(
    st.one_of(
        st.builds(ClaimedTask, agent=AGENTS),
        st.builds(JudgedWork, agent=AGENTS, answer=st.sampled_from(Answer)),
        st.builds(
            Approved,
            agent=AGENTS,
            verified=st.booleans(),
            since_submission_ms=st.integers(0, 10**9),
            since_creation_ms=st.integers(0, 10**9),
        ),
        st.builds(Headed, agent=AGENTS, turned=st.booleans()),
        st.builds(MoneyMoved, agent=AGENTS, amount_micro=st.integers(-(10**12), 10**12)),
    ),
    max_size=60,
)


@given(HISTORY, st.integers(1, 10**10))
def test_every_metric_is_its_definition_over_the_history(history: list[Event], span_ms: int) -> None:
    """The model: each figure by its own pass over the list, with exact fractions."""
    for agent, tally in tallies(history, {}).items():
        mine = [one for one in history if one.agent == agent]
        found = metrics_of(tally, span_ms)
        verified = sum(isinstance(one, Approved) and one.verified for one in mine)
        assert found.verified_per_hour == pytest.approx(float(Fraction(verified * HOUR_MS, span_ms)), abs=1e-6)
        verdicts = [one.answer for one in mine if isinstance(one, JudgedWork) and one.answer is not Answer.UNCLEAR]
        rate = float(Fraction(verdicts.count(Answer.NOT_VERIFIED), len(verdicts))) if verdicts else None
        assert found.failure_rate == (None if rate is None else pytest.approx(rate, abs=1e-6))
        assert found.aid_delta_micro == sum(one.amount_micro for one in mine if isinstance(one, MoneyMoved))
        begun = sum(isinstance(one, ClaimedTask | Headed) for one in mine)
        turned = sum(isinstance(one, Headed) and one.turned for one in mine)
        assert found.thrash_index == pytest.approx(float(Fraction(turned, max(1, begun))), abs=1e-6)
        assert (found.approval_from_creation.p90_s is None) == (tally.approved == 0)


@pytest.mark.parametrize("name", ["", "current", "Run 1", "a" * 65, "per_01", "-a", "ä", "a\n"])
def test_a_name_that_could_be_taken_for_something_else_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="period"):
        check_name(name)
