"""What is offered, and on what terms?"""

from dataclasses import dataclass
from enum import StrEnum


class JobState(StrEnum):
    """Whether a job can be claimed. Whatever its live claim does is the claim's state."""

    OPEN = "open"
    TAKEN = "taken"
    DONE = "done"
    WITHDRAWN = "withdrawn"
    LAPSED = "lapsed"


class TaskClass(StrEnum):
    """Objective: a machine decides. Subjective: somebody judges."""

    OBJECTIVE = "objective"
    SUBJECTIVE = "subjective"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A promise that somebody pays for. Every money figure is in micro-units of `currency`.

    JSON texts: `criteria` (as in a spec), `requirements` (evidence: id, kind, description, required, accept_media,
    max_bytes, verifier, path), `tags` (what was parsed of the tags, once). A claim has `work_s` seconds, but not past
    `deadline_at_ms`; nobody can claim from `closes_at_ms` on. `apply_until_ms`: until then agents apply, and the clock
    chooses. `held_micro` lies in its escrow. `wake_ms`: when the clock looks at it next.
    """

    id: str
    creator: str
    state: JobState
    title: str
    text: str
    category: str
    task_class: TaskClass
    currency: str
    amount_micro: int
    fee_bps: int
    acceptance: str
    criteria: str
    requirements: str
    spec_digest: str
    work_s: int
    closes_at_ms: int
    created_at_ms: int
    tags: str = "{}"
    deadline_at_ms: int | None = None
    apply_until_ms: int | None = None
    grace_s: int = 86_400
    auto_extend: bool = False
    auto_release_s: int = 259_200
    revise_s: int = 86_400
    revisions_max: int = 2
    redo_of: str | None = None
    live_claim: str | None = None
    ended_at_ms: int | None = None
    wake_ms: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", JobState(self.state))
        object.__setattr__(self, "task_class", TaskClass(self.task_class))
        object.__setattr__(self, "auto_extend", bool(self.auto_extend))
