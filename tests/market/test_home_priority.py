"""The table of cases of market ruling a.3: which classes, in which order."""

import dataclasses
import itertools
from typing import Any

import pytest

from earnest.foundation.instants import DAY_MS, HOUR_MS
from earnest.identity.account import AccountStatus
from earnest.market.capabilities.capability import CapabilityState
from earnest.market.claims.claim import ClaimState
from earnest.market.disputes.dispute import DisputeState
from earnest.market.homes.priority import PRIORITY, RULES, ActionKind, due_soon_at_ms

from .homes import ME, NOW, account, body, capability, claim, classes, dispute, job, trial, unreviewed

DECLARED = capability("cap_01J0000000AAAAAAAAAAAAAAAB", state=CapabilityState.DECLARED)
FULL = tuple(claim(f"clm_{number}", left_s=80_000) for number in range(3))
PAUSED = '{"max_concurrent": 3, "paused": true, "hours": []}'
ELSEWHEN = '{"max_concurrent": 3, "hours": [{"days": ["tue"], "from": "09:00", "to": "17:00", "tz": "Europe/Berlin"}]}'
NOW_IN_BERLIN = (
    '{"max_concurrent": 3, "hours": [{"days": ["mon"], "from": "14:00", "to": "15:00", "tz": "Europe/Berlin"}]}'
)

CASES: list[tuple[str, dict[str, Any], list[int]]] = [
    ("nothing", {}, []),
    ("a claim with more than a quarter left", {"claims": (claim(left_s=21_601),)}, []),
    ("a claim with exactly a quarter left", {"claims": (claim(left_s=21_600),)}, []),
    ("a claim with a second less than a quarter", {"claims": (claim(left_s=21_599),)}, [2]),
    ("a claim with a second left", {"claims": (claim(left_s=1),)}, [2]),
    ("a claim that is due now", {"claims": (claim(left_s=0),)}, [1]),
    ("a claim in its grace", {"claims": (claim(left_s=-3_600),)}, [1]),
    ("a claim that nobody has begun", {"claims": (claim(left_s=-1, state=ClaimState.CLAIMED),)}, [1]),
    ("a revision that is due soon", {"claims": (claim(left_s=60, state=ClaimState.CHANGES_REQUESTED),)}, [2]),
    *[
        (f"a claim that is {state} is nobody's to hurry", {"claims": (claim(left_s=-60, state=state),)}, [])
        for state in ClaimState
        if state not in {ClaimState.CLAIMED, ClaimState.IN_PROGRESS, ClaimState.CHANGES_REQUESTED}
    ],
    ("a review that is held", {"reviews": (unreviewed(is_held=True),)}, [3]),
    ("a review that nobody has sent", {"reviews": (unreviewed(is_held=False),)}, [7]),
    ("a dispute that waits for me", {"disputes": (dispute(),)}, [4]),
    ("one with something unread", {"disputes": (dispute(awaiting="raiser"),)}, [4]),
    ("one that waits for them", {"disputes": (dispute(awaiting="raiser", respondent_unread=0),)}, []),
    ("one that waits for the arbiter", {"disputes": (dispute(awaiting="arbiter", respondent_unread=0),)}, []),
    ("one of mine that waits for me", {"disputes": (dispute(raiser=ME, respondent="x", awaiting="raiser"),)}, [4]),
    ("one that is final", {"disputes": (dispute(state=DisputeState.FINAL),)}, []),
    ("a capability that is declared", {"capabilities": (DECLARED,)}, [5]),
    (
        "one that has lapsed",
        {"capabilities": (dataclasses.replace(DECLARED, state=CapabilityState.LAPSED),)},
        [5],
    ),
    *[
        (f"one that is {state} asks for no test", {"capabilities": (dataclasses.replace(DECLARED, state=state),)}, [])
        for state in (CapabilityState.PROBATION, CapabilityState.VERIFIED, CapabilityState.REVOKED)
    ],
    ("one without test jobs", {"capabilities": (dataclasses.replace(DECLARED, category="poetry"),)}, []),
    (
        "one whose attempts are used up",
        {"capabilities": (DECLARED,), "trials": tuple(trial(f"job_test_{number}") for number in range(3))},
        [],
    ),
    (
        "one whose attempts were yesterday's",
        {"capabilities": (DECLARED,), "trials": (trial(started_at_ms=NOW - DAY_MS),) * 3},
        [5],
    ),
    ("a test job without capacity", {"capabilities": (DECLARED,), "claims": FULL}, []),
    ("an open job that fits", {"capabilities": (capability(),), "jobs": (job(),)}, [6]),
    ("one under my floor", {"capabilities": (capability(floor_micro=5_000_001),), "jobs": (job(),)}, []),
    ("one of another class", {"capabilities": (capability(task_class="subjective"),), "jobs": (job(),)}, []),
    ("one in another currency", {"capabilities": (capability(currency="AID"),), "jobs": (job(),)}, []),
    ("one that closes now", {"capabilities": (capability(),), "jobs": (job(closes_at_ms=NOW),)}, []),
    ("one while I am paused", {"capabilities": (capability(availability=PAUSED),), "jobs": (job(),)}, []),
    ("one outside my hours", {"capabilities": (capability(availability=ELSEWHEN),), "jobs": (job(),)}, []),
    ("one within my hours", {"capabilities": (capability(availability=NOW_IN_BERLIN),), "jobs": (job(),)}, [6]),
    ("one without capacity", {"capabilities": (capability(),), "jobs": (job(),), "claims": FULL}, []),
    (
        "one for a suspended account",
        {
            "account": account(status=AccountStatus.SUSPENDED),
            "capabilities": (capability(), DECLARED),
            "jobs": (job(),),
        },
        [],
    ),
    (
        "all at once",
        {
            "claims": (claim("clm_1", left_s=60), claim("clm_2", left_s=-60)),
            "reviews": (unreviewed("clm_3", is_held=False), unreviewed("clm_4", is_held=True)),
            "disputes": (dispute(),),
            "capabilities": (DECLARED, capability()),
            "jobs": (job(),),
        },
        [1, 2, 3, 4, 5, 6, 7],
    ),
]


@pytest.mark.parametrize(("read", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_is_known_makes_actions_of_these_classes(read: dict[str, Any], expected: list[int]) -> None:
    assert [priority for priority, _ in classes(body(**read))] == expected


ORDERS: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "claims by deadline, then id",
        {"claims": (claim("clm_c", left_s=9), claim("clm_b", left_s=5), claim("clm_a", left_s=9))},
        ["clm_b", "clm_a", "clm_c"],
    ),
    (
        "overdue ones by deadline, then id",
        {"claims": (claim("clm_b", left_s=-5), claim("clm_a", left_s=-5), claim("clm_c", left_s=-9))},
        ["clm_c", "clm_a", "clm_b"],
    ),
    (
        "reviews by the end of their window, then id",
        {
            "reviews": (
                unreviewed("clm_b", is_held=True),
                unreviewed("clm_a", is_held=True),
                unreviewed("clm_c", is_held=True, closes_in_ms=DAY_MS),
            )
        },
        ["clm_c", "clm_a", "clm_b"],
    ),
    (
        "disputes that wait for me by the time for my answer, then the others by id",
        {
            "disputes": (
                dispute("dsp_b", awaiting=""),
                dispute("dsp_a", awaiting=""),
                dispute("dsp_z", respond_by_ms=NOW + DAY_MS),
                dispute("dsp_y", respond_by_ms=NOW + HOUR_MS),
            )
        },
        ["dsp_y", "dsp_z", "dsp_a", "dsp_b"],
    ),
    (
        "jobs by match, then id",
        {
            "capabilities": (capability(floor_micro=4_000_000),),
            "jobs": (job("job_b"), job("job_a"), job("job_c", amount_micro=8_000_000)),
        },
        ["job_c", "job_a", "job_b"],
    ),
]


@pytest.mark.parametrize(("read", "expected"), [case[1:] for case in ORDERS], ids=[case[0] for case in ORDERS])
def test_inside_a_class_the_order_is_total_and_does_not_depend_on_how_it_was_read(
    read: dict[str, Any], expected: list[str]
) -> None:
    for name, values in read.items():
        for values_in_some_order in itertools.permutations(values):
            shown = body(**{**read, name: tuple(values_in_some_order)})
            assert [subject for _, subject in classes(shown)] == expected


def test_test_jobs_come_in_the_order_in_which_capabilities_were_declared() -> None:
    older = dataclasses.replace(DECLARED, id="cap_01J0000000ZZZZZZZZZZZZZZZZ", declared_at_ms=NOW - 20 * DAY_MS)
    shown = body(capabilities=(DECLARED, older))
    offered = {each["job_id"]: each["verifies_capability_id"] for each in shown["test_jobs_available"]}
    assert [offered[subject] for _, subject in classes(shown)] == [older.id, DECLARED.id]


def test_a_client_that_sorts_again_by_priority_has_the_servers_order() -> None:
    actions = body(**CASES[-1][1])["actions"]
    turned = actions[::-1]
    assert sorted(turned, key=lambda each: each["priority"]) == actions


def test_one_subject_has_one_action_the_most_urgent() -> None:
    shown = body(claims=(claim("clm_1", left_s=60),), reviews=(unreviewed("clm_1", is_held=False),))
    assert classes(shown) == [(2, "clm_1")]


def test_at_most_twenty_actions_are_shown_and_the_rest_is_counted() -> None:
    shown = body(claims=tuple(claim(f"clm_{number:02}", left_s=60) for number in range(23)))
    assert len(shown["actions"]) == len(shown["what_to_do_next"]) == 20
    assert shown["actions_truncated"] == 3
    assert "actions_truncated" not in body(claims=(claim(left_s=60),))


def test_every_class_has_a_number_and_a_rule_that_explain_shows() -> None:
    assert list(PRIORITY.values()) == [1, 2, 3, 4, 5, 6, 7, 5]
    assert set(RULES) == set(ActionKind)
    shown = body(explain=True, claims=(claim(left_s=60),))
    assert [each["rule"] for each in shown["actions"]] == [RULES[ActionKind.CLAIM_DUE_SOON]]
    assert shown["cadence_rule"] == "otherwise"


@pytest.mark.parametrize("total_s", [1, 2, 3, 4, 5, 7, 8, 3_600, 86_399, 86_400])
def test_the_last_quarter_begins_with_the_first_second_of_which_less_than_a_quarter_is_left(total_s: int) -> None:
    one = claim(left_s=total_s, start_at_ms=NOW)
    begins = due_soon_at_ms(one)
    assert 4 * (one.due_at_ms - begins) // 1_000 < total_s or begins == one.due_at_ms
    assert 4 * (one.due_at_ms - begins + 1_000) // 1_000 >= total_s


def test_a_test_job_that_was_begun_is_to_be_answered() -> None:
    running = trial("job_test_7", state="running", capability_id=DECLARED.id, expires_at_ms=NOW + HOUR_MS)
    shown = body(capabilities=(DECLARED,), trials=(running,))
    (action,) = shown["actions"]
    assert (action["subject_id"], action["next_call"]["path"]) == ("job_test_7", "/api/v1/trials/job_test_7/answer")


def test_a_fourth_statement_and_a_stake_are_for_the_human() -> None:
    spent = body(disputes=(dispute(respondent_statements=3),))["actions"][0]
    unpaid = dispute(raiser=ME, respondent="x", awaiting="raiser", state=DisputeState.STAKE_PENDING)
    staked = body(disputes=(unpaid,))["actions"][0]
    for action in (spent, staked):
        assert action["needs_human"]
        assert action["next_call"]["method"] == "GET"
    assert not body(disputes=(dispute(),))["actions"][0]["needs_human"]
