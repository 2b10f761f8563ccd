"""When can a job be claimed, and what becomes of it?"""

from dataclasses import replace
from itertools import product

import pytest

from earnest.foundation.errors import Refused
from earnest.foundation.instants import DAY_MS, HOUR_MS
from earnest.identity.account import Account, AccountKind, AccountStatus
from earnest.market.capabilities.capability import Capability, CapabilityState
from earnest.market.claims.claim import ClaimState
from earnest.market.claims.deadlines import due_at
from earnest.market.claims.judgement import check_quota, declines_max
from earnest.market.jobs import job as rules
from earnest.market.jobs.capacity import account_capacity, are_related, capacity, has_hours, is_available, need_room
from earnest.market.jobs.job import AID_STATUS, JobState

from .claims import BUYER, NOW, SELLER, TERMS, a_job, claim_in, opened

J = JobState
MONDAY_MS = 1_799_625_600_000
"""2027-01-11T00:00:00Z."""


def code_of(attempt: object) -> str:
    with pytest.raises(Refused) as refused:
        attempt()  # type: ignore[operator]
    return refused.value.code


def test_a_job_wakes_when_its_window_ends_and_when_it_closes() -> None:
    job = rules.publish(a_job(apply_until_ms=NOW + HOUR_MS), NOW, TERMS)
    assert job.wake_ms == NOW + HOUR_MS
    assert rules.due_event(job, NOW + HOUR_MS - 1_000) is None
    assert rules.due_event(job, NOW + HOUR_MS) == "window_ended"
    chosen = rules.window_ended(job)
    assert chosen.wake_ms == NOW + 30 * DAY_MS
    assert rules.due_event(chosen, NOW + 30 * DAY_MS) == "lapsed"
    assert rules.due_event(job, NOW + 30 * DAY_MS) == "lapsed", "nobody is chosen for a job that has closed"


@pytest.mark.parametrize(("deadline_ms", "last_ms"), [(None, 30), (40 * DAY_MS, 30), (5 * DAY_MS, 5)])
def test_a_job_lapses_when_it_closes_or_at_its_deadline(deadline_ms: int | None, last_ms: int) -> None:
    deadline = None if deadline_ms is None else NOW + deadline_ms
    job = rules.publish(a_job(deadline_at_ms=deadline), NOW, TERMS)
    assert job.wake_ms == rules.last_chance_ms(job) == NOW + last_ms * DAY_MS
    ended = rules.lapsed(job, job.wake_ms)
    assert (ended.state, ended.wake_ms, ended.ended_at_ms) == (J.LAPSED, None, job.wake_ms)


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"work_s": 0}, "/work_s"),
        ({"work_s": -1}, "/work_s"),
        ({"work_s": 2**62}, "/work_s"),
        ({"grace_s": -1}, "/grace_s"),
        ({"grace_s": 2**62}, "/grace_s"),
        ({"auto_release_s": 86_399}, "/auto_release_s"),
        ({"auto_release_s": 14 * 86_400 + 1}, "/auto_release_s"),
        ({"revise_s": 0}, "/revise_s"),
        ({"revisions_max": -1}, "/max_revisions"),
        ({"revisions_max": 101}, "/max_revisions"),
        ({"closes_at_ms": NOW}, "/closes_at"),
        ({"closes_at_ms": NOW + 91 * DAY_MS}, "/closes_at"),
        ({"closes_at_ms": -1}, "/closes_at"),
        ({"deadline_at_ms": NOW}, "/deadline_at"),
        ({"deadline_at_ms": -(10**18)}, "/deadline_at"),
        ({"apply_until_ms": NOW}, "/apply_window_s"),
        ({"apply_until_ms": NOW + 30 * DAY_MS}, "/apply_window_s"),
    ],
)
def test_the_times_of_a_job_are_bounded(changes: dict[str, int], pointer: str) -> None:
    with pytest.raises(Refused) as refused:
        rules.publish(a_job(**changes), NOW, TERMS)
    assert refused.value.code == "validation"
    errors = refused.value.details["errors"]
    assert isinstance(errors, list)
    assert pointer in [error["pointer"] for error in errors]


def test_a_job_at_every_bound_is_taken() -> None:
    narrow = a_job(work_s=1, grace_s=0, auto_release_s=86_400, revise_s=1, revisions_max=0, closes_at_ms=NOW + 1_000)
    wide = a_job(work_s=90 * 86_400, auto_release_s=14 * 86_400, closes_at_ms=NOW + 90 * DAY_MS)
    for job in (narrow, wide):
        assert rules.publish(job, NOW, TERMS).state is J.OPEN


def test_a_job_is_taken_by_one_claim() -> None:
    taken = rules.taken(a_job(), "clm_1")
    assert (taken.state, taken.live_claim, taken.wake_ms) == (J.TAKEN, "clm_1", None)
    assert code_of(lambda: rules.taken(taken, "clm_2")) == "job_already_claimed"
    assert code_of(lambda: rules.withdrawn(taken, NOW)) == "job_already_claimed"


def test_a_job_that_was_taken_back_stays_so() -> None:
    gone = rules.withdrawn(a_job(), NOW)
    assert (gone.state, gone.ended_at_ms, gone.wake_ms) == (J.WITHDRAWN, NOW, None)
    assert code_of(lambda: rules.withdrawn(gone, NOW)) == "job_withdrawn"
    assert code_of(lambda: rules.need_claimable(gone, NOW)) == "job_withdrawn"


def test_a_job_whose_claim_came_to_nothing_is_open_again_while_there_is_time() -> None:
    taken = rules.taken(a_job(), "clm_1")
    again = rules.given_back(taken, NOW + DAY_MS)
    assert (again.state, again.live_claim, again.wake_ms) == (J.OPEN, None, NOW + 30 * DAY_MS)
    assert rules.given_back(taken, NOW + 30 * DAY_MS).state is J.LAPSED
    assert rules.given_back(replace(taken, deadline_at_ms=NOW + HOUR_MS), NOW + HOUR_MS).state is J.LAPSED


@pytest.mark.parametrize(("state", "ends"), [(ClaimState.RELEASED, J.DONE), (ClaimState.REFUNDED, J.LAPSED)])
def test_a_job_ends_as_its_money_went(state: ClaimState, ends: JobState) -> None:
    assert rules.settled(rules.taken(a_job(), "clm_1"), claim_in(state), NOW).state is ends


@pytest.mark.parametrize("state", [J.TAKEN, J.DONE, J.WITHDRAWN, J.LAPSED])
def test_only_an_open_job_waits_for_the_clock(state: JobState) -> None:
    job = replace(a_job(apply_until_ms=NOW), state=state)
    assert rules.due_event(job, NOW + 100 * DAY_MS) is None
    assert rules.with_wake(job).wake_ms is None


def test_a_job_that_is_not_open_any_more_wakes_nobody() -> None:
    job = rules.window_ended(a_job(apply_until_ms=NOW))
    assert job.wake_ms == rules.last_chance_ms(job)
    taken = rules.taken(job, "clm_1")
    after = [taken, rules.withdrawn(job, NOW), rules.lapsed(job, NOW), rules.given_back(taken, 2 * job.wake_ms)]
    after += [rules.settled(taken, claim_in(state), NOW) for state in (ClaimState.RELEASED, ClaimState.REFUNDED)]
    assert [one.wake_ms for one in after] == [None] * len(after)
    assert rules.given_back(taken, NOW).wake_ms == job.wake_ms


def test_every_state_of_a_claim_has_its_name_among_ai_jobs() -> None:
    assert set(AID_STATUS) == set(ClaimState)
    assert set(AID_STATUS.values()) == {"open", "claimed", "submitted", "approved", "rejected"}
    assert rules.aid_status(a_job(), None) == "open"
    assert rules.aid_status(a_job(), claim_in(ClaimState.EXPIRED)) == "open"
    assert rules.aid_status(rules.withdrawn(a_job(), NOW), claim_in(ClaimState.CANCELLED)) == "withdrawn"
    assert rules.aid_status(a_job(state=J.DONE), claim_in(ClaimState.RELEASED)) == "approved"
    assert rules.aid_status(a_job(state=J.LAPSED), claim_in(ClaimState.REFUNDED)) == "rejected"


@pytest.mark.parametrize(
    ("changes", "creator", "redone", "code"),
    [
        ({}, SELLER, 0, "not_a_party"),
        ({}, BUYER, 3, "limit_reached"),
        ({"redo_of": "job_0"}, BUYER, 0, "limit_reached"),
    ],
)
def test_a_job_is_redone_three_times_by_its_creator(
    changes: dict[str, str], creator: str, redone: int, code: str
) -> None:
    rules.check_redo(a_job(), BUYER, 2, TERMS)
    assert code_of(lambda: rules.check_redo(a_job(**changes), creator, redone, TERMS)) == code


@pytest.mark.parametrize(("judged", "most"), [(0, 3), (15, 3), (19, 3), (20, 4), (100, 20)])
def test_a_buyer_declines_three_or_a_fifth_a_week_whichever_is_more(judged: int, most: int) -> None:
    assert declines_max(judged, TERMS) == most
    check_quota(most - 1, judged, TERMS)
    assert code_of(lambda: check_quota(most, judged, TERMS)) == "decline_quota"


def account(name: str, operator: str | None = None, kind: AccountKind = AccountKind.AGENT, mail: str = "") -> Account:
    status = AccountStatus.REGISTERED
    return Account(id=name, handle=name, kind=kind, status=status, created_at_ms=NOW, operator_id=operator, mail=mail)


@pytest.mark.parametrize(
    ("one", "other", "related"),
    [
        (account("a"), account("a"), True),
        (account("a", "op"), account("b", "op"), True),
        (account("a", "op"), account("op", kind=AccountKind.OPERATOR), True),
        (account("a", "op"), account("b", "op2"), False),
        (account("a", "op", mail="ann@x.org"), account("b", "op", mail="bob@x.org"), False),
        (account("a", "op", mail="ann@x.org"), account("b", "op2", mail="Ann@x.org"), True),
        (account("a", "op", mail="ann@x.org"), account("b", "op"), False),
        (account("a", mail="ann@x.org"), account("b", mail="ann@x.org"), False),
        (account("a"), account("b"), False),
        (account("a"), account("op", kind=AccountKind.OPERATOR), False),
        (account("op", kind=AccountKind.OPERATOR), account("op2", kind=AccountKind.OPERATOR), False),
    ],
)
def test_accounts_of_one_owner_are_related(one: Account, other: Account, related: bool) -> None:
    assert are_related(one, other) is are_related(other, one) is related


def able(availability: str, category: str = "data-extraction") -> Capability:
    return Capability(
        id="cap_1",
        account_id=SELLER,
        category=category,
        task_class="objective",
        state=CapabilityState.DECLARED,
        declared_at_ms=NOW,
        availability=availability,
    )


TWO = '{"max_concurrent": 2, "paused": false, "hours": []}'
FIVE = '{"max_concurrent": 5, "paused": false, "hours": []}'
PAUSED = '{"max_concurrent": 9, "paused": true, "hours": []}'


def test_only_claims_that_are_worked_on_use_capacity() -> None:
    claims = [claim_in(state) for state in ClaimState]
    room = capacity([able(FIVE)], claims, TERMS)
    assert (room.max, room.used, room.free) == (5, 3, 2)
    assert capacity([able(TWO)], claims, TERMS).free == 0


@pytest.mark.parametrize(
    ("capabilities", "most"),
    [
        ([], 1),
        ([able(TWO), able(FIVE, "writing")], 5),
        ([able(TWO), able(PAUSED)], 2),
        ([able(PAUSED)], 0),
        ([replace(able(FIVE), removed=True)], 1),
        ([able('{"max_concurrent": 100000}')], 100),
    ],
)
def test_an_account_works_on_as_much_as_its_largest_capability(capabilities: list[Capability], most: int) -> None:
    assert account_capacity(capabilities, TERMS) == most


@pytest.mark.parametrize(
    ("capabilities", "used", "has_room"),
    [
        ([], 0, True),
        ([], 1, False),
        ([able(TWO)], 1, True),
        ([able(TWO)], 2, False),
        ([able(TWO), able(FIVE, "writing")], 2, False),
        ([able(PAUSED), able(FIVE, "writing")], 0, False),
        ([able(FIVE, "writing")], 4, True),
        ([able(FIVE, "writing")], 5, False),
    ],
)
def test_a_claim_needs_room_in_all_and_of_its_kind(capabilities: list[Capability], used: int, has_room: bool) -> None:
    claims = [opened()] * used + [claim_in(ClaimState.SUBMITTED)] * 9
    if has_room:
        need_room(a_job(), capabilities, claims, TERMS)
    else:
        assert code_of(lambda: need_room(a_job(), capabilities, claims, TERMS)) == "capacity_exceeded"


def test_without_capabilities_the_operator_limits_ai_jobs_apart() -> None:
    terms = replace(TERMS, capacity_default=3, capacity_aid=1)
    job, claim = a_job(currency="AID"), replace(opened(), currency="AID")
    need_room(job, [], [opened(), opened()], terms)
    assert code_of(lambda: need_room(job, [], [claim], terms)) == "capacity_exceeded"
    need_room(a_job(), [], [claim], terms)


def hours(days: str, begin: str, end: str, zone: str) -> Capability:
    span = f'{{"days": [{days}], "from": "{begin}", "to": "{end}", "tz": "{zone}"}}'
    return able(f'{{"max_concurrent": 1, "paused": false, "hours": [{span}]}}')


@pytest.mark.parametrize(
    ("offered", "at_minutes", "there"),
    [
        (hours('"mon"', "09:00", "17:00", "UTC"), 9 * 60, True),
        (hours('"mon"', "09:00", "17:00", "UTC"), 9 * 60 - 1, False),
        (hours('"mon"', "09:00", "17:00", "UTC"), 17 * 60, False),
        (hours('"tue"', "09:00", "17:00", "UTC"), 9 * 60, False),
        (hours('"mon"', "09:00", "17:00", "Europe/Berlin"), 8 * 60, True),
        (hours('"mon"', "09:00", "17:00", "Europe/Berlin"), 16 * 60, False),
        (hours('"sun"', "00:00", "24:00", "America/New_York"), 4 * 60, True),
        (hours('"mon"', "22:00", "24:00", "UTC"), 24 * 60 - 1, True),
        (able(PAUSED), 9 * 60, False),
        (able(TWO), 9 * 60, True),
    ],
)
def test_hours_are_those_of_the_clocks_of_their_zone(offered: Capability, at_minutes: int, there: bool) -> None:
    assert is_available(offered, MONDAY_MS + at_minutes * 60_000) is there


def test_it_is_known_whether_time_decides() -> None:
    assert has_hours(hours('"mon"', "09:00", "17:00", "UTC"))
    assert not has_hours(able(TWO))


def test_no_job_and_no_claim_leads_out_of_bounds() -> None:
    """Whatever bounds of a job are combined, its claim has a positive time and a wake within a year."""
    for work_s, grace_s, deadline in product(
        (1, 90 * 86_400), (0, 90 * 86_400), (None, NOW + 1_000, NOW + 90 * DAY_MS)
    ):
        job = rules.publish(a_job(work_s=work_s, grace_s=grace_s, deadline_at_ms=deadline), NOW, TERMS)
        due_at_ms = due_at(job, NOW)
        assert NOW < due_at_ms <= NOW + 90 * DAY_MS
