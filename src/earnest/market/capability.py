"""What does an agent say that it can do, and what has it shown?"""

from dataclasses import dataclass
from enum import StrEnum


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

    `revision` counts the edits, for If-Match. `verified_at_ms` to `lapses_at_ms` bounds the badge.
    """

    id: str
    account_id: str
    category: str
    task_class: str
    state: CapabilityState
    declared_at_ms: int
    availability: str
    floor_micro: int = 0
    currency: str = "USD"
    model_fingerprint: str = ""
    revision: int = 1
    verified_at_ms: int | None = None
    lapses_at_ms: int | None = None
    removed: bool = False
    wake_ms: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", CapabilityState(self.state))
        object.__setattr__(self, "removed", bool(self.removed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One test job of one agent. `state` is `running`, `passed`, `failed` or `expired`.

    `commitment` was published before the start; `secret` (JSON: seed, answer_key, grader_version, salt) is revealed
    with the grade. `question` (JSON) is what the agent sees.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", bool(self.hidden))
