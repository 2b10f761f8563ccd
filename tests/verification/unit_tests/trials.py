"""Submissions judged by hidden tests in the real sandbox, all those of one file at once."""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

import pytest

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.foundation.canonical import JsonObject
from earnest.testing.check_conformance import write
from earnest.verification.checks.unit_tests import CHECK
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.verification.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A submission, `solution.py` and perhaps more, and the hidden tests, `test_it.py` and perhaps more."""

    name: str
    solution: str
    tests: str
    config: JsonObject = field(default_factory=dict)
    limits: JsonObject = field(default_factory=lambda: {"wall_s": 8})
    beside: Mapping[str, str] = field(default_factory=dict)
    hidden: Mapping[str, str] = field(default_factory=dict)


def judge_all(trials: Sequence[Trial]) -> dict[str, Verdict]:
    """The verdicts by name."""
    assert len({trial.name for trial in trials}) == len(trials)
    return asyncio.run(_judge_all(trials))


async def _judge_all(trials: Sequence[Trial]) -> dict[str, Verdict]:
    sandbox = await open_sandbox(SandboxSettings(), SystemClock())
    test = await sandbox.self_test()
    if test.problem:
        pytest.skip(test.problem)
    try:
        verifier = Verifier(registry=Registry({CHECK.kind: CHECK}), sandbox=sandbox, clock=SystemClock())
        with tempfile.TemporaryDirectory() as folder:
            judged = (_judge(verifier, trial, Path(folder) / str(at)) for at, trial in enumerate(trials))
            verdicts = await asyncio.gather(*judged)
    finally:
        await sandbox.close()
    return {trial.name: verdict for trial, verdict in zip(trials, verdicts, strict=True)}


async def _judge(verifier: Verifier, trial: Trial, folder: Path) -> Verdict:
    solution = {"solution.py": trial.solution, **trial.beside}
    tests = {"test_it.py": trial.tests, **trial.hidden}
    hidden: JsonObject = {} if "tests_in_work" in trial.config else {"tests": list(tests)}
    config: JsonObject = {"module": "solution", **hidden, **trial.config}
    criterion = Criterion(id="C1", text="x", check=CheckSpec(kind=CHECK.kind, config=config, limits=trial.limits))
    return await verifier.verify(
        [criterion],
        write(folder / "submission", {name: dedent(text).encode() for name, text in solution.items()}),
        base_folder=write(folder / "spec", {name: dedent(text).encode() for name, text in tests.items()}),
    )
