"""Runs to audit: messages as the roles would send them, with a log and an auditor around them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from earnest.audit.event import LINE_BYTES_MAX, LogEvent, LogPosition, Scalar
from earnest.audit.log import AuditLog
from earnest.audit.reading import read_lines, unfinished
from earnest.audit.report import AuditReport, AuditSettings
from earnest.audit.tap import Auditor
from earnest.effects.ground.bus.api import Bus, Envelope
from earnest.effects.ground.clock import VirtualClock
from earnest.foundation.canonical import JsonObject, JsonValue, digest_of

START_MS = 1_750_000_000_000
DIGEST = digest_of({})

SENDERS: Mapping[str, frozenset[str]] = {
    kind: frozenset(senders.split())
    for kind, senders in {
        "TaskRequested": "user",
        "TaskSpec": "R1",
        "PlanReady": "R2",
        "SubTask": "dispatcher",
        "ToolCalled": "R3",
        "ExecutionResult": "R3",
        "CorrectionSignal": "R4a",
        "SubTaskOutcome": "R4a",
        "ReplanRequest": "R4b",
        "PlanDirective": "R7",
        "MegramEmitted": "R7",
        "StopRequested": "user watchdog",
        "FinalResult": "R7",
        "RunResumed": "runtime",
        "TreeHead": "runtime",
        "DreamEvent": "R5",
    }.items()
}


@dataclass(frozen=True)
class Payload:
    """What a role says."""

    body: JsonObject


def payload_of(kind: str, **body: JsonValue) -> object:
    """A payload whose class has that name."""
    payload: object = type(kind, (Payload,), {})(body)
    return payload


def encode(payload: object) -> JsonObject:
    """The JSON form of such a payload."""
    assert isinstance(payload, Payload)
    return payload.body


def event(
    seq: int,
    kind: str,
    *,
    run_id: str = "r",
    identity: str = "",
    cause: str | None = None,
    sender: str = "",
    fields: Mapping[str, Scalar] | None = None,
    digest: str = DIGEST,
    violation: str = "",
    repeat: bool = False,
) -> LogEvent:
    """A line as the auditor would write it, one second after the line before."""
    return LogEvent(
        seq=seq,
        at_ms=START_MS + seq * 1_000,
        run_id=run_id,
        id=identity or f"m{seq}",
        sender=sender or next(iter(SENDERS.get(kind, {"auditor"}))),
        kind=kind,
        causation_id=cause,
        digest=digest,
        fields=dict(fields or {}),
        violation=violation,
        repeat=repeat,
    )


@dataclass
class Stage:
    """A bus with an auditor, its log in `folder` and its clock."""

    folder: Path
    settings: AuditSettings = field(default_factory=AuditSettings)
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(START_MS))
    bus: Bus = field(default_factory=Bus)
    reports: list[AuditReport] = field(default_factory=list)
    sent: int = 0

    def __post_init__(self) -> None:
        self.log = AuditLog.open(self.path, self.clock.now_ms())
        self.auditor = Auditor(
            bus=self.bus,
            log=self.log,
            clock=self.clock,
            encode=encode,
            senders=SENDERS,
            on_report=self.reports.append,
            settings=self.settings,
        )

    @property
    def path(self) -> Path:
        return self.folder / "audit.jsonl"

    def send(
        self,
        kind: str,
        *,
        run_id: str = "r",
        cause: str | None = "m1",
        sender: str = "",
        identity: str = "",
        replayed: bool = False,
        **body: JsonValue,
    ) -> None:
        """Publish a message whose sender is the right one unless said otherwise; the first of a run is `m1`."""
        self.sent += 1
        self.bus.publish(
            Envelope(
                id=identity or f"m{self.sent}",
                run_id=run_id,
                sender=sender or next(iter(SENDERS[kind])),
                causation_id=cause,
                at_ms=self.clock.now_ms(),
                payload=payload_of(kind, **body),
                replayed=replayed,
            )
        )

    def crash(self) -> None:
        """End as by kill -9: nothing is kept but what the operating system has."""
        self.bus = Bus()
        os.close(self.log._descriptor)
        self.log._descriptor = -1

    def reopen(self) -> "Stage":
        """The next process on the same folder."""
        return Stage(self.folder, settings=self.settings, clock=self.clock)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCheck:
    """What reading a whole log showed. `broken_line` counts from 1 and is None if the chain holds.

    `end` is the last line that holds. Lines cut off the end leave an unbroken chain: compare `end` with a head that
    was written down elsewhere. `torn_bytes` of an unfinished last line are no break.
    """

    end: LogPosition
    broken_line: int | None = None
    reason: str = ""
    torn_bytes: int = 0


def verify_log(path: Path) -> LogCheck:
    """Read a log from line 1 to its last or to the first that is broken. Raises as `read_lines` does."""
    end = LogPosition()
    for line in read_lines(path):
        if line.fault or line.lines != end.lines + 1:
            return LogCheck(end=end, broken_line=end.lines + 1, reason=line.fault or "the lines before it are gone")
        end = line.end
    torn_bytes = len(unfinished(path, end))
    if torn_bytes >= LINE_BYTES_MAX:
        return LogCheck(end=end, broken_line=end.lines + 1, reason="it is longer than any line", torn_bytes=torn_bytes)
    return LogCheck(end=end, torn_bytes=torn_bytes)
