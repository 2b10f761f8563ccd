"""Does the auditor see everything, tell the operator, and never touch what it watches?"""

import asyncio
import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from audit_scripts import SENDERS, START_MS, Stage, payload_of, verify_log

from earnest.audit import tap
from earnest.audit.boundary import Violation, violation_of
from earnest.audit.event import LogEvent, Note
from earnest.audit.fields import FIELDS, select_fields
from earnest.audit.reading import read_lines
from earnest.audit.report import AuditSettings, Trigger, report_json, report_lines
from earnest.audit.snapshot import SNAPSHOT_NAME, read_report, take_snapshot
from earnest.effects.ground.bus.api import Envelope
from earnest.engine.codec import SENDERS as PRODUCED
from earnest.foundation.canonical import JsonObject, canonical_bytes, digest_of

LOSS: JsonObject = {"distance": 0.5, "implausibility": 1.0, "resource": 0.2, "total": 0.6, "quality": 0.5}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def logged(stage: Stage) -> list[LogEvent]:
    return [line.event for line in read_lines(stage.path) if line.event]


def test_every_message_is_one_line_with_the_digest_of_its_payload(stage: Stage) -> None:
    record: JsonObject = {
        "tool": "shell",
        "exit_code": 1,
        "ok": False,
        "duration_ms": 12,
        "stdout": "secret",
    }
    failure: JsonObject = {"failure_class": "logical", "detail": "…"}
    stage.send("TaskRequested", cause=None, budget={"time_ms": 9, "other": 1}, raw_input="count")
    stage.send("ToolCalled", subtask_id="s", attempt=1, record={**record, "failure": failure})
    first, second = logged(stage)
    assert (first.seq, first.at_ms, first.run_id, first.id, first.sender) == (1, START_MS, "r", "m1", "user")
    assert (first.kind, first.causation_id, first.violation, first.repeat) == ("TaskRequested", None, "", False)
    assert first.fields == {"budget_time_ms": 9}
    assert second.causation_id == "m1"
    assert second.fields == {
        "subtask_id": "s",
        "attempt": 1,
        "tool": "shell",
        "exit_code": 1,
        "ok": False,
        "failure_class": "logical",
        "duration_ms": 12,
    }
    body: JsonObject = {"subtask_id": "s", "attempt": 1, "record": {**record, "failure": failure}}
    assert second.digest == digest_of(body)
    assert b"secret" not in stage.path.read_bytes()


@pytest.mark.parametrize("kind", ["PlanDirective", "FinalResult"])
def test_a_round_can_be_calibrated_from_its_line(stage: Stage, kind: str) -> None:
    stage.send("TaskRequested", cause=None)
    stage.send(kind, directive="refine", loss=LOSS, gradient=-0.25, loss_gradient=-0.2)
    assert logged(stage)[-1].fields == {
        "directive": "refine",
        "D": 0.5,
        "P": 1,
        "Omega": 0.2,
        "L": 0.6,
        "quality": 0.5,
        "gradient": -0.25,
        "loss_gradient": -0.2,
    }


def test_fields_are_scalars_short_and_finite() -> None:
    body: JsonObject = {"subtask_id": "x" * 999, "attempt": float("nan"), "status": {"deep": 1}, "odd": 1}
    assert select_fields("ExecutionResult", body) == {"subtask_id": "x" * 200}
    assert select_fields("ExecutionResult", {"attempt": 2**60}) == {}
    assert select_fields("Unheard", {"subtask_id": "s"}) == {}


def test_no_field_can_be_mistaken_for_a_member_of_the_line() -> None:
    assert not {"hash", "id"} & {name for names in FIELDS.values() for name in names}


def field_types(kind: type) -> dict[str, object]:
    """The fields of a dataclass, or of the one among the choices of a union."""
    (found,) = [choice for choice in (get_args(kind) or (kind,)) if dataclasses.is_dataclass(choice)]
    return get_type_hints(found)


@pytest.mark.parametrize("payload_type", sorted(PRODUCED, key=str))
def test_what_the_log_picks_is_what_the_roles_send(payload_type: type) -> None:
    for path in FIELDS.get(payload_type.__name__, {}).values():
        kind: Any = payload_type
        for part in path.split("."):
            assert part in field_types(kind), path
            kind = field_types(kind)[part]


def test_every_kind_that_the_log_knows_is_sent_by_somebody() -> None:
    assert set(FIELDS) <= {kind.__name__ for kind in PRODUCED} | {"TreeHead"}


@pytest.mark.parametrize(
    ("kind", "sender", "cause_known", "violation"),
    [
        ("TaskRequested", "user", False, None),
        ("TaskRequested", "R3", False, Violation.FOREIGN_SENDER),
        ("StopRequested", "watchdog", False, None),
        ("TreeHead", "runtime", False, None),
        ("SubTask", "dispatcher", True, None),
        ("SubTask", "dispatcher", False, Violation.UNKNOWN_CAUSE),
        ("SubTask", "R2", False, Violation.FOREIGN_SENDER),
        ("FinalResult", "R4b", True, Violation.FOREIGN_SENDER),
        ("Whisper", "R3", True, Violation.UNKNOWN_KIND),
    ],
)
def test_a_boundary_is_a_kind_a_sender_and_a_cause(
    kind: str, sender: str, cause_known: bool, violation: Violation | None
) -> None:
    assert violation == violation_of(kind=kind, sender=sender, cause_known=cause_known, senders=SENDERS)


def test_a_crossed_boundary_is_logged_and_reported(stage: Stage) -> None:
    stage.send("TaskRequested", cause=None)
    stage.send("FinalResult", sender="R3")
    stage.send("TaskRequested", cause=None, run_id="other")
    stage.send("SubTask", cause="m1", run_id="other")
    stage.send("SubTask", cause=None, run_id="")
    stage.bus.publish(Envelope(id="w", run_id="r", sender="R3", causation_id="m1", at_ms=1, payload=object()))
    violations = ["", "foreign_sender", "", "unknown_cause", "unknown_cause", "unknown_kind"]
    assert [event.violation for event in logged(stage)] == violations
    found = stage.auditor.report().boundary_violations
    assert [(finding.code, finding.run_id) for finding in found] == [
        ("foreign_sender", "r"),
        ("unknown_cause", "other"),
        ("unknown_cause", ""),
        ("unknown_kind", "r"),
    ]
    assert found[0].detail == "R3 sent FinalResult m2"


def test_no_message_can_pass_for_a_note_of_the_auditor(stage: Stage) -> None:
    stage.bus.publish(
        Envelope(
            id="m", run_id="r", sender="auditor", causation_id=None, at_ms=1, payload=payload_of(Note.WINDOW.value)
        )
    )
    (event,) = logged(stage)
    assert (event.kind, event.violation) == ("?", "unknown_kind")


def test_names_with_control_characters_reach_neither_log_nor_terminal(stage: Stage) -> None:
    stage.send("TaskRequested", cause=None, run_id="\x1b[2J", sender="\ud800")
    assert verify_log(stage.path).broken_line is None
    assert all(line.isprintable() for line in report_lines(stage.auditor.report()))


def test_a_payload_that_cannot_be_encoded_is_logged_without_its_digest(stage: Stage) -> None:
    stage.send("TaskRequested", cause=None, odd=float("nan"))
    stage.bus.publish(Envelope(id="w", run_id="r", sender="R1", causation_id="m1", at_ms=1, payload="no payload"))
    assert [event.digest for event in logged(stage)] == ["", ""]
    assert [finding.code for finding in stage.auditor.report().anomalies] == ["unreadable_payload"] * 2


def test_the_auditor_never_fails_a_publisher_and_says_what_it_missed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(descriptor: int, line: bytes) -> int:
        raise OSError(28, "No space left on device")

    stage.send("TaskRequested", cause=None)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        stage.send("PlanReady")
        stage.send("SubTask")
        stage.auditor.report()
    stage.send("CorrectionSignal")
    kinds = [event.kind for event in logged(stage)]
    assert kinds == ["TaskRequested", "audit.unlogged", "CorrectionSignal"]
    assert verify_log(stage.path).broken_line is None
    (finding,) = stage.auditor.report().anomalies
    assert finding.detail == "2 messages could not be written to the log"
    assert "could not be written" in caplog.text
    assert "Traceback" not in caplog.text, "a full disk is no fault of ours"


def test_messages_that_observers_lost_are_an_anomaly(stage: Stage) -> None:
    stage.bus.subscribe("slow", None, capacity=1)
    for _ in range(3):
        stage.send("TreeHead", run_id="", cause=None)
    (finding,) = stage.auditor.report().anomalies
    assert (finding.code, finding.detail) == ("dropped_messages", "observers of the bus lost 2 messages")
    assert [event.fields for event in logged(stage) if event.kind == Note.DROPPED] == [{"count": 2}]


def test_a_resumed_run_repeats_itself_and_is_counted_once(stage: Stage) -> None:
    stage.send("TaskRequested", cause=None)
    stage.send("CorrectionSignal", failure_class="logical")
    stage.crash()
    again = stage.reopen()
    again.send("RunResumed", cause=None, identity="resumed", downtime_ms=5)
    again.send("TaskRequested", cause=None, identity="m1", replayed=True)
    again.send("CorrectionSignal", failure_class="logical", identity="m2", replayed=True)
    again.send("CorrectionSignal", failure_class="logical", identity="m3", cause="m2")
    assert [event.repeat for event in logged(again)] == [False, False, False, True, True, False]
    assert [event.violation for event in logged(again)] == [""] * 6
    assert again.auditor.report().total_corrections == 2


def test_a_message_that_claims_to_be_replayed_but_was_never_seen_counts(stage: Stage) -> None:
    stage.send("TaskRequested", cause=None)
    stage.send("FinalResult", sender="R3", replayed=True)
    assert [(event.repeat, event.violation) for event in logged(stage)] == [(False, ""), (False, "foreign_sender")]


async def test_a_periodic_report_ends_the_window_and_goes_to_the_operator_only(stage: Stage) -> None:
    everything = stage.bus.subscribe("curious", None, capacity=99)
    watching = asyncio.create_task(stage.auditor.watch())
    await asyncio.sleep(0)
    stage.send("TaskRequested", cause=None)
    stage.send("CorrectionSignal", failure_class="environmental")
    await stage.clock.advance_ms(299_999)
    assert stage.reports == []
    await stage.clock.advance_ms(1)
    (first,) = stage.reports
    assert (first.trigger, first.total_corrections) == (Trigger.PERIODIC, 1)
    assert (first.window_start_ms, first.window_end_ms) == (START_MS, START_MS + 300_000)
    assert stage.auditor.report().total_corrections == 0
    await stage.clock.advance_ms(300_000)
    assert [report.window_start_ms for report in stage.reports] == [START_MS, START_MS + 300_000]
    everything.close()
    assert [message.kind async for message in everything] == ["TaskRequested", "CorrectionSignal"]
    watching.cancel()


async def test_a_clock_that_was_set_back_does_not_end_the_reports(stage: Stage) -> None:
    watching = asyncio.create_task(stage.auditor.watch())
    await asyncio.sleep(0)
    stage.send("TaskRequested", cause=None)
    stage.clock.set_by_ms(-86_400_000)
    await stage.clock.advance_ms(305_000)
    assert [report.trigger for report in stage.reports] == [Trigger.PERIODIC] * 2
    watching.cancel()


async def test_a_report_on_demand_leaves_the_window_as_it_is(stage: Stage) -> None:
    stage.send("TaskRequested", cause=None)
    assert stage.auditor.report() == stage.auditor.report()
    assert stage.auditor.report().trigger is Trigger.ON_DEMAND
    assert stage.reports == []


async def test_a_window_goes_on_over_a_restart(stage: Stage) -> None:
    stage.send("TaskRequested", cause=None)
    stage.auditor.close()
    stage.clock.jump_ms(299_000)
    again = stage.reopen()
    watching = asyncio.create_task(again.auditor.watch())
    await asyncio.sleep(0)
    await again.clock.advance_ms(5_000)
    assert [(report.window_start_ms, report.tasks_observed) for report in again.reports] == [(START_MS, 1)]
    watching.cancel()


async def test_an_idle_auditor_without_a_line_reports_nothing(stage: Stage) -> None:
    watching = asyncio.create_task(stage.auditor.watch())
    await asyncio.sleep(0)
    await stage.clock.advance_ms(600_000)
    assert stage.reports == []
    assert stage.path.stat().st_size == 0
    watching.cancel()


async def test_an_operator_that_cannot_take_a_report_does_not_end_the_watch(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    calls = []

    def fail(report: object) -> None:
        calls.append(report)
        raise RuntimeError("no terminal")

    stage.auditor._on_report = fail
    watching = asyncio.create_task(stage.auditor.watch())
    await asyncio.sleep(0)
    stage.send("TaskRequested", cause=None)
    await stage.clock.advance_ms(600_000)
    assert len(calls) == 2
    watching.cancel()


@pytest.mark.parametrize(("settings", "synced"), [(AuditSettings(sync_period_ms=1_000), 1), (AuditSettings(), 0)])
async def test_the_log_reaches_the_disk_in_its_period(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: AuditSettings, synced: int
) -> None:
    stage = Stage(tmp_path, settings=settings)
    watching = asyncio.create_task(stage.auditor.watch())
    await asyncio.sleep(0)
    syncs: list[int] = []
    monkeypatch.setattr(os, "fdatasync", syncs.append)
    stage.send("TaskRequested", cause=None)
    assert len(syncs) == 0
    await stage.clock.advance_ms(4_000)
    assert len(syncs) == synced
    watching.cancel()


def test_a_final_result_is_on_the_disk_when_publishing_it_returns(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs: list[int] = []
    monkeypatch.setattr(os, "fdatasync", syncs.append)
    stage.send("TaskRequested", cause=None)
    assert syncs == []
    stage.send("FinalResult")
    assert len(syncs) == 1


def test_closing_keeps_everything_and_another_auditor_may_begin(stage: Stage) -> None:
    stage.send("TaskRequested", cause=None)
    stage.auditor.close()
    stage.auditor.close()
    stage.send("SubTask")
    assert len(logged(stage)) == 1
    assert stage.path.with_name(SNAPSHOT_NAME).exists()
    stage.reopen().auditor.close()


def test_the_report_of_the_watcher_is_the_report_of_any_reader(stage: Stage) -> None:
    stage.send("TaskRequested", cause=None)
    for number in range(6):
        stage.send("CorrectionSignal", failure_class="mixed", attempt=number)
    stage.send("PlanDirective", directive="refine", loss=LOSS, gradient=0.0)
    stage.send("FinalResult", sender="R4b", directive="abandon", loss=LOSS, gradient=0.4)
    now_ms = stage.clock.now_ms()
    assert read_report(stage.path, now_ms=now_ms) == stage.auditor.report()
    stage.auditor.close()
    assert read_report(stage.path, now_ms=now_ms) == read_report(stage.path, now_ms=now_ms)


def test_a_report_reads_the_same_in_lines_and_in_json(stage: Stage) -> None:
    stage.send("TaskRequested", cause=None)
    stage.send("PlanDirective", directive="refine", loss=LOSS, gradient=-0.25)
    stage.send("FinalResult", sender="R3")
    report = stage.auditor.report()
    assert report_lines(report) == [
        "audit report (on-demand), 2025-06-15T15:06:40.000Z to 2025-06-15T15:06:40.000Z",
        "runs observed: 1",
        "corrections: 0",
        "gap trends: 1",
        "  r: improving (gradient -0.25 in round 1)",
        "boundary violations: 1",
        "  foreign_sender: r: R3 sent FinalResult m3",
        "drift alerts: none",
        "anomalies: none",
        "tool health: 0 failed executions, 0 environmental and 0 logical retries",
        f"log: 3 lines, head {report.log.head}",
    ]
    encoded = report_json(report)
    assert b'"anomalies":[]' in canonical_bytes(encoded)
    assert encoded["trigger"] == "on-demand"
    assert encoded["gap_trends"] == [{"run_id": "r", "trend": "improving", "gradient": -0.25, "rounds": 1}]


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from audit_scripts import Stage
stage = Stage(Path(sys.argv[1]))
stage.send("TaskRequested", cause=None)
for number in range(99):
    stage.send("CorrectionSignal", failure_class="logical")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_loses_no_line(tmp_path: Path) -> None:
    process = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(Path(__file__).parent)], check=False)
    assert process.returncode == -9
    assert verify_log(tmp_path / "audit.jsonl").end.lines == 100
    assert Stage(tmp_path).auditor.report().total_corrections == 99


@pytest.mark.slow
def test_kept_statistics_make_a_long_log_quick_to_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path)
    for _ in range(5_000):
        stage.send("TreeHead", run_id="", cause=None, size=1, root="x")
    stage.auditor.close()
    read = []
    monkeypatch.setattr("earnest.audit.snapshot.fold", lambda statistics, event: read.append(event))
    take_snapshot(stage.path)
    assert read == []


def test_the_auditor_imports_nothing_that_it_watches() -> None:
    watched = ("engine", "runtime", "memory", "verification", "contracts", "app", "surfaces")
    imported = {
        line.split()[1]
        for path in Path(tap.__file__).parent.glob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith(("import earnest", "from earnest"))
    }
    assert not [name for name in imported if name.startswith(tuple(f"earnest.{room}" for room in watched))]
