"""A run's judge: it takes the workspace in, lets checks and a model decide, and remembers what was decided."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from earnest.contracts.criterion import Criterion
from earnest.effects.hands.outside_file import Outside
from earnest.effects.hands.sandbox.api import Mount
from earnest.effects.hands.tools.record import ToolRecord
from earnest.effects.hands.workspace.staging import Workspace
from earnest.engine.ports import RoleModel
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken
from earnest.foundation.shapes import from_json, to_json
from earnest.runtime.run_book import RunBook
from earnest.verification.plugin import Base, Promise
from earnest.verification.service import Verifier
from earnest.verification.verdict import Answer, Cause, CriterionVerdict, Verdict

if TYPE_CHECKING:
    from earnest.engine.model.judge import ModelJudge
    from earnest.runtime.hearing import Hearing


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceJudge:
    """`engine.ports.Judge` for the workspace of one run: checks by the verifier, what has none by `mind`.

    Without a mind, as in a playbook's run, a criterion without a check stays unclear. `look` is given a key and a
    command line, which leaves nothing behind: how the mind measures for itself.
    """

    book: RunBook
    verifier: Verifier
    workspace: Workspace
    base_folder: Path
    inputs: tuple[Mount, ...]
    bases: Mapping[str, Base] = field(default_factory=dict)
    mind: "ModelJudge | None" = None
    outside: Outside | None = None
    look: Callable[[str, str], Awaitable[ToolRecord]] | None = None
    _earlier: dict[str, tuple[ToolRecord, ...]] = field(default_factory=dict)
    _heard: "list[_Heard]" = field(default_factory=list)

    async def judge(
        self, key: str, criteria: Sequence[Criterion], calls: Sequence[ToolRecord], *, output: str, model: RoleModel
    ) -> tuple[CriterionVerdict, ...]:
        """See `engine.ports.Judge`. Judging only reads, so it has no intent: what was not recorded is judged again.

        A model is asked although the verdicts are kept: its answer is kept too, and is told again.
        """
        if not criteria:
            return ()
        unchecked = [criterion for criterion in criteria if criterion.check is None]
        everything = self._all_calls(key, calls)
        hearing = self._hearing(key, unchecked, everything)
        decided = self.book.outcome(key)
        if decided is not None:
            kept = from_json(tuple[CriterionVerdict, ...], decided["verdicts"], "the verdicts of a run")
            snapshot = str(decided["snapshot"])
            if hearing and snapshot and (open_ones := hearing.about(self._unheard(unchecked, everything, snapshot))):
                await open_ones.opinions(output, model)
            self._heard.append(_Heard(everything, snapshot, _by_text(unchecked, kept)))
            return kept
        async with self.workspace.held() as seen:
            verdict = await self.verifier.verify(
                criteria,
                self.workspace.folder,
                base_folder=self.base_folder,
                mounts=self.inputs,
                bases=self.bases,
                trusted_workspace=True,
                calls=calls,
                promise=Promise(origin=self.book.run_id),
                outside=self.outside,
                keep=(lambda snapshot, _: hearing.take_in(snapshot)) if hearing else None,
                seen=seen,
            )
        verdicts = verdict.criteria
        if not verdict.snapshot and verdicts[0].cause is Cause.VERIFIER:  # which says nothing about the work
            raise Broken(verdicts[0].reason)
        if hearing and verdict.snapshot:
            known = self._known(everything, verdict.snapshot)
            verdicts = _merged(verdicts, (replace(known[c.text], id=c.id) for c in unchecked if c.text in known))
            if open_ones := hearing.about(self._unheard(unchecked, everything, verdict.snapshot)):
                verdicts = _merged(verdicts, await open_ones.verdicts(output, model))
        self._heard.append(_Heard(everything, verdict.snapshot, _by_text(unchecked, verdicts)))
        self.book.note(key, _body(verdict, verdicts))
        return verdicts

    def _known(self, calls: tuple[ToolRecord, ...], snapshot: str) -> Mapping[str, CriterionVerdict]:
        """What a model said of the same work by the same records, by the criterion's text: it is not asked twice."""
        return next((one.verdicts for one in self._heard[::-1] if (one.calls, one.snapshot) == (calls, snapshot)), {})

    def _unheard(
        self, criteria: Sequence[Criterion], calls: tuple[ToolRecord, ...], snapshot: str
    ) -> Sequence[Criterion]:
        known = self._known(calls, snapshot)
        return [criterion for criterion in criteria if criterion.text not in known]

    async def _measured(self, key: str, commands: Sequence[str]) -> tuple[ToolRecord, ...]:
        """What the commands put out, kept with the verdict: a resumed run's judge is shown the same again."""
        assert self.look is not None
        kept = self.book.outcome(key)
        if kept is not None:
            given = kept["records"]
            assert isinstance(given, Sequence)
            return tuple(map(ToolRecord.from_json, given))
        records = [await self.look(f"{key}/{number}", command) for number, command in enumerate(commands, start=1)]
        await self.book.conclude(key, {"records": [record.to_json() for record in records]})
        return tuple(records)

    def _hearing(self, key: str, criteria: Sequence[Criterion], calls: tuple[ToolRecord, ...]) -> "Hearing | None":
        if self.mind is None or not criteria:
            return None
        from earnest.runtime.hearing import Hearing  # noqa: PLC0415 - no playbook needs it

        inputs = tuple(mount.target for mount in self.inputs)
        others = (call for work in self._earlier.values() for call in work if call not in calls)
        former = frozenset(change.path for call in others if call.ok for change in call.changed)
        measure = partial(self._measured, f"{key}/measured") if self.look else None
        return Hearing(self.mind, criteria, calls, inputs=inputs, former=former, measure=measure)

    def _all_calls(self, key: str, calls: Sequence[ToolRecord]) -> tuple[ToolRecord, ...]:
        """With those of the executions that these correct: what they did stands. `r1/count/a2/verdict` names one."""
        work, execution, _ = key.rsplit("/", 2) if key.count("/") == 3 else (key, "", "")
        if not execution:
            return tuple(calls)
        self._earlier[work] = (*self._earlier.get(work, ()), *calls)
        return self._earlier[work]


@dataclass(frozen=True, slots=True)
class _Heard:
    """One judgement: what it rested on, and what was said of criteria without a check."""

    calls: tuple[ToolRecord, ...]
    snapshot: str
    verdicts: Mapping[str, CriterionVerdict]


def _by_text(criteria: Sequence[Criterion], verdicts: Iterable[CriterionVerdict]) -> dict[str, CriterionVerdict]:
    """What could be told; an answer that failed for want of a judge is asked for again."""
    given = {verdict.id: verdict for verdict in verdicts if verdict.answer is not Answer.UNCLEAR}
    return {criterion.text: given[criterion.id] for criterion in criteria if criterion.id in given}


def _merged(verdicts: Sequence[CriterionVerdict], judged: Iterable[CriterionVerdict]) -> tuple[CriterionVerdict, ...]:
    by_id = {verdict.id: verdict for verdict in judged}
    return tuple(by_id.get(verdict.id, verdict) for verdict in verdicts)


def _body(verdict: Verdict, verdicts: tuple[CriterionVerdict, ...]) -> JsonObject:
    return {
        "verdicts": [to_json(one) for one in verdicts],
        "snapshot": verdict.snapshot,
        "sandbox": verdict.sandbox,
        "check_versions": dict(verdict.check_versions),
    }
