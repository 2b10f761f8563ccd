"""What do lines add up to, told as short runs; and does the short cut give what the long way gives?"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from audit_scripts import SENDERS, START_MS, event
from hypothesis import given
from hypothesis import strategies as st

from earnest.audit import statistics as rules
from earnest.audit.event import GENESIS, LogEvent, Note, Scalar, encode_line
from earnest.audit.log import AuditLog
from earnest.audit.reading import read_lines
from earnest.audit.report import AuditReport, AuditSettings, GapTrend, RunTrend, Trigger, report_of, trend_of
from earnest.audit.snapshot import SNAPSHOT_NAME, LogSnapshot, keep_snapshot, read_report, take_snapshot
from earnest.audit.statistics import SPENT, AuditFinding, Statistics, fold, knows_cause
from earnest.effects.ground.clock import SystemClock
from earnest.foundation.errors import Refused

Said: TypeAlias = tuple[str, Mapping[str, Scalar]]


def folded(*said: Said | LogEvent) -> Statistics:
    """The statistics of these messages of one run."""
    statistics = Statistics()
    for seq, message in enumerate(said, 1):
        fold(statistics, message if isinstance(message, LogEvent) else event(seq, message[0], fields=message[1]))
    return statistics


def report(statistics: Statistics, *, after_ms: int = 60_000) -> AuditReport:
    end = LogSnapshot().end
    return report_of(statistics, end, trigger=Trigger.ON_DEMAND, now_ms=START_MS + after_ms, settings=AuditSettings())


def directive(name: str, distance: float, gradient: float = 0.0) -> Said:
    return ("PlanDirective", {"directive": name, "D": distance, "gradient": gradient})


STARTED: Said = ("TaskRequested", {})
CORRECTED: Said = ("CorrectionSignal", {"failure_class": "logical"})
ENDED: Said = ("FinalResult", {"directive": "accept", "gradient": 0})


@pytest.mark.parametrize(
    ("gradient", "trend"),
    [
        (-1, RunTrend.IMPROVING),
        (-0.1, RunTrend.IMPROVING),
        (-0.0999999999999, RunTrend.IMPROVING),
        (-0.09, RunTrend.STABLE),
        (0, RunTrend.STABLE),
        (0.09, RunTrend.STABLE),
        (0.3 - 0.2, RunTrend.WORSENING),
        (0.1, RunTrend.WORSENING),
    ],
)
def test_a_trend_is_at_least_epsilon(gradient: float, trend: RunTrend) -> None:
    assert trend_of(gradient, 0.1) is trend


def test_the_terminal_round_decides_the_trend() -> None:
    final: Said = ("FinalResult", {"directive": "success", "D": 0.2, "gradient": -0.42})
    statistics = folded(STARTED, directive("refine", 0.9), final)
    trends = report(statistics).gap_trends
    assert trends == (GapTrend(run_id="r", trend=RunTrend.IMPROVING, gradient=-0.42, rounds=2),)


def test_runs_are_counted_once_each() -> None:
    lines = [event(seq, "SubTask", run_id=run_id) for seq, run_id in enumerate("aabca", 1)]
    assert report(folded(*lines)).tasks_observed == 3


@pytest.mark.parametrize(
    ("failure_class", "environmental", "logical"),
    [("environmental", 1, 0), ("logical", 0, 1), ("mixed", 1, 1), ("odd", 0, 0)],
)
def test_corrections_count_by_their_failure_class(failure_class: str, environmental: int, logical: int) -> None:
    statistics = folded(
        ("CorrectionSignal", {"failure_class": failure_class}),
        ("ExecutionResult", {"status": "failed"}),
        ("ExecutionResult", {"status": "uncertain"}),
        ("ExecutionResult", {"status": "completed"}),
    )
    shown = report(statistics)
    health = shown.tool_health
    assert (shown.total_corrections, health.execution_failures) == (1, 1)
    assert (health.environmental_retries, health.logical_retries) == (environmental, logical)


@pytest.mark.parametrize(
    ("said", "alerts"),
    [
        ([CORRECTED] * 4, 0),
        ([CORRECTED] * 5, 1),
        ([CORRECTED] * 9, 1),
        ([*[CORRECTED] * 4, ("ReplanRequest", {}), *[CORRECTED] * 4], 0),
        ([*[CORRECTED] * 5, ("ReplanRequest", {}), *[CORRECTED] * 5], 2),
    ],
)
def test_five_corrections_before_a_replan_are_drift(said: list[Said], alerts: int) -> None:
    assert len(report(folded(STARTED, *said)).drift_alerts) == alerts


BREAK = "break_symmetry"


@pytest.mark.parametrize(
    ("rounds", "anomalies"),
    [
        ([(BREAK, 0.8)], 0),
        ([(BREAK, 0.8), (BREAK, 0.8)], 1),
        ([(BREAK, 0.8), (BREAK, 0.9)], 1),
        ([(BREAK, 0.8), (BREAK, 0.7)], 0),
        ([(BREAK, 0.8), (BREAK, 0.8), (BREAK, 0.8)], 1),
        ([(BREAK, 0.8), ("refine", 0.8), (BREAK, 0.8)], 0),
        ([(BREAK, 0.8), (BREAK, 0.8), (BREAK, 0.5), (BREAK, 0.5)], 2),
        ([("refine", 0.8), (BREAK, 0.8)], 0),
    ],
)
def test_breaking_symmetry_again_without_coming_closer_is_thrashing(
    rounds: list[tuple[str, float]], anomalies: int
) -> None:
    shown = report(folded(STARTED, *(directive(name, distance) for name, distance in rounds)))
    assert [finding.code for finding in shown.anomalies] == ["ggs_thrashing"] * anomalies


@pytest.mark.parametrize(
    ("said", "after_ms", "silent"),
    [
        ([STARTED], 301_000, True),
        ([STARTED], 300_999, False),
        ([STARTED, ("SubTask", {})], 301_000, False),
        ([("SubTask", {})], 999_000, False),
        ([STARTED, ENDED], 999_000, False),
    ],
)
def test_a_started_run_that_says_nothing_is_silent(said: list[Said], after_ms: int, silent: bool) -> None:
    shown = report(folded(*said), after_ms=after_ms)
    assert [finding.code for finding in shown.anomalies] == (["silent_run"] if silent else [])


def test_a_silent_run_is_told_in_one_window_and_again_after_it_spoke() -> None:
    statistics = folded(STARTED)
    window = event(400, Note.WINDOW, run_id="", fields={"silence_ms": 300_000})
    fold(statistics, window)
    assert report(statistics, after_ms=500_000).anomalies == ()
    fold(statistics, event(401, "SubTask"))
    assert [finding.code for finding in report(statistics, after_ms=701_000).anomalies] == ["silent_run"]


LIMITS: dict[str, Scalar] = {"time_ms": 10_000, "cost_micro": 50, "tokens": 7, "model_calls": 2}
BUDGET: Said = ("TaskRequested", {f"budget_{name}": limit for name, limit in LIMITS.items()})


def spent(*amounts: int) -> dict[str, Scalar]:
    """What a FinalResult says: cost, tokens of prompts and of answers, calls."""
    return {f"spent_{name}": amount for name, amount in zip(SPENT, amounts, strict=True)}


@pytest.mark.parametrize(
    ("said", "details"),
    [
        ([("FinalResult", spent(50, 4, 3, 2))], []),
        ([("FinalResult", spent(51, 4, 3, 2))], ["cost_micro 51 of 50"]),
        ([("FinalResult", spent(50, 4, 4, 2))], ["tokens 8 of 7"]),
        ([("FinalResult", spent(50, 4, 3, 3))], ["model_calls 3 of 2"]),
        ([("TaskSpec", {}), *[("SubTask", {})] * 14, ENDED], []),
        ([("TaskSpec", {}), *[("SubTask", {})] * 15, ENDED], ["time_ms 16000 of 10000"]),
        (
            [("TaskSpec", {}), ("RunResumed", {"downtime_ms": 900}), *[("SubTask", {})] * 14, ENDED],
            ["time_ms 15100 of 10000"],
        ),
        ([("TaskSpec", {}), ("RunResumed", {"downtime_ms": 2_000}), *[("SubTask", {})] * 14, ENDED], []),
    ],
)
def test_spending_above_the_budget_is_an_anomaly(said: list[Said], details: list[str]) -> None:
    shown = report(folded(BUDGET, *said))
    assert [(finding.code, finding.detail) for finding in shown.anomalies] == [
        ("over_budget", text) for text in details
    ]


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        (Note.DROPPED, {"count": 3}, "dropped_messages"),
        (Note.UNLOGGED, {"count": 2}, "unlogged_messages"),
        (Note.REPAIRED, {"cut_bytes": 9}, "log_repaired"),
    ],
)
def test_what_the_auditor_notes_of_itself_is_an_anomaly(kind: Note, fields: dict[str, Scalar], code: str) -> None:
    statistics = folded(STARTED, event(2, kind, run_id="", fields=fields))
    (finding,) = report(statistics).anomalies
    assert finding.code == code
    assert str(next(iter(fields.values()))) in finding.detail


def test_a_payload_that_nobody_could_read_is_an_anomaly() -> None:
    assert [found.code for found in report(folded(event(1, "SubTask", digest=""))).anomalies] == ["unreadable_payload"]


def test_a_new_window_forgets_what_was_reported_and_no_open_run() -> None:
    statistics = folded(
        STARTED, *[CORRECTED] * 4, event(6, "SubTask", violation="foreign_sender"), event(7, Note.WINDOW, run_id="")
    )
    shown = report(statistics)
    assert (shown.total_corrections, shown.boundary_violations, shown.tasks_observed) == (0, (), 0)
    assert shown.window_start_ms == START_MS + 7_000
    fold(statistics, event(8, "CorrectionSignal", fields={}))
    assert len(report(statistics).drift_alerts) == 1


def test_a_message_that_its_sender_may_not_send_counts_for_nothing_else() -> None:
    statistics = folded(STARTED, event(2, "FinalResult", sender="R3", violation="foreign_sender"))
    assert list(statistics.runs) == ["r"]
    assert report(statistics).gap_trends == ()


def test_a_repeated_message_is_known_but_not_counted_twice() -> None:
    first = event(2, "CorrectionSignal", identity="m2", fields={"failure_class": "logical"})
    statistics = folded(STARTED, first, first._replace(seq=3, repeat=True))
    assert report(statistics).total_corrections == 1
    assert "m2" in statistics.runs["r"].message_ids


def test_a_run_is_forgotten_with_its_final_result_and_what_comes_later_is_not_counted() -> None:
    statistics = folded(STARTED, CORRECTED, ENDED, CORRECTED, event(5, "SubTask", violation="foreign_sender"), ENDED)
    assert statistics.runs == {}
    shown = report(statistics)
    assert (shown.total_corrections, shown.gap_trends[0].rounds) == (1, 1)
    assert [finding.code for finding in shown.boundary_violations] == ["foreign_sender"]
    assert knows_cause(statistics, "r", "m1")


def test_causes_are_known_within_a_run_only() -> None:
    statistics = folded(STARTED)
    assert knows_cause(statistics, "r", "m1")
    assert not knows_cause(statistics, "r", "m2")
    assert not knows_cause(statistics, "r", None)
    assert not knows_cause(statistics, "other", "m1")


def test_everything_that_is_remembered_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("FINDINGS_MAX", "OPEN_RUNS_MAX", "MESSAGE_IDS_MAX", "REMEMBERED_RUNS_MAX"):
        monkeypatch.setattr(rules, limit, 3)
    seq = count(1)
    statistics = Statistics()
    for run in range(9):
        for _ in range(5):
            fold(statistics, event(next(seq), "SubTask", run_id=str(run), violation="unknown_cause"))
    shown = report(statistics)
    assert (len(shown.boundary_violations), shown.unlisted_findings) == (3, 42)
    assert list(statistics.runs) == ["6", "7", "8"]
    assert shown.tasks_observed == 9
    assert not statistics.runs["8"].ids_complete
    assert knows_cause(statistics, "8", "a cause that may have been forgotten")
    for run in range(9):
        fold(statistics, event(next(seq), "FinalResult", run_id=str(run)))
    assert list(statistics.ended) == ["6", "7", "8"]


SAID = st.tuples(
    st.sampled_from([*sorted(SENDERS), *Note]),
    st.sampled_from("abc"),
    st.integers(1, 9).map(str),
    st.fixed_dictionaries(
        {},
        optional={
            "directive": st.sampled_from([BREAK, "refine", "accept"]),
            "D": st.floats(0, 1),
            "gradient": st.floats(-1, 1) | st.just(0),
            "failure_class": st.sampled_from(["logical", "environmental", "mixed"]),
            "status": st.just("failed"),
            "budget_time_ms": st.integers(0, 9_000),
            "silence_ms": st.integers(0, 9_000),
            "count": st.integers(1, 9),
        },
    ),
    st.sampled_from(["", "", "unknown_cause"]),
    st.booleans(),
)


def write(path: Path, said: Sequence[tuple[str, str, str, Mapping[str, Scalar], str, bool]]) -> None:
    log = AuditLog.open(path, 0)
    for kind, run_id, identity, fields, violation, repeat in said:
        log.append(
            event(
                log.next_seq, kind, run_id=run_id, identity=identity, fields=fields, violation=violation, repeat=repeat
            )
        )
    log.close()


@pytest.mark.slow
@given(before=st.lists(SAID, max_size=12), after=st.lists(SAID, max_size=12))
def test_a_report_with_kept_statistics_is_the_report_from_scratch(
    tmp_path_factory: Any, before: list[Any], after: list[Any]
) -> None:
    path = tmp_path_factory.mktemp("log") / "audit.jsonl"
    write(path, before)
    take_snapshot(path)
    write(path, after)
    cached = take_snapshot(path)
    kept_again = take_snapshot(path)
    path.with_name(SNAPSHOT_NAME).unlink(missing_ok=True)
    assert take_snapshot(path) == cached == kept_again


@cache
def long_log(folder: Path) -> tuple[Path, list[LogEvent]]:
    path = folder / "audit.jsonl"
    kinds = sorted(SENDERS)
    said = [
        (kinds[n * 7 % len(kinds)], "abcdefg"[n // 40 % 7], str(n), {"D": n % 3 / 3}, "", False) for n in range(300)
    ]
    write(path, said)
    return path, [line.event for line in read_lines(path) if line.event]


@pytest.mark.slow
def test_stopping_and_starting_at_any_line_changes_nothing(tmp_path: Path) -> None:
    path, events = long_log(tmp_path)
    whole = take_snapshot(path)
    statistics = Statistics()
    for line, said in zip(read_lines(path), events, strict=True):
        fold(statistics, said)
        keep_snapshot(path, LogSnapshot(end=line.end, statistics=statistics))
        assert take_snapshot(path) == whole


@pytest.mark.parametrize("kept", [b"", b"{", b"[]", b'{"format": "another"}', b"\xff"])
def test_kept_statistics_that_cannot_be_read_are_computed_again(tmp_path: Path, kept: bytes) -> None:
    path, _ = long_log(tmp_path)
    whole = take_snapshot(path)
    path.with_name(SNAPSHOT_NAME).write_bytes(kept)
    assert take_snapshot(path) == whole


def test_a_log_that_lost_lines_which_were_counted_is_called_broken(tmp_path: Path) -> None:
    path, _ = long_log(tmp_path)
    take_snapshot(path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    lost = AuditFinding(code="log_broken", run_id="", detail="line 300, which was read before, is gone or changed")
    assert lost in read_report(path, now_ms=START_MS).anomalies
    again = read_report(path, now_ms=START_MS)
    assert lost in again.anomalies
    assert again.log.lines == 299


def test_a_broken_line_is_named_in_every_report_and_the_rest_is_counted(tmp_path: Path) -> None:
    path, _ = long_log(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = b"{}\n"
    path.write_bytes(b"".join(lines))
    expected = AuditFinding(code="log_broken", run_id="", detail="line 2: it is not an event")
    assert [expected] == [f for f in read_report(path, now_ms=START_MS).anomalies if f.code == "log_broken"]
    assert take_snapshot(path).end.lines == 300


@pytest.mark.slow
def test_a_report_on_a_long_log_takes_less_than_three_seconds(tmp_path: Path) -> None:
    path, head = tmp_path / "audit.jsonl", GENESIS
    with path.open("wb") as file:
        for seq in range(1, 200_001):
            line, head = encode_line(event(seq, "SubTask", run_id=str(seq // 400), fields={"round": 1}), head)
            file.write(line)
    take_snapshot(path)
    write(path, [("SubTask", "new", str(number), {}, "", False) for number in range(1_000)])
    clock = SystemClock()
    start_ns = clock.ticks_ns()
    assert read_report(path, now_ms=START_MS).log.lines == 201_000
    assert clock.ticks_ns() - start_ns < 3_000_000_000


def test_a_report_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        read_report(tmp_path / "audit.jsonl", now_ms=0)


def test_statistics_are_kept_privately_and_a_failure_to_keep_them_is_only_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, _ = long_log(tmp_path)
    take_snapshot(path)
    kept = path.with_name(SNAPSHOT_NAME)
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.unlink()
    kept.mkdir()
    assert take_snapshot(path).end.lines == 300
    assert "not kept" in caplog.text
