"""One verdict for each criterion, whatever the judge gives back."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from earnest.contracts.criterion import Criterion
from earnest.effects.hands.tools.failures import PASSING_ERRNOS
from earnest.effects.hands.tools.record import ToolRecord
from earnest.engine.ports import BudgetSpent, RoleModel
from earnest.engine.run import EngineRun
from earnest.foundation.errors import Broken
from earnest.verification.verdict import Answer, Cause, CriterionVerdict


async def judge(
    run: EngineRun,
    key: str,
    criteria: Sequence[Criterion],
    calls: Sequence[ToolRecord],
    *,
    output: str,
    model: RoleModel,
) -> tuple[CriterionVerdict, ...]:
    """The verdicts on `criteria`, in order. What a failing judge leaves open is unclear, and nobody's fault.

    Raises `Broken` or `OSError` for a failure of our own, and `BudgetSpent`.
    """
    try:
        with run.effect():
            given = await run.judge.judge(key, criteria, calls, output=output, model=model)
    except (Broken, BudgetSpent):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in PASSING_ERRNOS:
            raise
        return tuple(
            _unclear(criterion, f"the judge failed: {type(error).__name__}: {error}") for criterion in criteria
        )
    return aligned(criteria, given)


def aligned(criteria: Iterable[Criterion], given: Iterable[CriterionVerdict]) -> tuple[CriterionVerdict, ...]:
    """One verdict a criterion: missing and double ones are unclear, those on nothing that was asked are dropped.

    Whether a criterion is required is for the promise to say, not for the judge.
    """
    found: dict[str, list[CriterionVerdict]] = {}
    for verdict in given:
        found.setdefault(verdict.id, []).append(verdict)
    return tuple(_of(criterion, found.get(criterion.id, [])) for criterion in criteria)


def unmet_of(verdicts: Iterable[CriterionVerdict]) -> tuple[CriterionVerdict, ...]:
    """Those that stand against acceptance."""
    return tuple(verdict for verdict in verdicts if verdict.required and verdict.answer is not Answer.VERIFIED)


def _of(criterion: Criterion, verdicts: Sequence[CriterionVerdict]) -> CriterionVerdict:
    if len(verdicts) == 1:
        return replace(verdicts[0], required=criterion.required)
    return _unclear(criterion, f"the judge gave {len(verdicts) or 'no'} verdicts")


def _unclear(criterion: Criterion, reason: str) -> CriterionVerdict:
    return CriterionVerdict(
        id=criterion.id, answer=Answer.UNCLEAR, reason=reason, cause=Cause.VERIFIER, required=criterion.required
    )
