"""Do the checks that run code decide rightly when code really runs?"""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.effects.clock import SystemClock
from earnest.effects.sandbox.api import Sandbox, SandboxSettings
from earnest.effects.sandbox.available import open_sandbox
from earnest.foundation.canonical import JsonObject
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.verification.verdict import Answer, Verdict

HONEST = b"import sys\nprint(sum(int(c) for c in sys.argv[1] if c.isdigit()))\n"
STDOUT: JsonObject = {
    "program": ["python3", "digits.py"],
    "cases": [{"args": ["12"], "expected": "3\n"}, {"args": ["907"], "expected_file": "16.txt"}],
}


@pytest.fixture
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
