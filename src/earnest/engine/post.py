"""A run's way onto the bus: ids are derived, times stamped, and what was sent before is sent again as it was."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.clock import Clock
from earnest.engine.codec import encode
from earnest.engine.messages import Role, RunResumed
from earnest.engine.ports import KeptMessages


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A time in which no process worked the run."""

    from_ms: int
    to_ms: int


def active_ms(started_ms: int, now_ms: int, pauses: Iterable[Pause]) -> int:
    """Milliseconds from start to now, pauses left out; never negative."""
    paused = sum(max(0, min(pause.to_ms, now_ms) - max(pause.from_ms, started_ms)) for pause in pauses)
    return max(0, now_ms - started_ms - paused)


@dataclass(slots=True, kw_only=True)
class Outbox:
    """Sends for all roles of one run. `last_ns` is the tick at which it last sent anything, or was made."""

    run_id: str
    bus: Bus
    clock: Clock
    kept: KeptMessages
    pauses: Sequence[Pause] = ()
    last_ns: int = field(init=False)

    def __post_init__(self) -> None:
        self.last_ns = self.clock.ticks_ns()

    def send(self, sender: Role, key: str, payload: object, cause: Envelope | None) -> Envelope:
        """Publish under `<run>/<key>`. A kept message of that id wins over `payload`: it is what was decided then."""
        message_id = f"{self.run_id}/{key}"
        kept = self.kept.kept(message_id)
        if kept is not None:
            envelope = replace(kept, replayed=True)
        else:
            envelope = Envelope(
                id=message_id,
                run_id=self.run_id,
                sender=sender,
                causation_id=cause.id if cause else None,
                at_ms=self.clock.now_ms(),
                payload=payload,
                encoded=encode(payload),
            )
        self.last_ns = self.clock.ticks_ns()
        self.bus.publish(envelope)
        return envelope

    @property
    def interruptions(self) -> int:
        """How often this run was resumed."""
        return len(self.pauses)

    def elapsed_ms(self, started_ms: int, at_ms: int) -> int:
        """Working time between two instants of this run."""
        return active_ms(started_ms, at_ms, self.pauses)

    def repeat(self, sender: Role, key: str) -> bool:
        """Send again what was sent under `key` before, if anything was."""
        kept = self.kept.kept(f"{self.run_id}/{key}")
        if kept is not None:
            self.send(sender, key, kept.payload, None)
        return kept is not None

    def announce_resumption(self) -> None:
        """Tell observers how long nobody worked."""
        if self.pauses:
            last = self.pauses[-1]
            payload = RunResumed(downtime_ms=max(0, last.to_ms - last.from_ms))
            self.send(Role.RUNTIME, f"resumed/{self.interruptions}", payload, None)
