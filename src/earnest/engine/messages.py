"""What roles say to each other about a task: the message types of a run (`engine.codec` says who may send them).

Payloads are frozen values that survive a round trip through JSON (`engine.codec`), because the messages of a run are
kept as facts and a resumed run is replayed from them. Sources: seed artoo v0.8 (contracts of the roles), ADR 0003.
"""

from dataclasses import dataclass
from enum import StrEnum

from earnest.contracts.criterion import Criterion
from earnest.contracts.playbook import Approach
from earnest.effects.hands.tools.record import ToolRecord
from earnest.engine.gradient.blocking import Target, TriedApproach
from earnest.engine.gradient.cascade import AbandonCause, MacroState, Urgency
from earnest.engine.gradient.loss import Loss
from earnest.foundation.canonical import JsonObject
from earnest.verification.verdict import CriterionVerdict, FailureClass


class Role(StrEnum):
    """Who sends a message."""

    USER = "user"
    R1 = "R1"
    R2 = "R2"
    DISPATCHER = "dispatcher"
    R3 = "R3"
    R4A = "R4a"
    R4B = "R4b"
    R5 = "R5"
    R7 = "R7"
    WATCHDOG = "watchdog"
    RUNTIME = "runtime"


class SubTaskStatus(StrEnum):
    """What R3 says about its own execution. Never a verdict."""

    COMPLETED = "completed"
    UNCERTAIN = "uncertain"
    FAILED = "failed"


class SubTaskEnding(StrEnum):
    """What became of a subtask."""

    MATCHED = "matched"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a run may spend. A playbook asks no model, so everything but time is 0.

    `cost_micro` is None where no bound on money is set; `tokens` and `model_calls` always bound.
    """

    time_ms: int
    cost_micro: int | None = 0
    tokens: int = 0
    model_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the minds of a run spent; all 0 for a playbook. `passes` are those of roles with a model, one after another.

    One subtask that models judge takes 5 passes, each correction and each replan 2 more (seed, cost model).
    `unpriced_calls` of the `model_calls` had no known price and stand in `cost_micro` with nothing.
    """

    cost_micro: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model_calls: int = 0
    passes: int = 0
    unpriced_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequested:
    """The user's words, or a playbook's intent, verbatim. `session` holds up to 5 turns before it, the oldest first."""

    raw_input: str
    budget: Budget
    session: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """The task as R1 understood it. It carries no criteria: these are R2's.

    `reply` is not empty for a greeting and the like, which is no task: R7 ends the run with it.
    """

    task_class: str
    intent: str
    raw_input: str
    scope: str | None = None
    deadline: str | None = None
    reply: str = ""
    needs: tuple[str, ...] = ()
    """What the request takes as given: files and programs by the names that the user gave them, and `network`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSubTask:
    """One subtask of a plan. `approach` holds a playbook's steps; a model's executor finds its own."""

    id: str
    sequence: int
    intent: str
    criteria: tuple[Criterion, ...]
    context: str = ""
    approach: Approach | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternatives:
    """The tools of a subtask's chosen approach, and those of each approach that was not tried in this run yet.

    Blocked tools count too: a block may be lifted, and the solver must see what it would take away.
    """

    subtask_id: str
    chosen: tuple[str, ...]
    untried: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReady:
    """R2's plan of a round.

    `carried` subtasks were matched in an earlier round and nothing before them changed: their outcomes stand. What all
    others left in the workspace is taken back before they are worked anew. `notes` say in words what memory and
    directives did to the plan; `rules` are the ids of memory's rules that it follows, so that one that failed can be
    blamed; `recalled` those of the entries whose contents it was made from, at most ten, whose age that renews.
    """

    round: int
    task_criteria: tuple[Criterion, ...]
    subtasks: tuple[PlannedSubTask, ...]
    alternatives: tuple[Alternatives, ...] = ()
    carried: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    recalled: tuple[str, ...] = ()
    corrections_max: int = 2
    remarks: int = 0
    """How many of the user's remarks it heeds: all that had been made when it was drafted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningFailed:
    """No plan for this round: everything was tried (`exhausted`), or what was drafted broke the rules.

    `impossible` says what is missing, once it was looked for and not found.
    """

    round: int
    reasons: tuple[str, ...]
    exhausted: bool
    impossible: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorOutput:
    """The output of a subtask of an earlier group, labelled."""

    subtask_id: str
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubTask:
    """The dispatcher hands a subtask to R3, with what it must not use."""

    round: int
    subtask: PlannedSubTask
    prior_outputs: tuple[PriorOutput, ...]
    blocked_tools: tuple[str, ...]
    blocked_targets: tuple[Target, ...]
    corrections_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled:
    """A tool call has ended and its outcome is durable."""

    round: int
    subtask_id: str
    attempt: int
    number: int
    record: ToolRecord

    @property
    def key(self) -> str:
        """The call's name within its run, by which later messages refer to the record."""
        return f"r{self.round}/{self.subtask_id}/a{self.attempt}/c{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionResult:
    """R3's assertion about its own work. `calls` are keys of the records that R4a believes instead.

    `impossible` is no assertion: it says what was looked for and not found.
    """

    round: int
    subtask_id: str
    attempt: int
    status: SubTaskStatus
    output: str
    calls: tuple[str, ...]
    reason: str = ""
    impossible: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionSignal:
    """R4a sends R3 back to work."""

    round: int
    subtask_id: str
    attempt: int
    what_was_wrong: tuple[str, ...]
    what_to_do: str
    failure_class: FailureClass | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One point of a subtask's trajectory. `score` is the share of criteria that were met, in permille."""

    attempt: int
    score_permille: int
    unmet: tuple[str, ...]
    failure_class: FailureClass | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubTaskOutcome:
    """R4a's last word on a subtask in this round."""

    round: int
    subtask_id: str
    status: SubTaskEnding
    output: str
    approach_id: str | None
    verdicts: tuple[CriterionVerdict, ...]
    trajectory: tuple[Gap, ...]
    calls: tuple[str, ...]
    failure_reason: str = ""
    failure_class: FailureClass | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStarted:
    """The dispatcher begins the subtasks of one sequence number."""

    round: int
    sequence: int
    subtask_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchEnded:
    """Every subtask of the round has an outcome or will not be run."""

    round: int
    not_run: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplanRequest:
    """R4b's objection: failed subtasks, or rejected task criteria."""

    round: int
    failed: tuple[str, ...]
    not_run: tuple[str, ...]
    task_verdicts: tuple[CriterionVerdict, ...]
    gap_summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeSummary:
    """R4b accepts: every criterion of every subtask and of the task is met. `summary` says so in words."""

    round: int
    merged_output: str
    task_verdicts: tuple[CriterionVerdict, ...]
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmetCriterion:
    """A criterion that is not met. `scope` is the subtask's id, or `task`."""

    scope: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDirective:
    """R7 steers R2: what to change, what must not be used again, and what of the round is not met and why.

    `budget_pressure` is Ω, the part of the budget that is used up.
    """

    round: int
    directive: MacroState
    previous: str
    loss: Loss
    gradient: float
    loss_gradient: float
    urgency: Urgency
    blocked_tools: tuple[str, ...]
    blocked_targets: tuple[Target, ...]
    blocked_approaches: tuple[TriedApproach, ...]
    failed_criterion: str
    failure_class: str | None
    rationale: str
    unmet: tuple[UnmetCriterion, ...] = ()
    budget_pressure: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationAsked:
    """An action that needs leave (Law 1). `action` is its digest: tool, version, canonical arguments, paths, network.

    `args` are those of the tool, exactly. `paths`, absolute and resolved, are what it needs leave to write to beyond
    what was granted, and `network` is whether it needs leave for that. `wording` says all of it to people, already
    printable; nothing is decided by it.
    """

    action: str
    tool: str
    args: JsonObject
    wording: str
    paths: tuple[str, ...]
    network: bool
    expires_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationAnswered:
    """Yes or no to exactly this action, once. `by` says who: the person asked, or the option that named it."""

    action: str
    approved: bool
    by: str
    expires_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarked:
    """What the user said while the run was worked, or about its promise before that. The next plan heeds it."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequested:
    """Somebody who may ends the run: the user, the watchdog, or the engine over its own fault."""

    cause: AbandonCause
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed:
    """The run goes on after an interruption; `downtime_ms` does not count as elapsed time."""

    downtime_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalResult:
    """The end of a run; only R7 says it. `directive` is accept, success or abandon; `cause` stands with abandon only.

    `round` is the last one planned. `unmet` names every criterion that is not met: nobody is deceived (Law 0).
    """

    directive: MacroState
    cause: AbandonCause | None
    summary: str
    output: str
    loss: Loss | None
    gradient: float
    loss_gradient: float
    round: int
    replans: int
    previous: str
    done: tuple[str, ...]
    not_done: tuple[str, ...]
    unmet: tuple[UnmetCriterion, ...]
    next_moves: tuple[str, ...]
    elapsed_ms: int
    usage: Usage
