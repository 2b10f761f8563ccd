"""Test jobs: begun after their commitment is in the log, graded at once, revealed, paid, counted."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from earnest.client.payloads import TrialClaimed, TrialGraded, TrialStarted
from earnest.foundation.canonical import JsonValue, Members
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.identity.key import Scope
from earnest.market import settlement
from earnest.market.capabilities.badge import counted_since_ms
from earnest.market.capabilities.capability import Capability, Trial
from earnest.market.capabilities.trial import answered, begun, check_start, chosen, overdue, trial_id_of, trial_json
from earnest.market.jobs.capacity import owner_of
from earnest.market.sealed import SealedTrial, seal_trial, unseal_trial
from earnest.market.service import CAPABILITIES, TRIALS
from earnest.market.terms import DAY_S, Terms
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.capabilities import CAPABILITIES_MAX, TRIALS_READ_MAX, look_after_trial
from earnest.runtime.market.money import give

TRIAL_COMMITTED: Final = "trial.committed"
SCOPES: Final = (Scope.LIVE, Scope.REGISTERED, Scope.HEARTBEAT)
WELCOME: Final = 3
"""So many test jobs of an agent that nobody owns are paid, ever: its name costs nothing, and so must bring little."""


def start_trial(entry: StoryContext, terms: Terms, capability_id: str, generator: str = "") -> TrialStarted:
    """Begin a test job for a capability of the caller's; what it asks.

    Raises `Refused`: scope codes, `not_found`, `limit_reached`, `attempt_limit`, `validation`.
    """
    entry.me.need(*SCOPES)
    capability = CAPABILITIES.find(entry.transaction, capability_id)
    if capability.account_id != entry.me.id or capability.removed:
        raise Refused("not_found", f"you have no capability {capability_id[:80]!r}")
    return _start(entry, terms, capability, generator)


def claim_test_job(entry: StoryContext, terms: Terms, job_id: str) -> TrialClaimed:
    """Begin the test job that was offered under this id. Raises `Refused`, as `start_trial` does."""
    entry.me.need(*SCOPES)
    conditions = "account_id = ? AND removed = 0 LIMIT ?"
    for capability in CAPABILITIES.where(entry.transaction, conditions, (entry.me.id, CAPABILITIES_MAX)):
        if trial_id_of(capability) == job_id:
            return {**_start(entry, terms, capability, ""), "claim_id": job_id}
    known = TRIALS.get(entry.transaction, job_id)
    if known is not None and known.account_id == entry.me.id:
        raise Refused("job_already_claimed", "you have begun this test job")
    raise Refused("not_found", f"no test job {job_id[:80]!r} is offered to you")


def answer_trial(entry: StoryContext, terms: Terms, trial_id: str, answer: JsonValue) -> TrialGraded:
    """Grade an answer, reveal what was committed to, pay if it is right, and look at the capability again.

    Raises `Refused`: scope codes, `not_found`, `claim_state`, `claim_expired`, `validation`, `too_large`.
    """
    entry.me.need(*SCOPES)
    trial = TRIALS.find(entry.transaction, trial_id)
    if trial.account_id != entry.me.id:
        raise Refused("not_found", f"you have no test job {trial_id[:80]!r}")
    opened = unseal_trial(entry.transaction, trial) if trial.state == "running" else trial
    after = answered(opened, answer, entry.now_ms)
    _save(entry, trial, after)
    paid_micro = _pay(entry, after) if after.state == "passed" else 0
    capability = look_after_trial(entry, terms, trial.capability_id)
    return {**trial_json(after), "paid_micro": paid_micro, "capability_state": capability.state.value}


def due(entry: StoryContext, terms: Terms, key: str) -> Members:
    """What the clock does to a test job: abandoned is failed, and public."""
    trial = TRIALS.find(entry.transaction, key)
    after = overdue(trial, entry.now_ms)
    if after != trial:
        after = overdue(unseal_trial(entry.transaction, trial), entry.now_ms)
        _save(entry, trial, after)
        look_after_trial(entry, terms, trial.capability_id)
    return {"id": after.id, "state": after.state}


def _start(entry: StoryContext, terms: Terms, capability: Capability, generator: str) -> TrialStarted:
    recent = list(_trials(entry, "account_id", capability.account_id, entry.now_ms - DAY_S * 1_000))
    check_start(capability, recent, entry.now_ms, terms)
    earlier = _trials(entry, "capability_id", capability.id, counted_since_ms(capability, entry.now_ms))
    seed, salt = _secret(entry), _secret(entry)
    maker = chosen(capability, generator, earlier)
    trial = begun(capability, maker, seed=seed, salt=salt, now_ms=entry.now_ms, terms=terms)
    committed = {"commitment": trial.commitment, "generator": trial.generator, "account_id": trial.account_id}
    fact = Fact(kind=TRIAL_COMMITTED, subject=trial.id, at_ms=entry.now_ms, body=committed)
    committed_seq = entry.transaction.record(fact)
    seal_trial(entry.transaction, SealedTrial(id=trial.id, seed=seed, salt=salt))
    TRIALS.open(entry.transaction, entry.now_ms, trial, touching=(trial.account_id,), by_key=entry.me.key_id)
    after = replace(capability, tries=capability.tries + 1)
    CAPABILITIES.change(entry.transaction, entry.now_ms, capability, after, event="tried", trial=trial.id)
    return {**trial_json(trial), "committed_seq": committed_seq}


def _trials(entry: StoryContext, column: str, key: str, since_ms: int) -> Iterator[Trial]:
    """The newest of an account (`account_id`) or a capability (`capability_id`)."""
    conditions = f"{column} = ? AND started_at_ms >= ? ORDER BY started_at_ms DESC LIMIT ?"
    return TRIALS.where(entry.transaction, conditions, (key, since_ms, TRIALS_READ_MAX))


def _secret(entry: StoryContext) -> str:
    return entry.chance.secret().hex()


def _save(entry: StoryContext, before: Trial, after: Trial) -> None:
    touching = (before.account_id,)
    TRIALS.change(entry.transaction, entry.now_ms, before, after, touching=touching, event=after.state)


def _pay(entry: StoryContext, trial: Trial) -> int:
    """What was paid: nothing where the treasury has less, nor to an agent that nobody owns for more than its first."""
    if owner_of(entry.me.account) is None:
        passed = TRIALS.where(
            entry.transaction, "account_id = ? AND state = 'passed' LIMIT ?", (entry.me.id, WELCOME + 1)
        )
        if len(list(passed)) > WELCOME:
            return 0
    return give(entry, settlement.trial_paid(trial, entry.now_ms))
