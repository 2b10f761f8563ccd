"""Do the checks that run code decide rightly when code really runs?"""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import Sandbox, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.foundation.canonical import JsonObject
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.verification.verdict import Answer, Cause, Verdict

HONEST = b"import sys\nprint(sum(int(c) for c in sys.argv[1] if c.isdigit()))\n"
STDOUT: JsonObject = {
    "program": ["python3", "digits.py"],
    "cases": [{"args": ["12"], "expected": "3\n"}, {"args": ["907"], "expected_file": "16.txt"}],
}


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    opened = await open_sandbox(SandboxSettings(), SystemClock())
    test = await opened.self_test()
    if test.problem:
        pytest.skip(test.problem)
    yield opened
    await opened.close()


async def judged(
    sandbox: Sandbox,
    tmp_path: Path,
    config: JsonObject,
    files: Mapping[str, bytes],
    *,
    kind: str = "stdout",
    trusted: bool = False,
    limits: JsonObject | None = None,
) -> Verdict:
    submission, spec = tmp_path / "submission", tmp_path / "spec"
    submission.mkdir()
    spec.mkdir()
    (spec / "16.txt").write_bytes(b"16\n")
    for name, data in files.items():
        (submission / name).write_bytes(data)
    judge = Verifier(registry=Registry(), sandbox=sandbox, clock=SystemClock())
    check = CheckSpec(kind=kind, config=config, limits=limits)
    criteria = [Criterion(id="C1", text="x", check=check)]
    return await judge.verify(criteria, submission, base_folder=spec, trusted_workspace=trusted)


async def test_an_honest_program_is_verified(sandbox: Sandbox, tmp_path: Path) -> None:
    verdict = await judged(sandbox, tmp_path, STDOUT, {"digits.py": HONEST})
    assert verdict.answer is Answer.VERIFIED, verdict.criteria[0].reason
    assert verdict.sandbox == sandbox.description


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"print(3)", id="hard-coded example"),
        pytest.param(HONEST + b"sys.exit(1)", id="right output then failure"),
        pytest.param(HONEST + b"import os; os.kill(os.getpid(), 9)", id="right output then death"),
        pytest.param(b"import os; os._exit(0)", id="early exit"),
        pytest.param(b"print(open('../spec/16.txt').read())", id="reading the expected file"),
        pytest.param(HONEST + b"print()", id="more than asked"),
        pytest.param(b"while True: print('3' * 10000)", id="output bomb"),
        pytest.param(
            HONEST + b"import os, time\nsys.stdout.flush()\nif os.fork() == 0:\n os.setsid(); time.sleep(600)",
            id="daemon",
        ),
    ],
)
async def test_a_cheating_program_is_not_verified(sandbox: Sandbox, tmp_path: Path, program: bytes) -> None:
    verdict = await judged(sandbox, tmp_path, STDOUT, {"digits.py": program}, limits={"wall_s": 3})
    assert verdict.answer is Answer.NOT_VERIFIED, verdict.criteria[0].reason


async def test_a_command_sees_the_work_and_its_exit_code_counts(sandbox: Sandbox, tmp_path: Path) -> None:
    config: JsonObject = {"command": "test -x run.sh || test -f run.sh && cat run.sh", "stdout_contains": "hello"}
    verdict = await judged(sandbox, tmp_path, config, {"run.sh": b"hello"}, kind="command", trusted=True)
    assert verdict.answer is Answer.VERIFIED, verdict.criteria[0].reason


async def test_a_command_cannot_change_what_was_handed_in(sandbox: Sandbox, tmp_path: Path) -> None:
    config: JsonObject = {"command": "echo better > a && cat a", "stdout_contains": "better"}
    verdict = await judged(sandbox, tmp_path, config, {"a": b"worse"}, kind="command", trusted=True)
    assert verdict.answer is Answer.VERIFIED, verdict.criteria[0].reason
    assert (tmp_path / "submission" / "a").read_bytes() == b"worse"


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("command", {"command": "no-such-program --all"}),
        ("command", {"command": ["no-such-program"]}),
        ("command", {"command": "/opt/none/checker work.txt"}),
        ("stdout", {"program": ["no-such-program"], "cases": [{"expected": "3\n"}]}),
    ],
)
async def test_a_program_that_the_sandbox_lacks_is_not_the_works_fault(
    sandbox: Sandbox, tmp_path: Path, kind: str, config: JsonObject
) -> None:
    verdict = await judged(sandbox, tmp_path, config, {"work.txt": b""}, kind=kind, trusted=True)
    (criterion,) = verdict.criteria
    assert (criterion.answer, criterion.cause, criterion.cannot_run) == (Answer.UNCLEAR, Cause.VERIFIER, True)
    assert "no program of the sandbox" in criterion.reason


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("command", {"command": "./run.sh"}),
        ("command", {"command": ["./run.sh"]}),
        ("command", {"command": "sh work.sh"}),
        ("stdout", {"program": ["./run.sh"], "cases": [{"expected": "3\n"}]}),
        ("stdout", {"program": ["sh", "work.sh"], "cases": [{"expected": "3\n"}]}),
    ],
)
async def test_a_program_that_the_work_should_hold_or_an_exit_code_of_its_own_is_its_fault(
    sandbox: Sandbox, tmp_path: Path, kind: str, config: JsonObject
) -> None:
    work = {"work.sh": b"echo sh: 1: sh: not found >&2; exit 127"}
    verdict = await judged(sandbox, tmp_path, config, work, kind=kind, trusted=True)
    assert verdict.answer is Answer.NOT_VERIFIED, verdict.criteria[0].reason


@pytest.mark.slow  # it waits for limits
async def test_what_only_waited_is_tried_again_alone_and_then_unclear(sandbox: Sandbox, tmp_path: Path) -> None:
    work = {"digits.py": b"import time; time.sleep(60)"}
    verdict = await judged(sandbox, tmp_path, STDOUT, work, limits={"wall_s": 1})
    (criterion,) = verdict.criteria
    assert (criterion.answer, criterion.cause) == (Answer.UNCLEAR, Cause.VERIFIER)
    assert "on a processor: it waited, or the machine was busy" in criterion.reason
    assert "tried again alone" in criterion.reason


@pytest.mark.slow  # limits have to be used up
async def test_a_loop_that_uses_up_its_time_on_a_processor_has_failed(sandbox: Sandbox, tmp_path: Path) -> None:
    work = {"digits.py": b"while True: pass"}
    verdict = await judged(sandbox, tmp_path, STDOUT, work, limits={"wall_s": 60, "cpu_s": 1})
    assert verdict.answer is Answer.NOT_VERIFIED, verdict.criteria[0].reason


@pytest.mark.slow
async def test_a_command_of_ones_own_that_takes_too_long_cannot_run(sandbox: Sandbox, tmp_path: Path) -> None:
    config: JsonObject = {"command": "while true; do :; done"}
    verdict = await judged(sandbox, tmp_path, config, {}, kind="command", trusted=True, limits={"wall_s": 1})
    (criterion,) = verdict.criteria
    assert (criterion.answer, criterion.cause, criterion.cannot_run) == (Answer.UNCLEAR, Cause.VERIFIER, True)
