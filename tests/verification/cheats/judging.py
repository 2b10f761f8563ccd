"""What comes out when cases are judged, all through one sandbox and each within its deadline?"""

import asyncio
import contextlib
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from earnest.contracts.spec import parse_spec
from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.hands.sandbox.api import Sandbox, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.outside.llm.api import Endpoint
from earnest.effects.outside.llm.openai_compatible import OpenAICompatible
from earnest.foundation.canonical import JsonObject
from earnest.testing import scripted_judge
from earnest.testing.model_server import ModelServer
from earnest.verification.plugin import Check, CheckTools, ConfigFault, Findings, Judges, Subject
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.verification.verdict import Answer, Verdict

from .case import Case

JUDGES: Final = {one.__name__: one for one in (scripted_judge.approves, scripted_judge.rejects, scripted_judge.obeys)}
AT_ONCE: Final = 4
CASE_DEADLINE_S: Final = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`answer` is None if there is no verdict: `reason` then says why. `shown` is all that a submitter may read."""

    answer: Answer | None
    reason: str
    shown: str = ""


def asked_for(request: pytest.FixtureRequest, cases: Sequence[Case]) -> list[Case]:
    """The cases that this session runs a test for."""
    wanted = {item.callspec.id for item in request.session.items if hasattr(item, "callspec")}
    return [case for case in cases if case.name in wanted]


async def judge_all(
    cases: Iterable[Case], settings: SandboxSettings | None = None, *, is_sandboxed: bool = True
) -> dict[str, Outcome]:
    """The outcome of each case by its name. Without a sandbox it fails, unless that is what is meant."""
    sandbox = await open_sandbox(settings or SandboxSettings(slots=AT_ONCE), SystemClock())
    turns = asyncio.Semaphore(AT_ONCE)

    async def judged(case: Case) -> tuple[str, Outcome]:
        async with turns:
            return case.name, await _judged(case, sandbox)

    try:
        self_test = await sandbox.self_test()
        assert self_test.green is is_sandboxed, self_test
        return dict(await asyncio.gather(*(judged(case) for case in cases)))
    finally:
        await sandbox.close()


async def _judged(case: Case, sandbox: Sandbox) -> Outcome:
    """Whatever goes wrong is an outcome without an answer, so that one case does not hide the others."""
    try:
        async with asyncio.timeout(CASE_DEADLINE_S):
            verdict = await _verdict(case, sandbox)
    except TimeoutError:
        return Outcome(answer=None, reason=f"it hung: no verdict within {CASE_DEADLINE_S} s")
    except Exception as error:
        return Outcome(answer=None, reason=f"no verdict but {type(error).__name__}: {error}")
    reason = "; ".join(f"{line.id} {line.answer}: {line.reason}" for line in verdict.criteria)
    return Outcome(answer=verdict.answer, reason=reason, shown=str(verdict))


async def _verdict(case: Case, sandbox: Sandbox) -> Verdict:
    async with contextlib.AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="earnest-case-"))
        spec_file, submission = case.write(Path(folder))
        verifier = Verifier(
            registry=_registry(case, submission),
            sandbox=sandbox,
            clock=SystemClock(),
            judges=await _judges(case, stack),
        )
        spec = parse_spec(
            spec_file.read_bytes(),
            "spec.yaml",
            check_faults=lambda check: verifier.check_faults(check, spec_file.parent),
        )
        return await verifier.verify(spec.criteria, submission, base_folder=spec_file.parent)


async def _judges(case: Case, stack: contextlib.AsyncExitStack) -> Judges:
    """A model that behaves as the case says, over a real socket; none if it says nothing."""
    if case.judge is None:
        return Judges()
    server = await stack.enter_async_context(ModelServer(JUDGES[case.judge]))
    endpoint = Endpoint(base_url=server.base_url, model="scripted-judge")
    chance = SystemChance()
    return Judges(model=OpenAICompatible(endpoint, clock=SystemClock(), chance=chance), chance=chance)


def _registry(case: Case, submission: Path) -> Registry:
    """The checks there are; those of a case that swaps do so before they begin, which is after the intake."""
    registry = Registry()
    if not case.swap:
        return registry
    kinds = {criterion["check"]["kind"] for criterion in case.spec["criteria"]}
    return Registry({kind: _Swapping(registry.check(kind), submission, case.swap) for kind in kinds})


class _Swapping:
    """A check under which the submission's folder changes once it has been taken in."""

    def __init__(self, check: Check, submission: Path, swap: Mapping[str, str]) -> None:
        self._check = check
        self._submission = submission
        self._swap = swap
        self.kind, self.version, self.runs_code = check.kind, check.version, check.runs_code

    def config_faults(self, config: JsonObject, base_folder: Path | None) -> Sequence[ConfigFault]:
        return self._check.config_faults(config, base_folder)

    async def run(self, config: JsonObject, subject: Subject, tools: CheckTools) -> Findings:
        for name, text in self._swap.items():
            place = self._submission / name
            place.unlink(missing_ok=True)
            place.write_text(text, encoding="utf-8")
        return await self._check.run(config, subject, tools)
