"""Messages as bytes, for who reads them on another machine, and the two ends of a stream of them."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from earnest.effects.ground.bus.api import Envelope
from earnest.foundation.canonical import JsonObject, canonical_bytes

UNREADABLE: Final = "?"
"""The kind of what is no message of ours."""
_SAID: Final = ("id", "run_id", "sender", "causation_id", "at_ms", "kind", "replayed")
"""What goes along with a payload."""
_TOKEN: Final = re.compile("[A-Za-z0-9_-]{1,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardEnvelope(Envelope):
    """A message as it came from a stream: its payload is JSON, None where that could not be sent or read.

    `place` is its number in the stream.
    """

    kind_name: str
    place: int

    @property
    def kind(self) -> str:
        """As the sender said."""
        return self.kind_name


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage:
    """What goes out: `lean` are its bytes without the payload, for where `data` is more than the stream takes."""

    id: str
    topic: str
    data: bytes
    lean: bytes


class StreamWriter(Protocol):
    """The end of a stream that engines have."""

    @property
    def fault(self) -> str:
        """Why nothing can be sent now; empty where it can."""

    async def send(self, messages: Sequence[SentMessage]) -> None:
        """Return when the stream keeps them all, in this order; what it has already is passed over, by its id.

        Raises `Unavailable`: a beginning of them may be kept, and all may be sent again.
        """


class StreamReader(Protocol):
    """The end of a stream that who observes has. It changes nothing."""

    async def read(self, after: int) -> Sequence[HeardEnvelope]:
        """The next messages after a place, some hundreds at most. Raises `Unavailable`."""

    async def first_from(self, place: int) -> HeardEnvelope | None:
        """The message at a place, or the first after it; None for a stream that ends before. Raises `Unavailable`."""

    async def wait(self) -> None:
        """Return when there may be more, soon after there is."""


def sent_message(envelope: Envelope, payload: JsonObject | None) -> SentMessage:
    """A message with its payload's JSON form, None where it has none. Raises `ValueError` for what is not JSON."""
    said = {**{name: getattr(envelope, name) for name in _SAID}, "sender": str(envelope.sender)}
    lean = canonical_bytes({**said, "payload": None})
    data = lean if payload is None else canonical_bytes({**said, "payload": payload})
    topic = f"run.{envelope.run_id}" if _TOKEN.fullmatch(envelope.run_id) else "platform"
    return SentMessage(id=envelope.id, topic=topic, data=data, lean=lean)


def heard_envelope(data: bytes, place: int) -> HeardEnvelope:
    """What stands at a place. Nobody is believed: what cannot be read is a message of the kind `?`, from nobody."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        said = None
    match said:
        case {
            "id": str(),
            "run_id": str(),
            "sender": str(),
            "causation_id": str() | None,
            "at_ms": int(at_ms),
            "kind": str(kind),
            "replayed": bool(),
            "payload": (dict() | None) as payload,
        } if 0 <= at_ms < 2**53:
            told = {name: said[name] for name in _SAID if name != "kind"}
            return HeardEnvelope(**told, payload=payload, kind_name=kind, place=place)
    return HeardEnvelope(
        id="", run_id="", sender="", causation_id=None, at_ms=0, payload=None, kind_name=UNREADABLE, place=place
    )
