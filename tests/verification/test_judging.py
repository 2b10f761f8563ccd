"""Does the verifier turn whatever a check does into a verdict, and show every fault of a config?"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.contracts.playbook_reading import parse_playbook
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.sandbox.api import MIB, Execution, ExecutionReport, ExecutionStatus, Mount
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Faulty, Refused, Unavailable
from earnest.testing.check_conformance import ScriptedSandbox
from earnest.verification.plugin import CheckTools, ConfigFault, Findings, Subject
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.verification.verdict import Answer, Cause, Verdict

Run = Callable[[Subject, CheckTools], Awaitable[Findings]]


class Scripted:
    """A check that does what a function says."""

    kind = "scripted"
    version = 3

    def __init__(self, run: Run, *, runs_code: bool = False) -> None:
        self._run = run
        self.runs_code = runs_code

    def config_faults(self, config: JsonObject, base_folder: Path | None) -> Sequence[ConfigFault]:
        if "crash" in config:
            raise ValueError("crash")
        return [ConfigFault("bad", "is bad")] if "bad" in config else []

    async def run(self, config: JsonObject, subject: Subject, tools: CheckTools) -> Findings:
        return await self._run(subject, tools)


async def passes(subject: Subject, tools: CheckTools) -> Findings:
    return Findings(passed=True, reason="fine")


def criterion(identity: str = "C1", /, **config: object) -> Criterion:
    return Criterion(id=identity, text="x", check=CheckSpec(kind="scripted", config=config))  # type: ignore[arg-type]


def verifier(run: Run, *, runs_code: bool = False, **options: object) -> Verifier:
    settings = {"sandbox": None, "clock": VirtualClock(), **options}
    return Verifier(registry=Registry({"scripted": Scripted(run, runs_code=runs_code)}), **settings)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    given = tmp_path / "given"
    given.mkdir()
    (given / "a").write_bytes(b"a")
    return given


async def raises(error: BaseException) -> Findings:
    raise error


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        Refused("no", "x"),
        Unavailable("x"),
        SystemExit(0),
        MemoryError(),
        RecursionError(),
        TimeoutError(),
    ],
)
async def test_whatever_a_check_raises_is_unclear(folder: Path, error: BaseException) -> None:
    verdict = await verifier(lambda subject, tools: raises(error)).verify([criterion()], folder)
    assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER)


@pytest.mark.parametrize("answer", [None, True, "verified", {"passed": True}])
async def test_what_is_no_finding_is_unclear(folder: Path, answer: object) -> None:
    async def answers(subject: Subject, tools: CheckTools) -> Findings:
        return answer  # type: ignore[return-value]

    assert (await verifier(answers).verify([criterion()], folder)).answer is Answer.UNCLEAR


async def test_a_check_that_does_not_answer_in_time_is_unclear(folder: Path) -> None:
    async def waits(subject: Subject, tools: CheckTools) -> Findings:
        await asyncio.Event().wait()
        return Findings(passed=True, reason="late")

    verdict = await verifier(waits, check_wall_ms=1).verify([criterion()], folder)
    assert "within 1 ms" in verdict.criteria[0].reason
    assert verdict.answer is Answer.UNCLEAR


async def test_a_swap_during_the_check_is_unclear(folder: Path) -> None:
    async def swaps(subject: Subject, tools: CheckTools) -> Findings:
        (subject.snapshot.folder / "a").write_bytes(b"better")
        return Findings(passed=True, reason="fine")

    verdict = await verifier(swaps).verify([criterion("C1"), criterion("C2")], folder)
    assert {found.answer for found in verdict.criteria} == {Answer.UNCLEAR}


async def test_a_swap_of_the_folder_changes_nothing(folder: Path) -> None:
    async def swaps(subject: Subject, tools: CheckTools) -> Findings:
        (folder / "a").write_bytes(b"worse")
        return Findings(passed=(subject.snapshot.folder / "a").read_bytes() == b"a", reason="fine")

    assert (await verifier(swaps).verify([criterion()], folder)).answer is Answer.VERIFIED


async def test_what_is_laid_out_for_us_alone_is_judged_where_it_lies_and_removed() -> None:
    seen: list[Subject] = []

    def lay_out(scratch: Path) -> tuple[Path, Path]:
        for name in ("work", "base"):
            (scratch / name).mkdir()
        (scratch / "work" / "a").write_bytes(b"a")
        return scratch / "work", scratch / "base"

    async def looks(subject: Subject, tools: CheckTools) -> Findings:
        seen.append(subject)
        return Findings(passed=(subject.snapshot.folder / "a").read_bytes() == b"a", reason="fine")

    async def swaps(subject: Subject, tools: CheckTools) -> Findings:
        (subject.snapshot.folder / "a").write_bytes(b"better")
        return Findings(passed=True, reason="fine")

    assert (await verifier(looks).verify([criterion()], lay_out)).answer is Answer.VERIFIED
    assert seen[0].base_folder == seen[0].snapshot.folder.with_name("base")
    assert not seen[0].snapshot.folder.parent.exists()
    assert (await verifier(swaps).verify([criterion()], lay_out)).answer is Answer.UNCLEAR


async def test_what_is_laid_out_is_taken_in_as_strictly_as_what_is_brought() -> None:
    def lay_out(scratch: Path) -> tuple[Path, None]:
        (scratch / "work").mkdir()
        (scratch / "work" / "link").symlink_to("/etc/passwd")
        return scratch / "work", None

    verdict = await verifier(passes).verify([criterion()], lay_out)
    assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.EVIDENCE)


async def test_what_cannot_be_taken_in_is_unclear_for_want_of_evidence(folder: Path) -> None:
    (folder / "link").symlink_to("/etc/passwd")
    verdict = await verifier(passes).verify([criterion()], folder)
    assert (verdict.answer, verdict.criteria[0].cause, verdict.snapshot) == (Answer.UNCLEAR, Cause.EVIDENCE, "")
    assert "'link' is a symbolic link" in verdict.criteria[0].reason


async def test_one_failure_does_not_hide_the_others(folder: Path) -> None:
    async def second_fails(subject: Subject, tools: CheckTools) -> Findings:
        order.append(len(order))
        return Findings(passed=len(order) != 2, reason="counted")

    order: list[int] = []
    verdict = await verifier(second_fails, parallel=1).verify([criterion(f"C{at}") for at in (1, 2, 3)], folder)
    assert [found.answer.value for found in verdict.criteria] == ["verified", "not_verified", "verified"]
    assert verdict.answer is Answer.NOT_VERIFIED
    assert verdict.check_versions == {"scripted": 3}


async def test_no_more_checks_run_at_once_than_allowed(folder: Path) -> None:
    running, most = 0, 0

    async def counts(subject: Subject, tools: CheckTools) -> Findings:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1
        return Findings(passed=True, reason="fine")

    await verifier(counts, parallel=2).verify([criterion(f"C{at}") for at in range(6)], folder)
    assert most == 2


async def test_an_open_flag_makes_the_whole_unclear(folder: Path) -> None:
    async def flags(subject: Subject, tools: CheckTools) -> Findings:
        return Findings(passed=True, reason="fine", flags=("hidden text",))

    verdict = await verifier(flags).verify([criterion()], folder)
    assert (verdict.answer, verdict.flags) == (Answer.UNCLEAR, ("hidden text",))


async def test_code_is_run_only_in_a_sandbox_that_holds(folder: Path) -> None:
    async def runs(subject: Subject, tools: CheckTools) -> Findings:
        report = await tools.sandbox.run(Execution(profile="verify", argv=("true",)))  # type: ignore[arg-type]
        return Findings(passed=True, reason="fine", reports=(report,))

    async def verdict(sandbox: ScriptedSandbox | None, *, runs_code: bool = True) -> Verdict:
        return await verifier(runs, runs_code=runs_code, sandbox=sandbox).verify([criterion()], folder)

    fallen = ScriptedSandbox(green=False)
    assert (await verdict(ScriptedSandbox())).answer is Answer.VERIFIED
    assert (await verdict(None)).answer is Answer.UNCLEAR
    assert (await verdict(fallen)).answer is Answer.UNCLEAR
    assert fallen.asked == []
    liar = ScriptedSandbox()
    assert (await verdict(liar, runs_code=False)).answer is Answer.UNCLEAR
    assert liar.asked == []


async def test_a_self_test_that_breaks_is_not_passed(folder: Path) -> None:
    class Broken(ScriptedSandbox):
        async def self_test(self, _max_age_ms: int = 0, /) -> object:  # type: ignore[override]
            raise OSError("no namespaces")

    verdict = await verifier(passes, runs_code=True, sandbox=Broken()).verify([criterion()], folder)
    assert "no namespaces" in verdict.criteria[0].reason


async def test_a_criterion_without_a_check_waits_for_somebody(folder: Path) -> None:
    verdict = await verifier(passes).verify([Criterion(id="C1", text="it is beautiful")], folder)
    assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER)


async def test_nothing_required_proves_nothing(folder: Path) -> None:
    assert (await verifier(passes).verify([], folder)).answer is Answer.UNCLEAR


@pytest.mark.parametrize("key", ["bad", "crash"])
async def test_a_faulty_config_is_unclear_and_never_run(folder: Path, key: str) -> None:
    verdict = await verifier(passes).verify([criterion("C1", **{key: 1})], folder)
    assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER)


def test_only_a_config_without_faults_is_remembered_and_none_that_names_files(tmp_path: Path) -> None:
    looks: list[JsonObject] = []

    class Counted(Scripted):
        def config_faults(self, config: JsonObject, base_folder: Path | None) -> Sequence[ConfigFault]:
            looks.append(config)
            return super().config_faults(config, base_folder)

    judge = Verifier(registry=Registry({"scripted": Counted(passes)}), sandbox=None, clock=VirtualClock())
    for spec in (CheckSpec(kind="scripted", config={"a": 1}), CheckSpec(kind="scripted", config={"bad": 1})):
        assert [len(judge.check_faults(spec)) for _ in range(2)] == [len(spec.config.keys() & {"bad"})] * 2
    assert [list(config) for config in looks] == [["a"], ["bad"], ["bad"]]
    judge.check_faults(CheckSpec(kind="scripted", config={"a": 1}), tmp_path)
    judge.check_faults(CheckSpec(kind="scripted", config={"a": 2}))
    assert len(looks) == 5


def check(kind: str, limits: JsonObject | None = None, **config: object) -> Criterion:
    return Criterion(id="C1", text="x", check=CheckSpec(kind=kind, config=config, limits=limits))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (check("fils"), "unknown check kind 'fils'; known kinds: checklist, command, diff, files"),
        (check("files", limits={"wall_s": 1}, required=["a"]), "runs nothing: remove the limits"),
        (check("command", limits={"wall_s": 0}, command="a"), "limits.wall_s: must be 1 to 3600, is 0"),
        (check("command", limits={"walls": 1}, command="a"), "did you mean 'wall_s'?"),
        (check("files", required=["/a"]), "required[0]: '/a' must be a relative path"),
    ],
)
def test_faults_of_checks_are_diagnostics(given: Criterion, message: str) -> None:
    judge = Verifier(registry=Registry(), sandbox=None, clock=VirtualClock())
    assert any(message in str(fault) for fault in judge.config_faults([given], "s.yaml"))


def test_a_playbook_shows_faults_of_its_checks_on_their_lines() -> None:
    text = """format: earnest-playbook-v1
intent: x
task_class: x
criteria:
  - text: x
    check:
      kind: files
      required:
        - path: a
          regexp: x
        - path: /b
subtasks: []
"""
    judge = Verifier(registry=Registry(), sandbox=None, clock=VirtualClock())
    with pytest.raises(Faulty) as caught:
        parse_playbook(text, "p.yaml", check_faults=judge.check_faults)
    lines = [str(fault) for fault in caught.value.diagnostics]
    assert any(line.startswith("p.yaml:9: ") and "did you mean 'regex'?" in line for line in lines), lines
    assert any(line.startswith("p.yaml:11: ") and "'/b' must be a relative path" in line for line in lines), lines
    assert any(line.startswith("p.yaml:12: ") for line in lines), lines


async def test_limits_and_inputs_reach_the_sandbox(folder: Path) -> None:
    sandbox = ScriptedSandbox(lambda _: ExecutionReport(status=ExecutionStatus.DONE, exit_code=0))
    judge = Verifier(registry=Registry(), sandbox=sandbox, clock=VirtualClock())
    mount = Mount(source=folder, target="source")
    given = check("command", limits={"wall_s": 2, "memory_mb": 64, "stdout_kb": 3}, command=["a"])
    verdict = await judge.verify([given], folder, mounts=[mount], trusted_workspace=True)
    (asked,) = sandbox.asked
    assert verdict.answer is Answer.VERIFIED
    assert (asked.limits.wall_ms, asked.limits.memory_bytes, asked.limits.output_bytes) == (2_000, 64 * MIB, 3_072)
    assert asked.mounts == (mount,)
    assert asked.work != folder


def test_a_kind_offered_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    points = [EntryPoint("files", f"package{at}:CHECK", "earnest.checks") for at in (1, 2)]
    monkeypatch.setattr("earnest.verification.registry._offered", lambda: points)
    with pytest.raises(Refused) as caught:
        Registry().check("files")
    assert caught.value.code == "duplicate_check"


@pytest.mark.parametrize("value", ["no.such.module:CHECK", "json:loads", "earnest.verification.checks.stdout:CHECK"])
def test_what_is_no_such_check_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    from importlib.metadata import EntryPoint

    points = [EntryPoint("files", value, "earnest.checks")]
    monkeypatch.setattr("earnest.verification.registry._offered", lambda: points)
    with pytest.raises(Refused) as caught:
        Registry().check("files")
    assert caught.value.code == "bad_check"
