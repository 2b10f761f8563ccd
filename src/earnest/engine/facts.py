"""How a run stands in the journal: the kinds of its facts, and its messages as facts and back."""

from typing import Final

from earnest.effects.ground.bus.api import Envelope
from earnest.engine.codec import decode, encode
from earnest.engine.memory_messages import MegramEmitted, MemoryRecalled
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken
from earnest.foundation.facts import Fact

STARTED: Final = "run.started"
RESUMED: Final = "run.resumed"
FINISHED: Final = "run.finished"
MESSAGE: Final = "run.message"
MEGRAM: Final = "memory.megram"
RECALLED: Final = "memory.recalled"
INTENT: Final = "effect.intent"
OUTCOME: Final = "effect.outcome"
UNKNOWN: Final = "effect.unknown"
DECIDED: Final = "effect.decided"
LEAVE_ASKED: Final = "confirmation.asked"
LEAVE_SAID: Final = "confirmation.said"

MESSAGES: Final = (MESSAGE, MEGRAM, RECALLED)
"""Megrams and recalls are messages like any other; their own kinds let memory find them."""


def message_fact(envelope: Envelope) -> Fact:
    """The fact that keeps a message."""
    payload = envelope.payload
    return Fact(
        kind=MEGRAM
        if isinstance(payload, MegramEmitted)
        else RECALLED
        if isinstance(payload, MemoryRecalled)
        else MESSAGE,
        subject=envelope.run_id,
        at_ms=envelope.at_ms,
        body={
            "id": envelope.id,
            "kind": envelope.kind,
            "sender": str(envelope.sender),  # a plain text is written several times faster than an enumeration
            "causation_id": envelope.causation_id,
            "payload": envelope.json(encode),
        },
    )


def message_of(run_id: str, at_ms: int, body: JsonObject) -> Envelope:
    """The message that a fact keeps. Raises `Broken` for what no version of ours wrote."""
    match body:
        case {
            "id": str(message_id),
            "kind": str(kind),
            "sender": str(sender),
            "causation_id": str() | None as causation_id,
            "payload": dict(payload),
        }:
            return Envelope(
                id=message_id,
                run_id=run_id,
                sender=sender,
                causation_id=causation_id,
                at_ms=at_ms,
                payload=decode(kind, payload),
            )
    raise Broken(f"not a kept message: {body!r}")
