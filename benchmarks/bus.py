"""How many messages a second do the bus and the auditor take, and how soon is a report there?

Run with `python benchmarks/bus.py`. Figures are the best of three rounds in one process.
"""

import asyncio
import gc
import json
import tempfile
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from earnest.audit.log import AuditLog
from earnest.audit.reading import read_lines
from earnest.audit.snapshot import SNAPSHOT_NAME, read_report
from earnest.audit.tap import Auditor
from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.clock import SystemClock
from earnest.foundation.canonical import JsonObject

MESSAGES = 200_000
BURST = 1_000
CLOCK = SystemClock()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionResult:
    subtask_id: str
    attempt: int
    status: str


def built(count: int) -> Iterable[Envelope]:
    for number in range(count):
        yield Envelope(
            id=f"01JD0000000000000000000000/1/count/{number}",
            run_id="01JD0000000000000000000000",
            sender="R3",
            causation_id="01JD0000000000000000000000/0",
            at_ms=1_750_000_000_000,
            payload=ExecutionResult(subtask_id="count", attempt=1, status="completed"),
        )


def encode(payload: object) -> JsonObject:
    assert isinstance(payload, ExecutionResult)
    return {"subtask_id": payload.subtask_id, "attempt": payload.attempt, "status": payload.status}


def encode_any(payload: object) -> JsonObject:
    assert isinstance(payload, ExecutionResult)
    return asdict(payload)


async def deliver(envelopes: Iterable[Envelope]) -> None:
    """Send in bursts to one inbox and one tap; return when everything was read."""
    bus = Bus()
    seen: deque[Envelope] = deque(maxlen=1)
    bus.tap("tap", seen.append)
    inbox = bus.subscribe("inbox", [ExecutionResult], capacity=BURST, inbox=True)

    async def read() -> int:
        return sum([1 async for _ in inbox])

    reading = asyncio.create_task(read())
    for number, envelope in enumerate(envelopes):
        if number % BURST == 0:
            await asyncio.sleep(0)
        bus.publish(envelope)
    inbox.close()
    assert await reading == MESSAGES
    assert seen


def audit(path: Path, envelopes: Iterable[Envelope], encode: Callable[[object], JsonObject]) -> None:
    """Publish to a bus that only the auditor listens to."""
    bus = Bus()
    auditor = Auditor(
        bus=bus,
        log=AuditLog.open(path, CLOCK.now_ms()),
        clock=CLOCK,
        encode=encode,
        senders={"ExecutionResult": frozenset({"R3"})},
        on_report=print,
    )
    for envelope in envelopes:
        bus.publish(envelope)
    auditor.close()


def best_s(act: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = CLOCK.ticks_ns()
        act()
        times.append((CLOCK.ticks_ns() - start) / 1e9)
    return min(times)


def main() -> None:
    envelopes = list(built(MESSAGES))
    gc.freeze()  # these are the benchmark's own, and no run holds so many
    figures = {
        "messages_per_s": per_s(lambda: asyncio.run(deliver(envelopes))),
        "messages_built_in_the_loop_per_s": per_s(lambda: asyncio.run(deliver(built(MESSAGES)))),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.jsonl"
        kept = path.with_name(SNAPSHOT_NAME)

        def anew(encode: Callable[[object], JsonObject]) -> None:
            path.unlink(missing_ok=True)
            kept.unlink(missing_ok=True)
            audit(path, envelopes, encode)

        def cold() -> None:
            kept.unlink(missing_ok=True)
            read_report(path, now_ms=CLOCK.now_ms())

        figures |= {
            "audited_per_s": per_s(lambda: anew(encode)),
            "audited_with_asdict_per_s": per_s(lambda: anew(encode_any)),
            "log_lines_verified_per_s": per_s(lambda: deque(read_lines(path), maxlen=0)),
            "log_lines_reported_per_s": per_s(cold),
            "kept_report_ms": 1000 * best_s(lambda: read_report(path, now_ms=CLOCK.now_ms())),
        }
    print(json.dumps({name: round(value, 1) for name, value in figures.items()}, indent=2))


def per_s(act: Callable[[], object]) -> float:
    return MESSAGES / best_s(act)


if __name__ == "__main__":
    main()
