"""The promises of a check. Subclass `CheckConformance` with a `case` fixture; pytest runs the sentences."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.sandbox.api import Execution, ExecutionReport, ExecutionStatus, Probe, Sandbox, SelfTest
from earnest.effects.outside.probes.api import Probes
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.names import is_slug
from earnest.verification.plugin import Check, is_reproducible, lint_faults
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.verification.verdict import Answer, Cause, Verdict

JUNK: Final[Sequence[JsonValue]] = (None, True, -1, 1e300, "", "\0", "(", "../x", [], [[]], {}, {"x": {"y": []}})
"""What an author may write by mistake instead of a value."""


class ScriptedSandbox:
    """A sandbox that answers what a function says and remembers what it was asked."""

    description = "scripted"

    def __init__(self, answer: Callable[[Execution], ExecutionReport] | None = None, *, green: bool = True) -> None:
        self.asked: list[Execution] = []
        self.green = green
        self._answer = answer or (lambda _: ExecutionReport(status=ExecutionStatus.DONE, exit_code=0))

    async def run(self, execution: Execution) -> ExecutionReport:
        """See `Sandbox`."""
        self.asked.append(execution)
        return self._answer(execution)

    async def self_test(self, _max_age_ms: int = 0, /) -> SelfTest:
        """See `Sandbox`."""
        return SelfTest(
            provider="scripted", at_ms=VirtualClock().now_ms(), probes=(Probe(name="read", held=self.green),)
        )

    async def close(self) -> None:
        """See `Sandbox`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCase:
    """A check with a config and a submission that satisfies it.

    `beside` are the files beside the spec; `answer` is what the sandbox says, given the execution. A check that can
    never decide over a stranger's work says `trusted_only`; one that asks the world brings `probes`.
    """

    check: Check
    config: JsonObject
    submission: Mapping[str, bytes]
    beside: Mapping[str, bytes] = field(default_factory=dict)
    answer: Callable[[Execution], ExecutionReport] | None = None
    trusted_only: bool = False
    probes: Probes | None = None


class CheckConformance:
    """What every check does."""

    def test_it_says_what_it_is(self, case: CheckCase) -> None:
        """Kind, version and whether it runs code."""
        assert is_slug(case.check.kind)
        assert case.check.version >= 1
        assert isinstance(case.check.runs_code, bool)

    def test_a_good_config_has_no_faults(self, case: CheckCase, tmp_path: Path) -> None:
        """With and without the folder of the spec."""
        write(tmp_path, case.beside)
        assert list(case.check.config_faults(case.config, None)) == []
        assert list(case.check.config_faults(case.config, tmp_path)) == []

    def test_an_empty_and_an_unknown_config_are_faulty(self, case: CheckCase) -> None:
        """Nothing is passed over."""
        assert case.check.config_faults({}, None)
        assert case.check.config_faults({**case.config, "no_such_key": 1}, None)

    def test_a_faulty_config_is_named_and_not_raised(self, case: CheckCase) -> None:
        """Every key with every kind of junk."""
        for key in case.config:
            for junk in JUNK:
                for path, message in case.check.config_faults({**case.config, key: junk}, None):
                    assert isinstance(path, str)
                    assert message

    async def test_good_work_is_verified(self, case: CheckCase, tmp_path: Path) -> None:
        """The honest are not punished."""
        verdict = await judged(case, tmp_path, case.submission, trusted=case.trusted_only)
        assert verdict.answer is Answer.VERIFIED, verdict.criteria[0].reason
        assert verdict.check_versions == {case.check.kind: case.check.version}

    async def test_an_empty_submission_is_not_verified(self, case: CheckCase, tmp_path: Path) -> None:
        """Nothing is no work. Kinds that run code show it in the sandbox, which is scripted here."""
        if not case.check.runs_code and is_reproducible(case.check):
            assert (await judged(case, tmp_path, {})).answer is not Answer.VERIFIED

    async def test_a_junk_submission_is_not_verified(self, case: CheckCase, tmp_path: Path) -> None:
        """The right names with the wrong content are no work."""
        if not case.check.runs_code and is_reproducible(case.check):
            junk = dict.fromkeys(case.submission, b"\xff\x00junk")
            assert (await judged(case, tmp_path, junk)).answer is not Answer.VERIFIED

    def test_a_good_config_leaves_lint_nothing_to_say(self, case: CheckCase, tmp_path: Path) -> None:
        """What a kind knows about empty checks it says of empty checks only."""
        write(tmp_path, case.beside)
        assert list(lint_faults(case.check, case.config, tmp_path)) == []

    def test_limits_are_for_what_runs_code(self, case: CheckCase) -> None:
        """Elsewhere they would be a promise that nobody keeps."""
        verifier = Verifier(registry=Registry({case.check.kind: case.check}), sandbox=None, clock=VirtualClock())
        limited = CheckSpec(kind=case.check.kind, config=case.config, limits={"wall_s": 7})
        assert bool(verifier.check_faults(limited)) is not case.check.runs_code

    async def test_its_limits_reach_the_sandbox(self, case: CheckCase, tmp_path: Path) -> None:
        """What the author bounds is bounded."""
        sandbox = ScriptedSandbox(case.answer)
        if case.check.runs_code:
            await judged(case, tmp_path, case.submission, sandbox=sandbox, limits={"wall_s": 7})
        assert all(asked.limits.wall_ms <= 7_000 for asked in sandbox.asked)

    async def test_it_must_pass_each_time_it_is_repeated(self, case: CheckCase, tmp_path: Path) -> None:
        """Three of three, and never two."""
        once, thrice = ScriptedSandbox(case.answer), ScriptedSandbox(case.answer)
        if not case.check.runs_code or case.answer is None:
            return
        answer = case.answer
        await judged(case, tmp_path / "1", case.submission, sandbox=once, trusted=True)
        verdict = await judged(case, tmp_path / "2", case.submission, sandbox=thrice, trusted=True, repeat=3)
        assert (verdict.answer, len(thrice.asked)) == (Answer.VERIFIED, 3 * len(once.asked))
        flaky = ScriptedSandbox(
            lambda asked: (
                answer(asked)
                if len(flaky.asked) <= 2 * len(once.asked)
                else ExecutionReport(status=ExecutionStatus.DONE, exit_code=99)
            )
        )
        verdict = await judged(case, tmp_path / "3", case.submission, sandbox=flaky, trusted=True, repeat=3)
        assert verdict.answer is not Answer.VERIFIED

    async def test_it_answers_the_same_twice(self, case: CheckCase, tmp_path: Path) -> None:
        """A check that disagrees with itself cannot decide alone."""
        first = await judged(case, tmp_path / "1", case.submission)
        assert await judged(case, tmp_path / "2", case.submission) == first

    async def test_a_sandbox_that_refuses_leaves_it_unclear(self, case: CheckCase, tmp_path: Path) -> None:
        """Our failure is not the submission's."""
        if case.check.runs_code:
            refusing = ScriptedSandbox(lambda _: ExecutionReport(status=ExecutionStatus.REFUSED, reason="no room"))
            verdict = await judged(case, tmp_path, case.submission, sandbox=refusing, trusted=True)
            assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER)

    async def test_a_sandbox_that_breaks_leaves_it_unclear(self, case: CheckCase, tmp_path: Path) -> None:
        """As above, by an exception."""

        def broken(_: Execution) -> ExecutionReport:
            raise RuntimeError("broken")

        if case.check.runs_code:
            verdict = await judged(case, tmp_path, case.submission, sandbox=ScriptedSandbox(broken), trusted=True)
            assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER)

    async def test_a_process_left_over_is_never_verified(self, case: CheckCase, tmp_path: Path) -> None:
        """All executions are reported, none is hidden."""
        if case.check.runs_code and case.answer is not None:
            answer = case.answer

            def leaving(execution: Execution) -> ExecutionReport:
                report = answer(execution)
                return ExecutionReport(
                    status=report.status, exit_code=report.exit_code, stdout=report.stdout, leftovers=1
                )

            verdict = await judged(case, tmp_path, case.submission, sandbox=ScriptedSandbox(leaving), trusted=True)
            assert verdict.answer is not Answer.VERIFIED


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """The folder with these files in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


async def judged(
    case: CheckCase,
    folder: Path,
    submission: Mapping[str, bytes],
    *,
    sandbox: Sandbox | None = None,
    trusted: bool | None = None,
    limits: JsonObject | None = None,
    repeat: int = 1,
) -> Verdict:
    """The verdict on a submission by this one check."""
    verifier = Verifier(
        registry=Registry({case.check.kind: case.check}),
        sandbox=sandbox or ScriptedSandbox(case.answer),
        clock=VirtualClock(),
        probes=case.probes,
    )
    check = CheckSpec(kind=case.check.kind, config=case.config, limits=limits, repeat=repeat)
    criterion = Criterion(id="C1", text="it is right", check=check)
    return await verifier.verify(
        [criterion],
        write(folder / "submission", submission),
        base_folder=write(folder / "spec", case.beside),
        trusted_workspace=case.trusted_only if trusted is None else trusted,
    )
