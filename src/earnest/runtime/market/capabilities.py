"""Declaring what one can do, and what becomes of the badge for it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from earnest.client.payloads import Capability as CapabilityShown
from earnest.client.payloads import CapabilityRemoved
from earnest.foundation.canonical import Members
from earnest.foundation.errors import Refused
from earnest.identity.key import Scope
from earnest.ledger.rules import AMOUNT_MICRO_MAX
from earnest.market.capabilities.badge import WINDOW_S, after_tests, after_time, after_work
from earnest.market.capabilities.capability import (
    Capability,
    CapabilityForm,
    capability_json,
    declared,
    edited,
    revoked,
    with_wake,
)
from earnest.market.jobs.categories import category_fault
from earnest.market.service import CAPABILITIES, TRIALS
from earnest.market.terms import Terms
from earnest.runtime.desk import StoryContext

CAPABILITIES_MAX: Final = 50
TRIALS_READ_MAX: Final = 1_000
"""Three a day for 90 days are fewer."""
_ID: Final = re.compile(r"cap_[0-7][0-9A-HJKMNP-TV-Z]{25}", re.ASCII)


def put_capability(
    entry: StoryContext, terms: Terms, capability_id: str, form: CapabilityForm, if_match: str
) -> CapabilityShown:
    """Declare a capability, or say something else of it. `if_match`: the header, empty where there is none.

    Raises `Refused`: scope codes, `validation`, `precondition_failed`, `limit_reached`, and `not_found` for an id that
    is somebody else's, or was removed.
    """
    me = entry.me
    me.need(Scope.LIVE, Scope.REGISTERED)
    _check(capability_id, form, terms)
    form = replace(form, model_fingerprint=form.model_fingerprint or me.account.model_fingerprint)
    before = CAPABILITIES.get(entry.transaction, capability_id)
    if before is None:
        _check_match(if_match, None)
        _check_may_declare(entry, form)
        after = declared(capability_id, me.id, form, entry.now_ms)
        CAPABILITIES.open(entry.transaction, entry.now_ms, after, touching=(me.id,))
        return capability_json(after)
    _check_mine(entry, before)
    _check_match(if_match, before)
    after = edited(before, form, entry.now_ms)
    _save(entry, before, after, "edited")
    return capability_json(after)


def remove_capability(entry: StoryContext, capability_id: str, if_match: str) -> CapabilityRemoved:
    """Take a capability back. Its test jobs stay in the record. Raises `Refused`, as `put_capability` does."""
    entry.me.need(Scope.LIVE, Scope.REGISTERED)
    before = CAPABILITIES.find(entry.transaction, capability_id)
    _check_mine(entry, before)
    _check_match(if_match, before)
    _save(entry, before, with_wake(replace(before, removed=True)), "removed")
    return {"id": before.id, "removed": True}


def revoke_capability(entry: StoryContext, capability_id: str, reason: str) -> CapabilityShown:
    """The operator takes a badge away, for good."""
    entry.me.need(Scope.OPERATOR)
    before = CAPABILITIES.find(entry.transaction, capability_id)
    after = revoked(before)
    _save(entry, before, after, "revoked", reason=reason)
    return capability_json(after)


def look_after_trial(entry: StoryContext, terms: Terms, capability_id: str) -> Capability:
    """A test job of the capability has ended: the capability as it then is."""
    before = CAPABILITIES.find(entry.transaction, capability_id)
    trials = TRIALS.where(
        entry.transaction,
        "account_id = ? AND started_at_ms >= ? AND category = ? ORDER BY started_at_ms DESC LIMIT ?",
        (before.account_id, entry.now_ms - WINDOW_S * 1_000, before.category, TRIALS_READ_MAX),
    )
    after = after_tests(before, trials, entry.now_ms, terms)
    _save(entry, before, after, "tested")
    return after


def look_after_work(entry: StoryContext, account_id: str, category: str, success_bound: float, ended: int) -> None:
    """Real work of this category has ended: a badge for it lapses where the bound of its success is too low.

    `success_bound` is the lower 5 % bound over the account's `ended` claims in it (docs/reputation.md).
    """
    for before in list(_of(entry, account_id)):
        if before.category == category:
            after = after_work(before, success_bound, ended, entry.now_ms)
            _save(entry, before, after, "weighed", success_bound=success_bound, ended=ended)


def due(entry: StoryContext, terms: Terms, key: str) -> Members:  # noqa: ARG001 - the form of all that the clock calls
    """What the clock does to a capability."""
    before = CAPABILITIES.find(entry.transaction, key)
    after = after_time(before, entry.now_ms)
    _save(entry, before, after, "aged")
    return {"id": after.id, "state": after.state.value}


def _of(entry: StoryContext, account_id: str) -> Iterator[Capability]:
    conditions = "account_id = ? AND removed = 0 ORDER BY declared_at_ms, id LIMIT ?"
    return CAPABILITIES.where(entry.transaction, conditions, (account_id, CAPABILITIES_MAX))


def _save(entry: StoryContext, before: Capability, after: Capability, event: str, **why: float | str) -> None:
    """Where nothing has changed, nothing is recorded."""
    if after != before:
        touching = (before.account_id,)
        CAPABILITIES.change(entry.transaction, entry.now_ms, before, after, touching=touching, event=event, **why)


def _check(capability_id: str, form: CapabilityForm, terms: Terms) -> None:
    faults = {
        "": not _ID.fullmatch(capability_id) and "the id of a capability is cap_ and a ULID, of your making",
        "/category": category_fault(form.category),
        "/currency": form.currency not in terms.currencies and f"must be one of {', '.join(sorted(terms.currencies))}",
        "/floor_micro": not 0 <= form.floor_micro <= AMOUNT_MICRO_MAX and f"must be from 0 to {AMOUNT_MICRO_MAX}",
    }
    errors = [{"pointer": place, "code": "validation", "detail": words} for place, words in faults.items() if words]
    if errors:
        raise Refused("validation", f"{errors[0]['pointer'][1:] or 'id'}: {errors[0]['detail']}", errors=errors)


def _check_may_declare(entry: StoryContext, form: CapabilityForm) -> None:
    conditions = "account_id = ? AND state = 'revoked' AND category = ? AND task_class = ? LIMIT 1"
    if list(CAPABILITIES.where(entry.transaction, conditions, (entry.me.id, form.category, form.task_class))):
        raise Refused("limit_reached", f"the operator has revoked your capability of {form.category}")
    if len(list(_of(entry, entry.me.id))) >= CAPABILITIES_MAX:
        raise Refused("limit_reached", f"an agent has at most {CAPABILITIES_MAX} capabilities")


def _check_mine(entry: StoryContext, capability: Capability) -> None:
    if capability.account_id != entry.me.id or capability.removed:
        raise Refused("not_found", f"you have no capability {capability.id}")


def _check_match(if_match: str, capability: Capability | None) -> None:
    """If-Match holds `*` or tags in quotation marks; the tag of a capability is its revision (RFC 9110 §13.1.1)."""
    if not if_match:
        return
    tags = {tag.strip() for tag in if_match.split(",")}
    if capability is None or not tags & {"*", f'"{capability.revision}"'}:
        now = f"it has revision {capability.revision}" if capability else "there is none"
        raise Refused("precondition_failed", f"the capability is not the one that If-Match means: {now}")
