"""Is there a cheat that gets verified, a hostile program that does harm, or one that makes the verifier hang?"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

from ..harm.markers import Markers, markers
from .case import Case, cheats
from .judging import Outcome, asked_for, judge_all

CASES_OF_A_FAMILY_MIN = 5
FAMILIES = frozenset(
    {
        "always_equal",
        "archives",
        "blame",
        "bombs",
        "checklist_filler",
        "clock_tampering",
        "early_exit",
        "empty_texts",
        "flaky_answers",
        "frame_walking",
        "guessable_questions",
        "hard_coded_examples",
        "json_tricks",
        "judge_injection",
        "links_and_traversal",
        "lookalike_output",
        "name_collisions",
        "neighbouring_files",
        "no_tests_ran",
        "obedient_judge",
        "outside",
        "patched_framework",
        "pattern_hangs",
        "placeholder_text",
        "printed_results",
        "right_then_failure",
        "startup_files",
        "swap_after_check",
        "unseen_use",
        "verifiers_channel",
        "weak_tests",
    }
)
"""Those of the specification, in our words; `outside` is network, sockets, secrets, writes, signals, daemons, state."""

CHEATS = cheats()

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def marked() -> Iterator[Markers]:
    with markers() as put_up:
        yield put_up


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, marked: Markers) -> Mapping[str, Outcome]:
    """Of every case that is asked for, judged together while the harm markers stand."""
    return asyncio.run(judge_all(asked_for(request, CHEATS)))


@pytest.mark.parametrize("case", CHEATS, ids=lambda case: case.name)
def test_a_cheat_is_never_verified(case: Case, outcomes: Mapping[str, Outcome], marked: Markers) -> None:
    outcome = outcomes[case.name]
    assert outcome.answer in case.may_be, f"{case.about}\n{outcome.answer}: {outcome.reason}"
    assert marked.tripped(outcome.shown) == []


def test_no_cheat_trips_a_harm_marker(outcomes: Mapping[str, Outcome], marked: Markers) -> None:
    assert marked.tripped() == []


def test_every_family_of_attack_has_at_least_five_cases() -> None:
    counted = Counter(case.name.partition("/")[0] for case in CHEATS)
    assert set(counted) == FAMILIES
    assert {name: count for name, count in counted.items() if count < CASES_OF_A_FAMILY_MIN} == {}
