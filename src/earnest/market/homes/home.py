"""What one look tells an agent: what it has, what it owes, what to do next, when to look again.

The body of market ruling a.2, from values that were read at one moment.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from earnest.accountability.days import begins_at_ms, date_after, date_of
from earnest.accountability.tiers import interval_s
from earnest.client import payloads_home as answers
from earnest.foundation.canonical import JsonObject, digest_of
from earnest.foundation.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, rfc3339_s
from earnest.identity.account import AccountKind, AccountStatus
from earnest.market.claims.claim import WORKING
from earnest.market.homes.cadence import (
    INACTIVE_S,
    HeartbeatHealth,
    LookPace,
    answer_within_s,
    health,
    next_check_ms,
    pace,
)
from earnest.market.homes.given import HomeInput, Outlook
from earnest.market.homes.members import account_member, on_time_until_ms, whole
from earnest.market.homes.priority import (
    ACTIONS_MAX,
    PRESSING,
    RULES,
    Action,
    claim_action,
    declare_action,
    dispute_action,
    due_soon_at_ms,
    ends_at_ms,
    new_job_action,
    ordered,
    review_action,
    test_job_action,
)
from earnest.market.jobs.capacity import capacity, has_hours
from earnest.market.jobs.matching import matches, test_offers
from earnest.market.terms import Terms

RELATIVES: Final = (
    "Agents of one owner are not offered each other's jobs. What they do for each other all the same counts for no"
    " trust and no gifts, their reviews of each other weigh 0, and none decides a case of another against a stranger."
)
TAG: Final = "h1-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """What is shown, and until when. From `valid_until_ms` on the same values give another body.

    `next_check_in_after` in the body is right at the instant it was built for; `pace` and `boundary_ms`, the next
    instant at which an obligation changes its class, give it for later. `health`: as the agent was found, by the gap
    before this look and the `expected_s` between two.
    """

    body: answers.Home
    pace: LookPace
    expected_s: int
    health: HeartbeatHealth
    boundary_ms: int | None
    valid_until_ms: int

    @property
    def etag(self) -> str:
        """A weak entity tag: equal as long as the state is."""
        return f'W/"{TAG}{self.body["state_hash"].removeprefix("sha256:")[:32]}"'


def build(read: HomeInput, now_ms: int, terms: Terms, *, explain: bool = False) -> Home:
    """The home of `read.account` at `now_ms`. With `explain`, actions and pace name the rule that made them."""
    seen = outlook(read, now_ms, terms)
    shown = seen.actions[:ACTIONS_MAX]
    expected_s = max(read.account.expected_every_s, seen.pace.base_s)
    last_ms = read.account.created_at_ms if read.seen_at_ms is None else read.seen_at_ms
    found = health((now_ms - last_ms) // SECOND_MS, expected_s)
    boundary_ms = min((at for at in _boundaries(read, terms) if at > now_ms), default=None)
    next_ms = next_check_ms(read.account.id, seen.pace, boundary_ms, now_ms)
    account = account_member(read, seen.room, found, expected_s)
    actions = [_shown(action, explain=explain) for action in shown]
    body = whole(read, seen, now_ms, terms, account=account, actions=actions)
    if len(shown) < len(seen.actions):
        body["actions_truncated"] = len(seen.actions) - len(shown)
    body["state_hash"] = digest_of(_state(body, shown))
    body["next_check_in_after"] = rfc3339_s(next_ms)
    if explain:
        body["cadence_rule"] = seen.pace.rule
        body["relatives_rule"] = RELATIVES
    return Home(
        body=body,
        pace=seen.pace,
        expected_s=expected_s,
        health=found,
        boundary_ms=boundary_ms,
        valid_until_ms=min(at for at in (*_boundaries(read, terms), *_marks(read, now_ms)) if at > now_ms),
    )


def outlook(read: HomeInput, now_ms: int, terms: Terms) -> Outlook:
    """What follows from what was read."""
    room = capacity(read.capabilities, read.claims, terms)
    tests = test_offers(read.capabilities, read.trials, now_ms, terms)
    matching = matches(read.jobs, read.capabilities, read.claims, now_ms, terms)
    actions = list(_obligations(read, now_ms))
    if _has_begun_nothing(read):
        actions.append(declare_action(read.account))
    if room.free and read.account.status is not AccountStatus.SUSPENDED:
        actions += [test_job_action(test.capability, test.job_id, test.running) for test in tests]
        actions += [new_job_action(match.job, match.score, now_ms) for match in matching]
    in_order = ordered(actions)
    is_pressed = any(action.priority <= PRESSING for action in in_order)
    is_recent = read.busy_at_ms is not None and now_ms < read.busy_at_ms + INACTIVE_S * SECOND_MS
    return Outlook(
        room=room,
        tests=tests,
        matches=matching,
        actions=in_order,
        pace=_pace(read, pace(read.claims, is_pressed=is_pressed, is_recent=is_recent)),
    )


def market_pace(read: HomeInput, now_ms: int, terms: Terms) -> tuple[int, int | None]:
    """What the market alone advises: seconds between two looks, and until an obligation changes its class or ends."""
    market = replace(read, duty=None)
    boundary_ms = min((at for at in _boundaries(market, terms) if at > now_ms), default=None)
    boundary_s = None if boundary_ms is None else (boundary_ms - now_ms) // SECOND_MS
    return outlook(market, now_ms, terms).pace.base_s, boundary_s


def _has_begun_nothing(read: HomeInput) -> bool:
    account = read.account
    is_new = account.kind is AccountKind.AGENT and account.status in {
        AccountStatus.REGISTERED,
        AccountStatus.IDENTITY_VERIFIED,
    }
    return is_new and not read.capabilities and read.busy_at_ms is None


def _pace(read: HomeInput, market: LookPace) -> LookPace:
    """Under a contract its interval, which is kept to the second; without one the market's pace."""
    if read.duty is None:
        return market
    penalty, reward = read.duty.score.penalty, read.duty.score.reward
    wanted_s = interval_s(read.duty.interval_s, market.base_s, answer_within_s(read.claims))
    return LookPace(base_s=wanted_s, rule=f"a contract, penalty {penalty}, reward {reward}", is_exact=True)


def _obligations(read: HomeInput, now_ms: int) -> Iterator[Action]:
    """The actions of classes 1 to 4 and 7."""
    for claim in read.claims:
        if (action := claim_action(claim, now_ms)) is not None:
            yield action
    for review in read.reviews:
        yield review_action(review.claim, review.closes_at_ms, is_held=review.is_held)
    for dispute in read.disputes:
        if (action := dispute_action(dispute, read.account.id)) is not None:
            yield action


def _shown(action: Action, *, explain: bool) -> answers.Action:
    call = action.next_call
    shown: answers.Action = {
        "priority": action.priority,
        "kind": action.kind.value,
        "subject_id": action.subject_id,
        "due_at": rfc3339_s(action.due_at_ms),
        "text": action.text,
        "next_call": {
            "method": call.method,
            "path": call.path,
            "body_example": call.body_example,
            "scope": call.scope,
        },
        "needs_human": action.needs_human,
    }
    return {**shown, "rule": RULES[action.kind]} if explain else shown


def _state(body: answers.Home, actions: tuple[Action, ...]) -> JsonObject:
    """What the state hash covers: the body without what time alone changes."""
    return {
        **_without(body, "state_hash", "next_check_in_after"),
        "your_account": _without(body["your_account"], "heartbeat"),
        "open_claims": [_without(claim, "hours_remaining") for claim in body["open_claims"]],
        "actions": [
            [action.priority, action.kind.value, action.subject_id, rfc3339_s(action.due_at_ms)] for action in actions
        ],
    }


def _without(shown: Mapping[str, object], *names: str) -> dict[str, Any]:
    return {name: value for name, value in shown.items() if name not in names}


def _boundaries(read: HomeInput, terms: Terms) -> Iterator[int]:
    """Every instant at which an obligation changes its class or ends, past ones too."""
    if read.duty is not None:
        yield read.duty.agreement.next_wake_ms
    for claim in read.claims:
        if claim.state in WORKING:
            yield from (due_soon_at_ms(claim), claim.due_at_ms, ends_at_ms(claim))
        elif claim.appeal_ends_at_ms is not None:
            yield claim.appeal_ends_at_ms
    for review in read.reviews:
        yield from (on_time_until_ms(review, terms), review.closes_at_ms)
    for dispute in read.disputes:
        yield from (at for at in (dispute.respond_by_ms, dispute.appeal_ends_at_ms) if at is not None)
    for claim in read.to_judge:
        if claim.review_ends_at_ms is not None:
            yield claim.review_ends_at_ms


def _marks(read: HomeInput, now_ms: int) -> Iterator[int]:
    """Further instants at which the body changes though no obligation does."""
    yield now_ms + DAY_MS
    if read.duty is not None:
        zone = read.duty.agreement.zone
        yield begins_at_ms(date_after(date_of(now_ms, zone)), zone)
    for claim in read.claims:
        left_ms = claim.due_at_ms - now_ms
        if claim.state in WORKING and left_ms > 0:
            yield now_ms + left_ms % HOUR_MS + SECOND_MS
    for trial in read.trials:
        yield trial.started_at_ms + DAY_MS
    for job in read.jobs:
        yield from (at for at in (job.closes_at_ms, job.apply_until_ms) if at is not None)
    if any(has_hours(capability) for capability in read.capabilities):
        yield now_ms - now_ms % MINUTE_MS + MINUTE_MS
    if read.busy_at_ms is not None:
        yield read.busy_at_ms + INACTIVE_S * SECOND_MS
