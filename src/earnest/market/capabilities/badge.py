"""Badges: when a capability counts as verified, and for how long. (Market ruling a.8)

It stays declared (or lapsed) until three test jobs are passed; then it is verified, or on probation while something
else of the rule is lacking. A badge ends by its age, by another model, by failures at real work, or by the operator.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from earnest.foundation.instants import SECOND_MS
from earnest.market.capabilities.capability import Capability, CapabilityState, Trial, lapsed, with_wake
from earnest.market.terms import DAY_S, Terms

PASSED_MIN: Final = 3
GENERATORS_MIN: Final = 2
HIDDEN_MIN: Final = 1
PASS_PERCENT_MIN: Final = 80
WINDOW_S: Final = 90 * DAY_S
SUCCESS_MIN: Final = 0.5
ENDED_MIN: Final = 4
"""With fewer claims ended even a flawless record has a lower bound below `SUCCESS_MIN`: it says nothing yet."""

_TESTED: Final = frozenset({"passed", "failed", "expired"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BadgeEvidence:
    """What test jobs show of a capability. `generators` and `hidden` count passed ones only.

    `all_passed` of `all_ended`: the agent's own in this category over 90 days, under whatever id, class and model.
    """

    passed: int
    all_passed: int
    all_ended: int
    generators: int
    hidden: int

    @property
    def is_enough(self) -> bool:
        """True where the rule is met."""
        return (
            self.passed >= PASSED_MIN
            and self.generators >= GENERATORS_MIN
            and self.hidden >= HIDDEN_MIN
            and 100 * self.all_passed >= PASS_PERCENT_MIN * self.all_ended
        )


def counted_since_ms(capability: Capability, now_ms: int) -> int:
    """From when on test jobs count: the last 90 days, but not what an earlier badge was given for."""
    since_ms = now_ms - WINDOW_S * SECOND_MS
    if capability.state is CapabilityState.VERIFIED:
        return since_ms
    return max(since_ms, capability.lapses_at_ms or 0)


def shown(capability: Capability, trials: Iterable[Trial], now_ms: int) -> BadgeEvidence:
    """What those show that count: of this capability, begun since then, and by the model that is declared now.

    The share of those that were passed is over all, so that no other name or declaration leaves failures behind.
    """
    window_ms, since_ms = now_ms - WINDOW_S * SECOND_MS, counted_since_ms(capability, now_ms)
    ended = [
        trial
        for trial in trials
        if (trial.account_id, trial.category) == (capability.account_id, capability.category)
        and trial.started_at_ms >= window_ms
        and trial.state in _TESTED
    ]
    all_passed = [trial for trial in ended if trial.state == "passed"]
    passed = [
        trial
        for trial in all_passed
        if trial.capability_id == capability.id
        and trial.model_fingerprint == capability.model_fingerprint
        and trial.started_at_ms >= since_ms
    ]
    return BadgeEvidence(
        passed=len(passed),
        all_passed=len(all_passed),
        all_ended=len(ended),
        generators=len({trial.generator for trial in passed}),
        hidden=sum(trial.hidden for trial in passed),
    )


def after_tests(capability: Capability, trials: Iterable[Trial], now_ms: int, terms: Terms) -> Capability:
    """The capability once a test job of it has ended. A badge is renewed where the rule is met again."""
    if capability.state is CapabilityState.REVOKED:
        return capability
    found = shown(capability, trials, now_ms)
    if found.is_enough:
        is_new = capability.state is not CapabilityState.VERIFIED
        return with_wake(
            replace(
                capability,
                state=CapabilityState.VERIFIED,
                verified_at_ms=now_ms if is_new else capability.verified_at_ms,
                lapses_at_ms=now_ms + terms.capability_lapses_s * SECOND_MS,
            )
        )
    if capability.state is not CapabilityState.VERIFIED and found.passed >= PASSED_MIN:
        return replace(capability, state=CapabilityState.PROBATION)
    return capability


def after_time(capability: Capability, now_ms: int) -> Capability:
    """The capability when the clock looks at it."""
    is_over = capability.state is CapabilityState.VERIFIED and now_ms >= (capability.lapses_at_ms or 0)
    return lapsed(capability, now_ms) if is_over else with_wake(capability)


def after_work(capability: Capability, success_bound: float, ended: int, now_ms: int) -> Capability:
    """The capability after real work: `success_bound` is the lower 5 % bound of its success over `ended` claims."""
    is_weak = ended >= ENDED_MIN and success_bound < SUCCESS_MIN
    return lapsed(capability, now_ms) if is_weak and capability.state is CapabilityState.VERIFIED else capability
