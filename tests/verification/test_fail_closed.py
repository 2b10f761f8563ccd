"""Is anything ever verified that should not be? The fail-closed rule, one row a way to break it."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

import earnest
from earnest.contracts.criterion import Criterion
from earnest.effects.hands.sandbox.api import ExecutionReport, ExecutionStatus, Probe, SelfTest
from earnest.effects.hands.tools.failures import environmental, logical
from earnest.effects.hands.tools.record import ToolRecord
from earnest.verification.core import Measured, combine, conclude, failure_class
from earnest.verification.plugin import Findings
from earnest.verification.verdict import Answer, Cause, CriterionVerdict, FailureClass, Verdict, verdict_to_json

GREEN = SelfTest(provider="x", at_ms=1, probes=(Probe(name="p", held=True),))
DONE = ExecutionReport(status=ExecutionStatus.DONE, exit_code=0)
PASSED = Findings(passed=True, reason="it is right", reports=(DONE,), evidence=("a",))
MEASURED = Measured(
    criterion=Criterion(id="C1", text="x"),
    check="command/1",
    runs_code=True,
    findings=PASSED,
    self_test=GREEN,
    snapshot_intact=True,
)


def call(failure: object = None) -> ToolRecord:
    return ToolRecord(
        tool="shell",
        tool_ids=frozenset({"shell"}),
        target="",
        args={},
        call_digest="",
        ok=failure is None,
        exit_code=0,
        failure=failure,  # type: ignore[arg-type]
        output_excerpt="",
        output_digest="",
        output_bytes=0,
        duration_ms=1,
        started_at_ms=1,
        changed=(),
        sandbox="",
    )


def test_with_everything_in_order_it_is_verified() -> None:
    verdict = conclude(MEASURED)
    assert verdict == CriterionVerdict(
        id="C1", answer=Answer.VERIFIED, reason="it is right", evidence=("a",), check="command/1"
    )


def with_report(**changes: object) -> Measured:
    return replace(MEASURED, findings=replace(PASSED, reports=(DONE, replace(DONE, **changes))))  # type: ignore[arg-type]


V, E = Cause.VERIFIER, Cause.EVIDENCE


@pytest.mark.parametrize(
    ("measured", "answer", "cause", "part"),
    [
        (replace(MEASURED, findings=None), Answer.UNCLEAR, V, "no findings"),
        (replace(MEASURED, findings=None, problem="it broke"), Answer.UNCLEAR, V, "it broke"),
        (replace(MEASURED, findings=None, problem="a link", problem_cause=E), Answer.UNCLEAR, E, "a link"),
        (replace(MEASURED, snapshot_intact=False), Answer.UNCLEAR, V, "changed while"),
        (replace(MEASURED, self_test=None), Answer.UNCLEAR, V, "there is no sandbox"),
        (replace(MEASURED, self_test=replace(GREEN, probes=())), Answer.UNCLEAR, V, "safely"),
        (replace(MEASURED, self_test=replace(GREEN, problem="no bwrap")), Answer.UNCLEAR, V, "no bwrap"),
        (
            replace(MEASURED, self_test=replace(GREEN, probes=(*GREEN.probes, Probe(name="tcp", held=False)))),
            Answer.UNCLEAR,
            V,
            "tcp",
        ),
        (with_report(status=ExecutionStatus.REFUSED, reason="full"), Answer.UNCLEAR, V, "refused: full"),
        (with_report(status=ExecutionStatus.KILLED), Answer.UNCLEAR, V, "killed"),
        (with_report(timed_out=True, status=ExecutionStatus.KILLED), Answer.NOT_VERIFIED, None, "wall time"),
        (with_report(memory_exceeded=True), Answer.NOT_VERIFIED, None, "memory"),
        (with_report(cpu_exceeded=True), Answer.NOT_VERIFIED, None, "cpu time"),
        (with_report(output_exceeded=True), Answer.NOT_VERIFIED, None, "output"),
        (with_report(disk_exceeded=True), Answer.NOT_VERIFIED, None, "disk"),
        (with_report(processes_exceeded=True), Answer.NOT_VERIFIED, None, "processes"),
        (with_report(leftovers=2), Answer.NOT_VERIFIED, None, "left 2 processes"),
        (replace(MEASURED, findings=replace(PASSED, passed=False)), Answer.NOT_VERIFIED, None, "right"),
        (replace(MEASURED, findings=replace(PASSED, contradiction=True)), Answer.NOT_VERIFIED, None, "right"),
        (replace(MEASURED, findings=replace(PASSED, passed=None)), Answer.UNCLEAR, E, "right"),
        (replace(MEASURED, findings=replace(PASSED, passed=cast(bool, 1))), Answer.UNCLEAR, E, "right"),
        (replace(MEASURED, findings=replace(PASSED, passed=cast(bool, "true"))), Answer.UNCLEAR, E, "right"),
        (replace(MEASURED, findings=replace(PASSED, flags=("hidden text",))), Answer.UNCLEAR, E, "hidden text"),
        (replace(MEASURED, findings=replace(PASSED, reports=())), Answer.UNCLEAR, V, "ran nothing"),
    ],
)
def test_anything_out_of_order_is_not_verified(
    measured: Measured, answer: Answer, cause: Cause | None, part: str
) -> None:
    verdict = conclude(measured)
    assert (verdict.answer, verdict.cause) == (answer, cause)
    assert part in verdict.reason
    assert (verdict.failure_class is not None) == (answer is Answer.NOT_VERIFIED)


def test_a_kind_that_runs_no_code_needs_no_sandbox() -> None:
    measured = replace(MEASURED, runs_code=False, self_test=None, findings=replace(PASSED, reports=()))
    assert conclude(measured).answer is Answer.VERIFIED


@pytest.mark.parametrize(
    ("required", "optional", "whole"),
    [
        ("vv", "", Answer.VERIFIED),
        ("vn", "", Answer.NOT_VERIFIED),
        ("vu", "", Answer.UNCLEAR),
        ("un", "", Answer.NOT_VERIFIED),
        ("v", "n", Answer.VERIFIED),
        ("v", "u", Answer.UNCLEAR),
        ("n", "vu", Answer.NOT_VERIFIED),
        ("", "v", Answer.UNCLEAR),
        ("", "", Answer.UNCLEAR),
    ],
)
def test_the_whole_follows_from_the_parts(required: str, optional: str, whole: Answer) -> None:
    letters = {answer.value[0]: answer for answer in Answer}
    verdicts = [
        CriterionVerdict(id="C", answer=letters[letter], reason="", required=is_required)
        for word, is_required in ((required, True), (optional, False))
        for letter in word
    ]
    assert combine(verdicts) is whole


def test_a_failure_is_environmental_only_if_the_last_failing_call_says_so() -> None:
    broken, wrong = environmental("enoent", "x"), logical("exit_code", "x")
    assert failure_class([]) is FailureClass.LOGICAL
    assert failure_class([call(), call()]) is FailureClass.LOGICAL
    assert failure_class([call(wrong), call(broken), call()]) is FailureClass.ENVIRONMENTAL
    assert failure_class([call(broken), call(wrong)]) is FailureClass.LOGICAL


def test_the_json_form_has_exactly_the_keys_of_the_page() -> None:
    verdict = Verdict(
        answer=Answer.NOT_VERIFIED,
        criteria=(conclude(replace(MEASURED, findings=replace(PASSED, passed=False))),),
        snapshot="sha256:0",
        sandbox="bwrap",
        check_versions={"command": 1},
    )
    assert verdict_to_json(verdict) == {
        "verdict": "not_verified",
        "contradiction": False,
        "flags": [],
        "criteria": [
            {
                "id": "C1",
                "verdict": "not_verified",
                "cause": None,
                "failure_class": "logical",
                "reason": "it is right",
                "evidence": ["a"],
            }
        ],
        "snapshot": "sha256:0",
        "sandbox": "bwrap",
        "check_versions": {"command": 1},
    }


def _answers_verified(path: Path) -> Iterator[str]:
    """Uses of `Answer.VERIFIED` other than comparing with it, and answers made out of text."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    names = {
        alias.asname or alias.name
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("verification.verdict")
        for alias in node.names
        if alias.name == "Answer"
    }
    harmless: set[ast.AST] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Compare):
            harmless |= set(ast.walk(node))
        elif isinstance(node, ast.Dict):
            harmless |= {key for key in node.keys if key is not None}
        elif isinstance(node, ast.MatchValue):
            harmless.add(node.value)
    for node in ast.walk(module):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="VERIFIED") if name in names and node not in harmless:
                yield f"{path}:{node.lineno}"
            case ast.Call(func=ast.Name(id=name)) if name in names:
                yield f"{path}:{node.lineno}"


ANSWERS = {
    "verification/core.py": "what is left when nothing stands against it",
    "views/metrics.py": "the core's answer, read from the facts",
    "runtime/market/replaying.py": "the core's answer, read from the books to be held against another",
    "market/claims/deadlines.py": "what a poster made unclear counts against them where nobody rules in time",
    "runtime/accountability/deciding.py": "the operator's own word, booked as theirs, where the core could not tell",
}
"""Where "verified" may come from, once each."""


@pytest.mark.slow
def test_only_the_core_can_answer_verified() -> None:
    source = Path(earnest.__file__).parent
    places = [path.relative_to(source).as_posix() for path in source.rglob("*.py") for _ in _answers_verified(path)]
    assert sorted(places) == sorted(ANSWERS)
