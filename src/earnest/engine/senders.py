"""The senders that each message may have. The auditor reports any other as a boundary violation."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from earnest.engine.confirming import ConfirmationAnswered, ConfirmationAsked
from earnest.engine.memory_messages import (
    DreamEvent,
    FeedbackGiven,
    ForgetRequested,
    MegramWithdrawn,
    MemoryRecalled,
    RememberRequested,
)
from earnest.engine.messages import (
    CorrectionSignal,
    DispatchEnded,
    ExecutionResult,
    FinalResult,
    GroupStarted,
    MegramEmitted,
    MemoryAnswered,
    MemoryAsked,
    OutcomeSummary,
    PlanDirective,
    PlanningFailed,
    PlanReady,
    Remarked,
    ReplanRequest,
    Role,
    RunResumed,
    StopRequested,
    SubTask,
    SubTaskOutcome,
    TaskRequested,
    TaskSpec,
    ToolCalled,
)
from earnest.engine.model_messages import ModelAnswered, ModelAsked

MODEL_ROLES: Final = (Role.R1, Role.R2, Role.R3, Role.R4A, Role.R4B, Role.R7)
"""The roles that may have a model."""

SENDERS: Final[Mapping[type, frozenset[Role]]] = MappingProxyType(
    {
        TaskRequested: frozenset({Role.USER}),
        TaskSpec: frozenset({Role.R1}),
        MemoryAsked: frozenset({Role.R2}),
        MemoryAnswered: frozenset({Role.R5}),
        PlanReady: frozenset({Role.R2}),
        PlanningFailed: frozenset({Role.R2}),
        GroupStarted: frozenset({Role.DISPATCHER}),
        SubTask: frozenset({Role.DISPATCHER}),
        DispatchEnded: frozenset({Role.DISPATCHER}),
        ToolCalled: frozenset({Role.R3}),
        ExecutionResult: frozenset({Role.R3}),
        CorrectionSignal: frozenset({Role.R4A}),
        SubTaskOutcome: frozenset({Role.R4A}),
        ReplanRequest: frozenset({Role.R4B}),
        OutcomeSummary: frozenset({Role.R4B}),
        PlanDirective: frozenset({Role.R7}),
        MegramEmitted: frozenset({Role.R7}),
        FinalResult: frozenset({Role.R7}),
        StopRequested: frozenset({Role.USER, Role.WATCHDOG, Role.RUNTIME}),
        Remarked: frozenset({Role.USER}),
        RunResumed: frozenset({Role.RUNTIME}),
        ModelAsked: frozenset(MODEL_ROLES),
        ModelAnswered: frozenset(MODEL_ROLES),
        ConfirmationAsked: frozenset({Role.R3}),
        ConfirmationAnswered: frozenset({Role.USER}),
        RememberRequested: frozenset({Role.USER}),
        ForgetRequested: frozenset({Role.USER}),
        FeedbackGiven: frozenset({Role.RUNTIME}),
        MegramWithdrawn: frozenset({Role.R7}),
        MemoryRecalled: frozenset({Role.R5}),
        DreamEvent: frozenset({Role.R5}),
    }
)
