"""Criteria without a check: a model says what it finds by the records, code rules on that."""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from earnest.contracts.criterion import Criterion
from earnest.effects.hands.tools.record import ToolRecord
from earnest.effects.hands.workspace.snapshot import Snapshot
from earnest.engine.model.judge import Measure, ModelJudge
from earnest.engine.ports import RoleModel, Unanswered
from earnest.verification.core import Measured, conclude
from earnest.verification.paths import read_entry
from earnest.verification.records.evidence import FileText, WorkRecords
from earnest.verification.records.rulings import JudgeOpinion, ruled
from earnest.verification.verdict import Answer, CriterionVerdict

CHECK: Final = "records/1"
"""Stands in the verdict on a criterion that a model judged by the records."""
TEXT_BYTES_MAX: Final = 256 * 1024
ALL_TEXT_BYTES_MAX: Final = 2 * 1024 * 1024


@dataclass(slots=True)
class Hearing:
    """One judgement of these criteria by these calls. `inputs` are the places that the work could only read.

    `former` are the paths that other work of the run has changed. With `measure` the model may measure for itself.
    """

    mind: ModelJudge
    criteria: Sequence[Criterion]
    calls: tuple[ToolRecord, ...]
    inputs: tuple[str, ...]
    former: frozenset[str] = frozenset()
    measure: Measure | None = None
    _texts: dict[str, FileText] = field(default_factory=dict)
    _measured: tuple[ToolRecord, ...] = ()

    def about(self, criteria: Sequence[Criterion]) -> "Hearing | None":
        """The same for these criteria alone; None if there are none."""
        return replace(self, criteria=criteria) if criteria else None

    def take_in(self, snapshot: Snapshot) -> None:
        """Read the files that successful calls changed and that are text, as far as they fit. Raises `Broken`."""
        changed = {change.path for call in self.calls if call.ok for change in call.changed}
        left_bytes = ALL_TEXT_BYTES_MAX
        for entry in snapshot.entries:
            if entry.path in changed and entry.size_bytes <= min(TEXT_BYTES_MAX, left_bytes):
                left_bytes -= entry.size_bytes
                data = read_entry(snapshot, entry)
                with contextlib.suppress(UnicodeDecodeError):
                    if b"\0" not in data:
                        self._texts[entry.path] = FileText(digest=entry.digest, text=data.decode())

    async def opinions(self, output: str, model: RoleModel) -> tuple[JudgeOpinion, ...] | str:
        """What the model says, or why it says nothing that counts: that is our failure, and costs nobody anything."""
        try:
            measure = self._measuring if self.measure else None
            return await self.mind.opinions(self.criteria, self._records(), output, model, measure)
        except Unanswered as error:
            return str(error) or "the judge gave no answer"

    async def verdicts(self, output: str, model: RoleModel) -> tuple[CriterionVerdict, ...]:
        """What follows from the model's opinions; without any, that all is unclear."""
        opinions = await self.opinions(output, model)
        return await asyncio.to_thread(lambda: tuple(self._ruled(opinions)))

    async def _measuring(self, commands: Sequence[str]) -> tuple[ToolRecord, ...]:
        assert self.measure is not None
        self._measured = await self.measure(commands)
        return self._measured

    def _records(self) -> WorkRecords:
        return WorkRecords(
            calls=self.calls,
            texts=self._texts,
            inputs=self.inputs,
            former=self.former,
            measured=self._measured if self.measure else None,
        )

    def _ruled(self, opinions: tuple[JudgeOpinion, ...] | str) -> Iterator[CriterionVerdict]:
        """Each file was compared with its digest when it was read, so what was judged is what was taken in."""
        if isinstance(opinions, str):
            for criterion in self.criteria:
                yield conclude(Measured(criterion=criterion, check=CHECK, problem=opinions))
            return
        records = self._records()
        for opinion in opinions:
            ruling = ruled(opinion, records)
            verdict = conclude(
                Measured(
                    criterion=opinion.criterion,
                    check=CHECK,
                    runs_code=False,
                    findings=ruling.findings,
                    snapshot_intact=True,
                    calls=ruling.calls,
                )
            )
            yield replace(verdict, judged_only=verdict.answer is Answer.VERIFIED and not ruling.measured)
