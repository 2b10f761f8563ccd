"""Messages: who may send each, and each as JSON and back, so that they can be kept, replayed and audited."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from earnest.engine import memory_messages, messages, model_messages
from earnest.engine.messages import Role
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken
from earnest.foundation.shapes import from_json, to_json

MODEL_ROLES: Final = frozenset({Role.R1, Role.R2, Role.R3, Role.R4A, Role.R4B, Role.R7})
"""The roles that may have a model."""

SENDERS: Final[Mapping[type, frozenset[Role]]] = MappingProxyType(
    {
        messages.TaskRequested: frozenset({Role.USER}),
        messages.TaskSpec: frozenset({Role.R1}),
        memory_messages.MemoryAsked: frozenset({Role.R2}),
        memory_messages.MemoryAnswered: frozenset({Role.R5}),
        messages.PlanReady: frozenset({Role.R2}),
        messages.PlanningFailed: frozenset({Role.R2}),
        messages.GroupStarted: frozenset({Role.DISPATCHER}),
        messages.SubTask: frozenset({Role.DISPATCHER}),
        messages.DispatchEnded: frozenset({Role.DISPATCHER}),
        messages.ToolCalled: frozenset({Role.R3}),
        messages.ExecutionResult: frozenset({Role.R3}),
        messages.CorrectionSignal: frozenset({Role.R4A}),
        messages.SubTaskOutcome: frozenset({Role.R4A}),
        messages.ReplanRequest: frozenset({Role.R4B}),
        messages.OutcomeSummary: frozenset({Role.R4B}),
        messages.PlanDirective: frozenset({Role.R7}),
        memory_messages.MegramEmitted: frozenset({Role.R7}),
        messages.FinalResult: frozenset({Role.R7}),
        messages.StopRequested: frozenset({Role.USER, Role.WATCHDOG, Role.RUNTIME}),
        messages.Remarked: frozenset({Role.USER}),
        messages.RunResumed: frozenset({Role.RUNTIME}),
        model_messages.ModelAsked: MODEL_ROLES,
        model_messages.ModelAnswered: MODEL_ROLES,
        messages.ConfirmationAsked: frozenset({Role.R3}),
        messages.ConfirmationAnswered: frozenset({Role.USER}),
        memory_messages.RememberRequested: frozenset({Role.USER}),
        memory_messages.ForgetRequested: frozenset({Role.USER}),
        memory_messages.FeedbackGiven: frozenset({Role.RUNTIME}),
        memory_messages.MegramWithdrawn: frozenset({Role.R7}),
        memory_messages.MemoryRecalled: frozenset({Role.R5}),
        memory_messages.DreamEvent: frozenset({Role.R5}),
    }
)
"""The senders that each message may have. The auditor reports any other as a boundary violation."""

_TYPES: Final = {payload_type.__name__: payload_type for payload_type in SENDERS}


def encode(payload: object) -> JsonObject:
    """The payload's fields as JSON values, the same in every process."""
    if type(payload) not in SENDERS:
        raise Broken(f"{type(payload).__name__} is no message")
    return to_json(payload)


def decode(kind: str, fields: JsonObject) -> object:
    """The payload that `encode` was given. Raises `Broken` for what no version of ours wrote."""
    if kind not in _TYPES:
        raise Broken(f"the journal holds a message of the unknown kind {kind!r}")
    return from_json(_TYPES[kind], fields, f"a kept message of kind {kind}")
