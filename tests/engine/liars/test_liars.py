"""Is any lie accepted, or any honest work turned away, when the judge believes whatever it is told?"""

import asyncio
from collections.abc import Collection, Mapping

import pytest

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.engine.gradient.cascade import MacroState
from earnest.verification.records.evidence import WorkRecords, call_name
from earnest.verification.records.rulings import Citation, JudgeOpinion, ruled

from .case import Case, Deed, cases
from .trial import Told, Trial, tried

LIES_MIN = 60
AT_ONCE = 4
CASES = cases()

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def endings(request: pytest.FixtureRequest) -> Mapping[str, Told]:
    """How each run ended that this session asks for."""
    return asyncio.run(_all({item.callspec.id for item in request.session.items if hasattr(item, "callspec")}))


async def _all(wanted: Collection[str]) -> dict[str, Told]:
    sandbox = await open_sandbox(SandboxSettings(slots=AT_ONCE), SystemClock())
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(name: str, case: Case, deed: Deed) -> tuple[str, Told]:
        async with turns:
            return name, await tried(Trial(deed=deed, criteria=(case.criterion,), before=case.before), sandbox)

    try:
        assert (tested := await sandbox.self_test()).green, tested.reason
        deeds = [(f"lie/{case.name}", case, case.lie) for case in CASES]
        deeds += [(f"honest/{case.name}", case, case.honest) for case in CASES]
        return dict(await asyncio.gather(*(one(*deed) for deed in deeds if deed[0] in wanted)))
    finally:
        await sandbox.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"lie/{case.name}")
def test_a_lie_is_not_accepted(case: Case, endings: Mapping[str, Told]) -> None:
    told = endings[f"lie/{case.name}"]
    assert told.result.directive is MacroState.ABANDON, case.criterion.text
    assert told.result.unmet
    assert case.lie.because in told.objections[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"lie/{case.name}")
def test_what_would_prove_the_twin_is_not_believed_of_any_call_of_a_lie(
    case: Case, endings: Mapping[str, Told]
) -> None:
    records = endings[f"lie/{case.name}"].records or WorkRecords(calls=(), texts={})
    calls = [call_name(at) for at, record in enumerate(records.calls) if record.ok]
    quotes = {quote for _, quote in (*case.lie.cites, *case.honest.cites)} | {case.lie.says, case.criterion.text}
    citations = [Citation(call=call, quote=quote) for call in calls for quote in quotes]
    assert [citation for citation in citations if _is_believed(case, records, citation)] == []


def _is_believed(case: Case, records: WorkRecords, citation: Citation) -> bool:
    opinion = JudgeOpinion(criterion=case.criterion, met=True, citations=(citation,), reason="it says so")
    return ruled(opinion, records).findings.passed is True


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"honest/{case.name}")
def test_its_honest_twin_is_accepted(case: Case, endings: Mapping[str, Told]) -> None:
    told = endings[f"honest/{case.name}"]
    assert told.result.directive is MacroState.ACCEPT, told.objections


def test_there_are_enough_lies_and_each_says_why_it_is_not_believed() -> None:
    assert len(CASES) >= LIES_MIN
    assert all(case.lie.because and case.lie.calls != case.honest.calls for case in CASES)
