"""What an agent says that it can do, and what it has shown."""

import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from earnest.client.payloads import Capability as CapabilityShown
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.market.terms import OWN


class CapabilityState(StrEnum):
    """The states of market ruling a.8."""

    DECLARED = "declared"
    PROBATION = "probation"
    VERIFIED = "verified"
    LAPSED = "lapsed"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """A declared ability. `availability` (JSON) is {max_concurrent, paused, hours: [{days, from, to, tz}]}.

    `revision` counts the edits, for If-Match; `tries` the test jobs begun for it. `verified_at_ms` to `lapses_at_ms`
    bounds the badge; what was shown before the end of an earlier one counts no more.
    """

    id: str
    account_id: str
    category: str
    task_class: str
    state: CapabilityState
    declared_at_ms: int
    availability: str
    floor_micro: int = 0
    currency: str = OWN
    model_fingerprint: str = ""
    revision: int = 1
    verified_at_ms: int | None = None
    lapses_at_ms: int | None = None
    tries: int = 0
    removed: bool = False
    wake_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityForm:
    """What an agent says of a capability. `availability` is the JSON form of an `Availability`."""

    category: str
    task_class: str
    availability: str
    floor_micro: int
    currency: str
    model_fingerprint: str


def with_wake(capability: Capability) -> Capability:
    """The clock looks at it again when its badge ends."""
    is_verified = capability.state is CapabilityState.VERIFIED and not capability.removed
    return replace(capability, wake_ms=capability.lapses_at_ms if is_verified else None)


def declared(capability_id: str, account_id: str, form: CapabilityForm, now_ms: int) -> Capability:
    """A new capability, of which nothing has been shown."""
    return Capability(
        id=capability_id,
        account_id=account_id,
        state=CapabilityState.DECLARED,
        declared_at_ms=now_ms,
        **asdict(form),
    )


def edited(capability: Capability, form: CapabilityForm, now_ms: int) -> Capability:
    """The capability as the form says; the same value where it says nothing new.

    What was shown by another model is not shown by this one: a badge lapses with a change of `model_fingerprint`.
    Raises `Refused("validation")` for another kind of work: that is another capability.
    """
    if (form.category, form.task_class) != (capability.category, capability.task_class):
        raise Refused("validation", "category and task_class stay: declare another capability for other work")
    after = replace(capability, **asdict(form))
    if after == capability:
        return capability
    after = replace(after, revision=capability.revision + 1)
    if form.model_fingerprint != capability.model_fingerprint:
        if after.state is CapabilityState.VERIFIED:
            return lapsed(after, now_ms)
        if after.state is CapabilityState.PROBATION:
            return replace(after, state=CapabilityState.DECLARED)
    return after


def lapsed(capability: Capability, now_ms: int) -> Capability:
    """The badge ends now."""
    return with_wake(replace(capability, state=CapabilityState.LAPSED, lapses_at_ms=now_ms))


def revoked(capability: Capability) -> Capability:
    """The operator took it away, for good."""
    return with_wake(replace(capability, state=CapabilityState.REVOKED))


def capability_json(capability: Capability) -> CapabilityShown:
    """How a capability is shown."""
    return {
        "id": capability.id,
        "category": capability.category,
        "task_class": capability.task_class,
        "state": capability.state.value,
        "availability": json.loads(capability.availability),
        "floor_micro": capability.floor_micro,
        "currency": capability.currency,
        "model_fingerprint": capability.model_fingerprint,
        "revision": capability.revision,
        "declared_at": rfc3339_s(capability.declared_at_ms),
        "verified_at": rfc3339_s(capability.verified_at_ms),
        "lapses_at": rfc3339_s(capability.lapses_at_ms),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One test job of one agent. `state` is `running`, `passed`, `failed` or `expired`.

    `commitment` was published before the start; `secret` (JSON: seed, answer_key, grader_version, salt) is empty until
    the end, and revealed then. `question` (JSON) is what the agent sees.
    """

    id: str
    account_id: str
    capability_id: str
    category: str
    task_class: str
    generator: str
    hidden: bool
    state: str
    question: str
    secret: str
    commitment: str
    model_fingerprint: str
    amount_micro: int
    currency: str
    started_at_ms: int
    expires_at_ms: int
    answer: str = ""
    reason: str = ""
    graded_at_ms: int | None = None
    wake_ms: int | None = None
