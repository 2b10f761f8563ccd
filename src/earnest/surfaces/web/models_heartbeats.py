"""What does an agent check in with, and what is it answered?"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from earnest.accountability.agreement import CONTRACT_BYTES_MAX
from earnest.effects.workspace.snapshot import folded
from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.errors import Refused
from earnest.runtime.accountability.checking_in import Assertion, CheckIn
from earnest.surfaces.web.models_jobs import Sha256, Strict
from earnest.verification.paths import path_fault

REPLY_CHARACTERS_MAX = 100_000
RECORDS_MAX = 200
OUTPUT_CHARACTERS_MAX = 4_000
ARTIFACTS_MAX = 20
PATH_PARTS_MAX = 8
CLAIMS_MAX = 500
CLAIMS_BYTES_MAX = 48 * 1024
"""As canonical JSON: more than the verifier reads would hide what was claimed."""
VALUES_MAX = 20

TaskId = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Word = Annotated[str, StringConstraints(max_length=1_000)]
Contract = Annotated[str, StringConstraints(max_length=CONTRACT_BYTES_MAX)]


class Recorded(Strict):
    """What one tool did, by the agent's own account: it is shown to the judge, and proves nothing alone."""

    tool: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    target: Word = ""
    ok: bool
    exit_code: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None
    output: Annotated[str, StringConstraints(max_length=OUTPUT_CHARACTERS_MAX)] = ""


class ArtifactNamed(Strict):
    """A file that was uploaded before. `path`: where the judge finds it, below `artifacts/`."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    sha256: Sha256


class Claimed(Strict):
    """What the agent asserts of a task; a ticked box says `done` too. `values`: what it measured, by name.

    A value that was measured to be otherwise is a contradiction.
    """

    task: TaskId
    done: bool = True
    values: dict[Annotated[str, StringConstraints(max_length=64)], bool | int | float | Word] = Field(
        default_factory=dict, max_length=VALUES_MAX
    )


class SendHeartbeat(Strict):
    """A check-in. Without `contract` it is the one that was accepted."""

    contract: Contract | None = None
    reply: Annotated[str, StringConstraints(max_length=REPLY_CHARACTERS_MAX)] = ""
    records: list[Recorded] = Field(default_factory=list, max_length=RECORDS_MAX)
    artifacts: list[ArtifactNamed] = Field(default_factory=list, max_length=ARTIFACTS_MAX)
    claims: list[Claimed] = Field(default_factory=list, max_length=CLAIMS_MAX)

    def value(self) -> CheckIn:
        """What was sent. Raises `Refused`: `validation` for names that cannot stand side by side, `too_large`."""
        if fault := paths_fault(one.path for one in self.artifacts):
            raise Refused("validation", f"artifacts: {fault}")
        if len({one.task for one in self.claims}) < len(self.claims):
            raise Refused("validation", "claims: a task stands twice")
        if len(canonical_bytes([one.model_dump() for one in self.claims])) > CLAIMS_BYTES_MAX:
            raise Refused("too_large", f"claims have at most {CLAIMS_BYTES_MAX} bytes")
        return CheckIn(
            contract=self.contract,
            reply=self.reply,
            records=tuple(one.model_dump() for one in self.records),
            artifacts={one.path: one.sha256 for one in self.artifacts},
            assertions=tuple(Assertion(one.task, one.done, one.values) for one in self.claims),
        )


def paths_fault(paths: Iterable[str]) -> str | None:
    """Why files of these paths cannot lie side by side and be told apart, or None. A folder is known by its `/`."""
    taken: dict[str, str] = {}
    for path in paths:
        parts = path.split("/")
        if fault := path_fault(path):
            return fault
        if len(parts) > PATH_PARTS_MAX:
            return f"{path[:80]!r} has more than {PATH_PARTS_MAX} parts"
        folders = ["/".join(parts[:end]) for end in range(1, len(parts))]
        if folded(path) in taken or any(taken.setdefault(folded(one), f"{one}/") != f"{one}/" for one in folders):
            return f"{path[:80]!r} cannot lie beside the others: a name is taken, or reads like another"
        taken[folded(path)] = path
    return None


class TaskAsked(BaseModel):
    """A task that is due. `forced`: optional, but required under this tier."""

    id: str
    description: str
    verify: str
    required: bool
    forced: bool
    accepted: bool
    structured: bool
    weakened: str | None
    attempt: int
    max_attempts: int


class DiagnosticShown(BaseModel):
    """A line of the contract that is not what it seems; 0: the whole."""

    line: int
    message: str


class HeartbeatTaken(BaseModel):
    """`state` is `verifying`, or `skipped` for the reason `skip`. `weakened`: accepted tasks that are easier now."""

    heartbeat_id: str | None
    state: Literal["verifying", "skipped"]
    skip: str | None
    date: str | None
    acknowledged: bool
    tasks: list[TaskAsked]
    weakened: dict[str, str]
    diagnostics: list[DiagnosticShown]
    next_check_in_after: str


class DueShown(BaseModel):
    """What a check-in now would be asked for, and what the last one was told. `skip`: which gate is closed."""

    skip: str | None
    tasks: list[TaskAsked]
    penalty: str
    reward: str
    message: str
    interval_s: int | None
    feedback: list[str]
    next_wake_at: str | None


class RuleShown(BaseModel):
    """One rule and what it comes to."""

    rule: str
    points: int


class TaskJudged(BaseModel):
    """A task and the verdict on it; null as long as there is none. `waits`: for the operator's verdict."""

    id: str
    description: str
    required: bool
    forced: bool
    accepted: bool
    attempt: int
    max_attempts: int
    verdict: str | None
    cause: str | None
    reason: str | None
    contradiction: bool
    waits: bool
    rules: list[RuleShown]
    points: int


class Outcome(BaseModel):
    """Where a heartbeat left the agent."""

    score: int
    target: int
    penalty: str
    reward: str
    message: str
    interval_s: int
    feedback: list[str]


class HeartbeatShown(BaseModel):
    """One heartbeat; `outcome` null until it is judged. What was handed in is shown to the operator."""

    heartbeat_id: str
    account_id: str
    state: str
    at: str
    date: str
    judged_at: str | None
    points: int
    tasks: list[TaskJudged]
    outcome: Outcome | None
    reply: str | None = None
    records: list[dict[str, Any]] | None = None
    artifacts: list[dict[str, Any]] | None = None
    claims: list[dict[str, Any]] | None = None


class Heartbeats(BaseModel):
    """A page of heartbeats."""

    data: list[HeartbeatShown]
    next_cursor: str | None
