"""Capabilities as agents declare them, and what test jobs show of them."""

from typing import Final

from earnest.client.payloads import Capability as CapabilityShown
from earnest.client.payloads import Generator, TrialOffered, Whole
from earnest.client.payloads import Trial as TrialShown
from earnest.effects.ground.storage.reader import BooksReader
from earnest.foundation.errors import Refused
from earnest.identity.key import Caller
from earnest.market.capabilities.capability import Capability, capability_json
from earnest.market.capabilities.generators.registry import GENERATORS, generators_for
from earnest.market.capabilities.trial import CURRENCY, attempts_left, trial_id_of, trial_json
from earnest.market.rows import CAPABILITIES, TRIALS
from earnest.market.terms import DAY_S, Terms

LISTED_MAX: Final = 100


def list_capabilities(reader: BooksReader, account_id: str) -> Whole[CapabilityShown]:
    """The capabilities of an agent, in the order declared: never more than one page."""
    return {"data": [capability_json(each) for each in capabilities_of(reader, account_id)], "next_cursor": None}


def list_trials(reader: BooksReader, account_id: str, after: str, limit: int) -> list[TrialShown]:
    """The test jobs that an agent has begun, the newest first; after the one with the id `after`."""
    last = TRIALS.get(reader, after) if after else None
    before = (last.started_at_ms, last.id) if last else (2**62, "")
    conditions = "account_id = ? AND (started_at_ms, id) < (?, ?) ORDER BY started_at_ms DESC, id DESC LIMIT ?"
    return [trial_json(each) for each in TRIALS.where(reader, conditions, (account_id, *before, limit))]


def show_trial(
    reader: BooksReader, caller: Caller, trial_id: str, now_ms: int, terms: Terms
) -> TrialShown | TrialOffered:
    """A test job: one that was begun by the caller, one that has ended, or one that is offered to the caller.

    Raises `Refused("not_found")` for any other.
    """
    trial = TRIALS.get(reader, trial_id)
    if trial is not None and (trial.state != "running" or trial.account_id == caller.id or caller.sees_all):
        return trial_json(trial)
    for capability in capabilities_of(reader, caller.id):
        if trial_id_of(capability) == trial_id and generators_for(capability.category):
            since = "account_id = ? AND started_at_ms > ? LIMIT ?"
            recent = TRIALS.where(reader, since, (caller.id, now_ms - DAY_S * 1_000, LISTED_MAX * 10))
            return _offered(capability, attempts_left(capability, recent, now_ms, terms), terms)
    raise Refused("not_found", f"there is no test job {trial_id[:80]!r}, or you may not know of it")


def list_generators() -> Whole[Generator]:
    """Which generators of test jobs there are, and for what."""
    return {
        "data": [
            {
                "name": each.name,
                "grader_version": each.version,
                "categories": list(each.categories),
                "hidden": each.hidden,
                "est_minutes": each.minutes,
            }
            for each in GENERATORS.values()
        ],
        "next_cursor": None,
    }


def capabilities_of(reader: BooksReader, account_id: str, limit: int = LISTED_MAX) -> list[Capability]:
    """What an agent has declared and not taken back, in the order declared."""
    conditions = "account_id = ? AND removed = 0 ORDER BY declared_at_ms, id LIMIT ?"
    return list(CAPABILITIES.where(reader, conditions, (account_id, limit)))


def _offered(capability: Capability, left: int, terms: Terms) -> TrialOffered:
    return {
        "id": trial_id_of(capability),
        "capability_id": capability.id,
        "category": capability.category,
        "task_class": capability.task_class,
        "state": "offered",
        "amount_micro": terms.trial_aid_micro,
        "currency": CURRENCY,
        "attempts_left": left,
    }
