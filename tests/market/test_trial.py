"""Is a test job committed to before its start, graded once, and open to everybody's own grade afterwards?"""

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.instants import DAY_MS
from earnest.market.capabilities.capability import CapabilityState, Trial
from earnest.market.capabilities.generators.registry import GENERATORS
from earnest.market.capabilities.trial import (
    ANSWER_BYTES_MAX,
    RUN_S,
    answered,
    attempts_left,
    begun,
    check_start,
    chosen,
    overdue,
    regrade,
    trial_id_of,
    trial_json,
    unsealed,
)
from earnest.market.terms import Terms

from .solvers import solve
from .test_capability import DECLARED, NOW_MS, trial

TERMS = Terms()
SALT = "t" * 64
CAPABILITY = replace(DECLARED, id="cap_01J8XK3QZ0ABCDEFGHJKMNPQRS")


def start(generator: str = "output-prediction", seed: str = "s" * 64) -> Trial:
    running = begun(CAPABILITY, GENERATORS[generator], seed=seed, salt=SALT, now_ms=NOW_MS, terms=TERMS)
    assert running.secret == ""
    return unsealed(running, seed, SALT)


def honest(running: Trial) -> Any:
    return solve(running.generator, json.loads(running.question))


@pytest.mark.parametrize("generator", sorted(GENERATORS))
def test_an_answer_is_graded_and_what_was_committed_to_is_revealed(generator: str) -> None:
    running = start(generator)
    assert trial_json(running)["revealed"] is None
    passed = answered(running, honest(running), NOW_MS + 1_000)
    assert (passed.state, passed.reason, passed.wake_ms) == ("passed", "", None)
    shown: Any = json.loads(canonical_bytes(trial_json(passed)))
    grade = regrade(shown["revealed"], shown["answer"])
    assert (grade.passed, grade.commitment) == (True, shown["commitment"])


def test_a_wrong_answer_fails_and_everybody_finds_the_same() -> None:
    failed = answered(start(), ["1", "[]", "2"], NOW_MS)
    shown: Any = trial_json(failed)
    grade = regrade(shown["revealed"], shown["answer"])
    assert (failed.state, failed.reason) == ("failed", grade.reason)
    assert not grade.passed
    assert grade.commitment == failed.commitment


def test_a_commitment_is_what_the_page_says() -> None:
    running = start()
    secret = json.loads(running.secret)
    key = canonical_bytes(secret["answer_key"])
    text = b"\n".join([b"s" * 64, key, b"output-prediction/1", b"t" * 64])
    assert running.commitment == "sha256:" + hashlib.sha256(text).hexdigest()


def test_nothing_shown_of_a_running_test_job_holds_its_secret() -> None:
    running = start("rule-program")
    shown = canonical_bytes(trial_json(running)).decode()
    secret = json.loads(running.secret)
    for hidden in (secret["seed"], secret["salt"], canonical_bytes(secret["answer_key"]).decode()):
        assert hidden not in shown


@pytest.mark.parametrize(
    "change",
    [
        {"seed": "u" * 64},
        {"answer_key": ["1", "2", "3"]},
        {"grader_version": "output-prediction/2"},
        {"grader_version": "rule-program/1"},
        {"salt": 5},
    ],
)
def test_what_was_not_committed_to_cannot_be_revealed(change: dict[str, Any]) -> None:
    revealed = {**json.loads(start().secret), **change}
    with pytest.raises(Refused):
        regrade(revealed, [])


@pytest.mark.parametrize(("seed", "salt"), [("s" * 64, "other"), ("other", SALT)])
def test_what_was_not_committed_to_grades_nothing(seed: str, salt: str) -> None:
    with pytest.raises(Broken):
        unsealed(start(), seed, salt)


def test_another_salt_is_another_commitment() -> None:
    running = start()
    revealed = {**json.loads(running.secret), "salt": "other"}
    assert regrade(revealed, []).commitment != running.commitment


@pytest.mark.parametrize("state", ["passed", "failed", "expired"])
def test_an_ended_test_job_is_not_answered_again(state: str) -> None:
    with pytest.raises(Refused) as caught:
        answered(replace(start(), state=state), [], NOW_MS)
    assert caught.value.code == "claim_state"


def test_an_answer_after_the_time_is_refused_and_abandoned_is_failed() -> None:
    running = start()
    end_ms = NOW_MS + RUN_S * 1_000
    assert answered(running, honest(running), end_ms - 1_000).state == "passed"
    with pytest.raises(Refused) as caught:
        answered(running, honest(running), end_ms)
    assert caught.value.code == "claim_expired"
    assert overdue(running, end_ms - 1_000) == running
    expired = overdue(running, end_ms)
    assert (expired.state, expired.wake_ms, expired.graded_at_ms) == ("expired", None, end_ms)
    assert trial_json(expired)["revealed"]
    assert overdue(expired, end_ms + DAY_MS) == expired


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (float("nan"), "validation"),
        (2**53, "validation"),
        ("\ud800", "validation"),
        ("x" * ANSWER_BYTES_MAX, "too_large"),
    ],
)
def test_an_answer_without_a_bounded_form_is_refused(answer: Any, code: str) -> None:
    with pytest.raises(Refused) as caught:
        answered(start(), answer, NOW_MS)
    assert caught.value.code == code


def test_a_deeply_nested_answer_is_refused() -> None:
    answer: Any = []
    for _ in range(100_000):
        answer = [answer]
    with pytest.raises(Refused) as caught:
        answered(start(), answer, NOW_MS)
    assert caught.value.code == "validation"


def test_each_test_job_of_a_capability_has_an_id_of_its_own() -> None:
    ids = {trial_id_of(replace(CAPABILITY, tries=tries)) for tries in range(100)}
    ids |= {trial_id_of(replace(CAPABILITY, id="cap_01J8XK3QZ0ABCDEFGHJKMNPQRT", tries=tries)) for tries in range(100)}
    assert len(ids) == 200
    assert all(len(each) == len("job_test_") + 26 for each in ids)
    assert all(set(each[9:]) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for each in ids)


NOW = trial(days_ago=0)


@pytest.mark.parametrize(
    ("trials", "left"),
    [
        ([], 3),
        ([NOW], 2),
        ([NOW] * 3, 0),
        ([NOW] * 4, 0),
        ([NOW, NOW, replace(NOW, started_at_ms=NOW_MS - DAY_MS + 1_000)], 0),
        ([NOW, NOW, replace(NOW, started_at_ms=NOW_MS - DAY_MS)], 1),
        ([replace(NOW, category="planning")] * 3, 3),
        ([replace(NOW, task_class="subjective")] * 3, 3),
        ([replace(NOW, capability_id="cap_other")] * 3, 0),
        ([replace(NOW, state="failed"), replace(NOW, state="expired")], 1),
    ],
)
def test_a_class_has_three_attempts_in_any_24_hours(trials: list[Trial], left: int) -> None:
    assert attempts_left(CAPABILITY, trials, NOW_MS, TERMS) == left
    if left:
        check_start(CAPABILITY, trials, NOW_MS, TERMS)
        return
    with pytest.raises(Refused) as caught:
        check_start(CAPABILITY, trials, NOW_MS, TERMS)
    assert caught.value.code == "attempt_limit"
    assert 0 < caught.value.details["retry_after_s"] <= DAY_MS // 1_000  # type: ignore[operator]


def test_the_wait_is_until_an_attempt_is_a_day_old() -> None:
    trials = [replace(NOW, started_at_ms=NOW_MS - ago * 1_000) for ago in (100, 200, 300)]
    with pytest.raises(Refused) as caught:
        check_start(CAPABILITY, trials, NOW_MS, TERMS)
    wait_s = caught.value.details["retry_after_s"]
    assert wait_s == 86_400 - 300
    check_start(CAPABILITY, trials, NOW_MS + 1_000 * int(str(wait_s)), TERMS)


@pytest.mark.parametrize(
    ("change", "trials", "code"),
    [
        ({"category": "writing"}, [], "not_found"),
        ({"category": "nonsense"}, [], "not_found"),
        ({"state": CapabilityState.REVOKED}, [], "limit_reached"),
        ({}, [replace(NOW, state="running")], "limit_reached"),
        ({}, [replace(NOW, state="running", category="planning", capability_id="cap_other")], "limit_reached"),
    ],
)
def test_a_test_job_begins_only_where_it_may(change: dict[str, Any], trials: list[Trial], code: str) -> None:
    with pytest.raises(Refused) as caught:
        check_start(replace(CAPABILITY, **change), trials, NOW_MS, TERMS)
    assert caught.value.code == code


def test_three_test_jobs_in_a_row_meet_the_variety_that_the_rule_asks_for() -> None:
    for category in {category for each in GENERATORS.values() for category in each.categories}:
        capability = replace(CAPABILITY, category=category)
        passed: list[Trial] = []
        for _ in range(3):
            generator = chosen(capability, "", passed)
            passed.append(trial(generator=generator.name, hidden=generator.hidden))
        assert len({each.generator for each in passed}) >= 2
        assert any(each.hidden for each in passed)


def test_a_generator_of_another_category_cannot_be_chosen() -> None:
    assert chosen(CAPABILITY, "rule-program", []).name == "rule-program"
    for name in ("task-splitting", "nonsense", "../x"):
        with pytest.raises(Refused):
            chosen(CAPABILITY, name, [])
