"""A run's judge: it takes the workspace in, lets checks and a model decide, and remembers what was decided."""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, cast

from pydantic import TypeAdapter

from earnest.contracts.criterion import Criterion
from earnest.effects.sandbox.api import Mount
from earnest.effects.tools.record import ToolRecord
from earnest.effects.workspace.snapshot import Snapshot
from earnest.effects.workspace.staging import Workspace
from earnest.engine.model.judge import ModelJudge
from earnest.engine.ports import RoleModel, Unanswered
from earnest.foundation.canonical import JsonObject
from earnest.runtime.run_book import RunBook
from earnest.verification.core import Measured, conclude
from earnest.verification.ledger.records import FileText, Ledger
from earnest.verification.ledger.rulings import Opinion, ruled
from earnest.verification.paths import read_entry
from earnest.verification.plugin import Promise
from earnest.verification.service import Verifier
from earnest.verification.verdict import CriterionVerdict, Verdict

CHECK: Final = "records/1"
"""Stands in the verdict on a criterion that a model judged by the records."""
TEXT_BYTES_MAX: Final = 256 * 1024
ALL_TEXT_BYTES_MAX: Final = 2 * 1024 * 1024
_VERDICTS: Final = TypeAdapter(tuple[CriterionVerdict, ...])


class WorkspaceJudge:
    """`engine.ports.Judge` for the workspace of one run: checks by the verifier, what has none by `mind`.

    Without a mind, as in a playbook's run, a criterion without a check stays unclear.
    """

    def __init__(
        self,
        *,
        book: RunBook,
        verifier: Verifier,
        workspace: Workspace,
        base_folder: Path,
        inputs: tuple[Mount, ...],
        mind: ModelJudge | None = None,
    ) -> None:
        self._book = book
        self._verifier = verifier
        self._workspace = workspace
        self._base_folder = base_folder
        self._inputs = inputs
        self._mind = mind
        self._earlier: dict[str, tuple[ToolRecord, ...]] = {}

    async def judge(
        self, key: str, criteria: Sequence[Criterion], calls: Sequence[ToolRecord], *, output: str, model: RoleModel
    ) -> tuple[CriterionVerdict, ...]:
        """See `engine.ports.Judge`. Judging only reads, so it has no intent: what was not recorded is judged again.

        A model is asked although the verdicts are kept: its answer is kept too, and is told again.
        """
        if not criteria:
            return ()
        mind = self._mind
        unchecked = [criterion for criterion in criteria if criterion.check is None] if mind else []
        all_calls = self._all_calls(key, calls)
        decided = self._book.outcome(key)
        if decided is not None:
            if mind and unchecked and decided["snapshot"]:
                await _opinions(mind, unchecked, self._ledger(all_calls, {}), output, model)
            return _VERDICTS.validate_python(decided["verdicts"])
        texts: dict[str, FileText] = {}
        verdict = await self._verifier.verify(
            criteria,
            self._workspace.folder,
            base_folder=self._base_folder,
            mounts=self._inputs,
            trusted_workspace=True,
            calls=calls,
            promise=Promise(origin=self._book.run_id),
            keep=(lambda snapshot, _: texts.update(_texts(snapshot, all_calls))) if unchecked else None,
        )
        verdicts = verdict.criteria
        if mind and unchecked and verdict.snapshot:
            ledger = self._ledger(all_calls, texts)
            judged = await _opinions(mind, unchecked, ledger, output, model)
            verdicts = await asyncio.to_thread(_merged, verdicts, _ruled(unchecked, judged, ledger))
        await self._book.conclude(key, _body(verdict, verdicts))
        return verdicts

    def _all_calls(self, key: str, calls: Sequence[ToolRecord]) -> tuple[ToolRecord, ...]:
        """With those of the executions that these correct: what they did stands. `r1/count/a2/verdict` names one."""
        work, execution, _ = key.rsplit("/", 2) if key.count("/") == 3 else (key, "", "")
        if not execution:
            return tuple(calls)
        self._earlier[work] = (*self._earlier.get(work, ()), *calls)
        return self._earlier[work]

    def _ledger(self, calls: tuple[ToolRecord, ...], texts: dict[str, FileText]) -> Ledger:
        return Ledger(calls=calls, texts=texts, inputs=tuple(mount.target for mount in self._inputs))


async def _opinions(
    mind: ModelJudge, criteria: Sequence[Criterion], ledger: Ledger, output: str, model: RoleModel
) -> tuple[Opinion, ...] | str:
    """What the model says, or why it says nothing that counts: that is our failure, and costs nobody anything."""
    try:
        return await mind.opinions(criteria, ledger, output, model)
    except Unanswered as error:
        return str(error) or "the judge gave no answer"


def _ruled(
    criteria: Sequence[Criterion], opinions: tuple[Opinion, ...] | str, ledger: Ledger
) -> Iterable[CriterionVerdict]:
    if isinstance(opinions, str):
        return (conclude(Measured(criterion=criterion, check=CHECK, problem=opinions)) for criterion in criteria)
    return (_concluded(opinion, ledger) for opinion in opinions)


def _concluded(opinion: Opinion, ledger: Ledger) -> CriterionVerdict:
    """Each file was compared with its digest when it was read, so what was judged is what was taken in."""
    ruling = ruled(opinion, ledger)
    return conclude(
        Measured(
            criterion=opinion.criterion,
            check=CHECK,
            runs_code=False,
            findings=ruling.findings,
            snapshot_intact=True,
            calls=ruling.calls,
        )
    )


def _merged(verdicts: Sequence[CriterionVerdict], judged: Iterable[CriterionVerdict]) -> tuple[CriterionVerdict, ...]:
    by_id = {verdict.id: verdict for verdict in judged}
    return tuple(by_id.get(verdict.id, verdict) for verdict in verdicts)


def _texts(snapshot: Snapshot, calls: Sequence[ToolRecord]) -> dict[str, FileText]:
    """The files that successful calls changed and that are text, as far as they fit. Raises `Broken`."""
    changed = {change.path for call in calls if call.ok for change in call.changed}
    texts: dict[str, FileText] = {}
    left_bytes = ALL_TEXT_BYTES_MAX
    for entry in snapshot.entries:
        if entry.path in changed and entry.size_bytes <= min(TEXT_BYTES_MAX, left_bytes):
            left_bytes -= entry.size_bytes
            data = read_entry(snapshot, entry)
            with contextlib.suppress(UnicodeDecodeError):
                if b"\0" not in data:
                    texts[entry.path] = FileText(digest=entry.digest, text=data.decode())
    return texts


def _body(verdict: Verdict, verdicts: tuple[CriterionVerdict, ...]) -> JsonObject:
    body = {
        "verdicts": _VERDICTS.dump_python(verdicts, mode="json"),
        "snapshot": verdict.snapshot,
        "sandbox": verdict.sandbox,
        "check_versions": dict(verdict.check_versions),
    }
    return cast("JsonObject", body)
