"""Must a check near a limit pass again, and does an untrue assertion weigh more than a failure?"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.contracts.spec import parse_spec
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.sandbox.api import ExecutionLimits, ExecutionReport, ExecutionStatus
from earnest.effects.outside.probes.api import Reading
from earnest.foundation.errors import Faulty, Unavailable
from earnest.testing.check_conformance import CheckCase, CheckConformance, ScriptedSandbox, write
from earnest.verification.checks.probe import CHECK as PROBE
from earnest.verification.intake import FILE_NAME, FORMAT, contradictions
from earnest.verification.registry import Registry
from earnest.verification.repeat import is_at_a_boundary
from earnest.verification.replay import trust_key
from earnest.verification.service import Verifier
from earnest.verification.verdict import Answer, Cause, FailureClass, Verdict

DONE = ExecutionReport(status=ExecutionStatus.DONE, exit_code=0, stdout=b"3")
STDOUT = CheckSpec(kind="stdout", config={"program": ["p"], "cases": [{"expected": "3"}]})
LIST = CheckSpec(kind="json_list", config={"path": "s.json"})


class ScriptedProbes:
    """Probes with one value each; an outage where there is none."""

    names = ("inbox", "down")

    def __init__(self, inbox: int) -> None:
        self._inbox = inbox

    async def measure(self, name: str) -> Reading:
        if name != "inbox":
            raise Unavailable(f"the probe {name!r}: nobody answers")
        return Reading(value=self._inbox, as_expected=self._inbox > 0, expectation="at least 1")


class TestProbe(CheckConformance):
    @pytest.fixture
    def case(self) -> CheckCase:
        return CheckCase(check=PROBE, config={"probe": "inbox"}, submission={}, probes=ScriptedProbes(3))


async def judged(tmp_path: Path, check: CheckSpec, files: dict[str, bytes], **options: object) -> Verdict:
    settings: dict[str, object] = {"sandbox": None, "clock": VirtualClock(), **options}
    verifier = Verifier(registry=Registry(), **settings)  # type: ignore[arg-type]
    return await verifier.verify([Criterion(id="C1", text="x", check=check)], write(tmp_path / "given", files))


@pytest.mark.parametrize(
    "report",
    [
        replace(DONE, wall_ms=9_000),
        replace(DONE, cpu_ms=9_999),
        replace(DONE, memory_peak_bytes=ExecutionLimits().memory_bytes),
        replace(DONE, stderr=b"x" * 1024 * 1024),
    ],
)
async def test_a_pass_close_to_a_limit_must_be_repeated(tmp_path: Path, report: ExecutionReport) -> None:
    assert is_at_a_boundary(report, ExecutionLimits())
    twice = ScriptedSandbox(lambda _: report)
    verdict = await judged(tmp_path / "1", STDOUT, {}, sandbox=twice)
    assert (verdict.answer, len(twice.asked)) == (Answer.VERIFIED, 2)
    assert verdict.criteria[0].reason.startswith("passed 2 times")
    once = ScriptedSandbox(lambda _: report if len(once.asked) == 1 else replace(DONE, stdout=b"4"))
    assert (await judged(tmp_path / "2", STDOUT, {}, sandbox=once)).answer is Answer.NOT_VERIFIED
    over = ScriptedSandbox(lambda _: report if len(over.asked) == 1 else replace(DONE, timed_out=True))
    assert (await judged(tmp_path / "3", STDOUT, {}, sandbox=over)).answer is Answer.NOT_VERIFIED


async def test_a_pass_within_all_limits_is_not_repeated(tmp_path: Path) -> None:
    sandbox = ScriptedSandbox(lambda _: replace(DONE, wall_ms=8_999))
    assert (await judged(tmp_path, STDOUT, {}, sandbox=sandbox)).answer is Answer.VERIFIED
    assert len(sandbox.asked) == 1


def failing_at(wrong: int) -> ScriptedSandbox:
    sandbox = ScriptedSandbox(lambda _: replace(DONE, stdout=b"4" if len(sandbox.asked) == wrong else b"3"))
    return sandbox


async def test_a_flaky_answer_is_never_rounded_up(tmp_path: Path) -> None:
    for wrong in range(1, 5):
        flaky = failing_at(wrong)
        verdict = await judged(tmp_path / str(wrong), replace(STDOUT, repeat=4), {}, sandbox=flaky)
        assert (verdict.answer, len(flaky.asked)) == (Answer.NOT_VERIFIED, wrong)


def test_how_often_stands_beside_the_config() -> None:
    check = "{kind: files, required: [a], repeat: 3}"
    text = f"format: earnest-spec-v1\ntitle: t\ntext: t\ncriteria: [{{text: x, check: {check}}}]"
    (criterion,) = parse_spec(text, "s").criteria
    assert criterion.check is not None
    assert (criterion.check.repeat, dict(criterion.check.config)) == (3, {"required": ("a",)})
    with pytest.raises(Faulty, match="must be 1 to 10, is 11"):
        parse_spec(text.replace("3}", "11}"), "s")


def asserting(**values: object) -> dict[str, bytes]:
    form = {"format": FORMAT, "assertions": {"C1": values}}
    return {"s.json": b"[1, 2, 3]", FILE_NAME: json.dumps(form).encode()}


async def test_an_untrue_assertion_is_a_contradiction(tmp_path: Path) -> None:
    true = await judged(tmp_path / "1", LIST, asserting(items=3))
    assert (true.answer, true.contradiction) == (Answer.VERIFIED, False)
    untrue = await judged(tmp_path / "2", LIST, asserting(items=30))
    assert (untrue.answer, untrue.contradiction) == (Answer.NOT_VERIFIED, True)
    assert untrue.criteria[0].failure_class is FailureClass.LOGICAL
    assert "it was asserted that items is 30" in untrue.criteria[0].reason


async def test_what_was_not_measured_contradicts_nothing(tmp_path: Path) -> None:
    assert (await judged(tmp_path / "1", LIST, asserting(rows=3, quality="high"))).answer is Answer.VERIFIED
    failed = await judged(tmp_path / "2", CheckSpec(kind="json_list", config={"path": "no.json"}), asserting(items=3))
    assert (failed.answer, failed.contradiction) == (Answer.NOT_VERIFIED, False)
    nobody = await judged(tmp_path / "3", STDOUT, asserting(exit_code=0))
    assert (nobody.answer, nobody.contradiction) == (Answer.UNCLEAR, False)


async def test_an_outage_is_no_contradiction_and_a_measurement_may_be(tmp_path: Path) -> None:
    probes = ScriptedProbes(3)
    down = await judged(
        tmp_path / "1", CheckSpec(kind="probe", config={"probe": "down"}), asserting(value=9), probes=probes
    )
    assert (down.answer, down.contradiction, down.criteria[0].cause) == (Answer.UNCLEAR, False, Cause.VERIFIER)
    none = await judged(tmp_path / "2", CheckSpec(kind="probe", config={"probe": "inbox"}), asserting(value=9))
    assert (none.answer, none.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER)
    lied = await judged(
        tmp_path / "3", CheckSpec(kind="probe", config={"probe": "inbox"}), asserting(value=9), probes=probes
    )
    assert (lied.answer, lied.contradiction) == (Answer.NOT_VERIFIED, True)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b'{"format": "earnest-assertions-v1", "assertions": []}',
        b'{"format": "earnest-assertions-v1", "assertions": {"C1": {"items": [3]}}}',
        b'{"format": "earnest-assertions-v1", "assertions": {}, "more": 1}',
        b'{"format": "earnest-assertions-v1", "assertions": {}, "assertions": {}}',
        b" " * 70_000,
    ],
)
async def test_assertions_that_cannot_be_read_are_for_a_person(tmp_path: Path, text: bytes) -> None:
    verdict = await judged(tmp_path, LIST, {"s.json": b"[1]", FILE_NAME: text})
    assert verdict.answer is Answer.UNCLEAR
    assert len(verdict.flags) == 1


def test_equal_numbers_agree_and_truth_is_no_number() -> None:
    assert contradictions({"n": 3, "t": True}, {"n": 3.0, "t": True}) == []
    assert len(contradictions({"n": 1, "t": True}, {"n": True, "t": 1})) == 2


async def test_a_check_that_disagreed_with_itself_decides_nothing_alone(tmp_path: Path) -> None:
    key = trust_key(Registry().check("json_list"), LIST)
    for name, text in (("good", b"[1]"), ("bad", b"{}")):
        verdict = await judged(tmp_path / name, LIST, {"s.json": text}, distrusted=[key])
        assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER)
    assert (
        await judged(tmp_path / "v2", LIST, {"s.json": b"[1]"}, distrusted=["json_list/0"])
    ).answer is Answer.VERIFIED


def test_a_flaky_program_cripples_one_check_and_not_its_kind() -> None:
    check = Registry().check("stdout")
    other = replace(STDOUT, config={**STDOUT.config, "program": ["q"]})
    assert trust_key(check, STDOUT) != trust_key(check, other)
    assert trust_key(Registry().check("json_list"), LIST) == f"json_list/{Registry().check('json_list').version}"
