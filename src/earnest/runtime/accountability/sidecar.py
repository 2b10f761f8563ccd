"""Did the agent do what it was asked for? Probes and checks decide first; a model only what is left, and sees the rest.

The model is shown the records, what was measured, the artifacts and the reply, all as data: never the reply alone.
"""

import asyncio
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from earnest.accountability.asking import Asked
from earnest.accountability.heartbeat import Heartbeat
from earnest.accountability.verdicts import TaskVerdict
from earnest.contracts.criterion import CRITERION_CHARACTERS_MAX, CheckSpec, Criterion
from earnest.effects.artifacts.store import ArtifactStore
from earnest.effects.workspace.archive import take_submission
from earnest.effects.workspace.snapshot import SnapshotLimits
from earnest.foundation.canonical import JsonValue, canonical_bytes
from earnest.foundation.errors import Broken, Refused, Unavailable
from earnest.foundation.names import is_slug
from earnest.verification.assertions import FILE_NAME, FORMAT
from earnest.verification.plugin import Promise, Subject
from earnest.verification.service import Verifier
from earnest.verification.verdict import Answer, Cause, CriterionVerdict, Verdict

REPLY: Final = "reply.md"
RECORDS: Final = "records.txt"
MEASURED: Final = "ground-truth.txt"
ARTIFACTS: Final = "artifacts"
REASON_CHARACTERS_MAX: Final = 2_000
JUDGE: Final = "llm_judge"


class Sidecar:
    """Judges heartbeats. `artifacts` is where their files lie."""

    def __init__(self, verifier: Verifier, artifacts: ArtifactStore) -> None:
        self._verifier = verifier
        self._artifacts = artifacts

    async def verdicts(self, heartbeat: Heartbeat, worker_model: str) -> dict[str, TaskVerdict]:
        """One for each task that can be judged. What our side cannot do is unclear, and costs nobody anything."""
        asked = [one for one in (Asked(**each) for each in json.loads(heartbeat.asked)) if not one.weakened]
        promise = Promise(text=_promise(asked), origin=heartbeat.id, worker_model=worker_model)
        with tempfile.TemporaryDirectory(prefix="earnest-heartbeat-") as folder:
            base = Path(folder)
            try:
                paths = await asyncio.to_thread(self._lay_out, heartbeat, asked, base / "work")
            except (OSError, Broken, Unavailable) as error:
                return _all_unclear(asked, Cause.VERIFIER, f"it cannot be laid out: {error}")
            measured, judged = self._criteria(asked, paths)
            found = await self._judge(base, "measured", measured, asked, promise)
            if judged:
                truth = "Measured beside it:\n" + "".join(f"{task}: {one.reason}\n" for task, one in found.items())
                await asyncio.to_thread((base / "work" / MEASURED).write_text, truth, encoding="utf-8")
                found |= await self._twice(base, judged, asked, promise)
        return found

    async def _twice(
        self, base: Path, criteria: Sequence[Criterion], asked: Sequence[Asked], promise: Promise
    ) -> dict[str, TaskVerdict]:
        """A model's no is asked for again: one that it does not repeat is its noise, and decides nothing."""
        first = await self._judge(base, "first", criteria, asked, promise)
        refused = {task for task, one in first.items() if one.answer is Answer.NOT_VERIFIED}
        doubted = [one for one in criteria if asked[_number(one.id)].id in refused]
        if not doubted:
            return first
        second = await self._judge(base, "second", doubted, asked, promise)
        noise = {
            task: replace(one, answer=Answer.UNCLEAR, cause=Cause.VERIFIER, reason="the judge contradicts itself")
            for task, one in first.items()
            if task in refused and second[task].answer is not Answer.NOT_VERIFIED
        }
        return {**first, **noise}

    async def _judge(
        self, base: Path, name: str, criteria: Sequence[Criterion], asked: Sequence[Asked], promise: Promise
    ) -> dict[str, TaskVerdict]:
        if not criteria:
            return {}
        mine = [asked[_number(one.id)] for one in criteria]
        try:
            snapshot = await asyncio.to_thread(take_submission, base / "work", base / name, SnapshotLimits())
        except Refused as refused:
            return _all_unclear(mine, Cause.EVIDENCE, str(refused))
        except OSError as error:
            return _all_unclear(mine, Cause.VERIFIER, f"the intake failed: {error}")
        verdict = await self._verifier.judge(criteria, Subject(snapshot=snapshot, promise=promise))
        waits = {review.criterion_id: review.why for review in verdict.reviews}
        return {
            one.id: _told(one, criterion, waits.get(criterion.id), verdict)
            for one, criterion in zip(mine, verdict.criteria, strict=True)
        }

    def _criteria(self, asked: Sequence[Asked], paths: Sequence[str]) -> tuple[list[Criterion], list[Criterion]]:
        """What probes and checks decide, and what a model does."""
        measured, judged = list[Criterion](), list[Criterion]()
        for number, one in enumerate(asked):
            text = f"{one.description}{f' (to be told by: {one.verify})' if one.verify else ''}"
            text = text[:CRITERION_CHARACTERS_MAX]
            check = self._named(one.verify)
            criterion = Criterion(
                id=f"T{number + 1}",
                text=text,
                check=check or CheckSpec(kind=JUDGE, config={"files": [*paths, MEASURED], "criteria": [text]}),
            )
            (judged if check is None else measured).append(criterion)
        return measured, judged

    def _named(self, hint: str) -> CheckSpec | None:
        """The probe or check that a hint names; None: it is words for a judge."""
        if hint in self._verifier.probe_names:
            return CheckSpec(kind="probe", config={"probe": hint})
        named = CheckSpec(kind=hint)
        return named if is_slug(hint) and hint != JUDGE and not self._verifier.check_faults(named) else None

    def _lay_out(self, heartbeat: Heartbeat, asked: Sequence[Asked], folder: Path) -> list[str]:
        """Write down what was handed in; the paths. What is asserted of a task goes where the verifier looks for it."""
        (folder / ARTIFACTS).mkdir(parents=True)
        (folder / REPLY).write_text(heartbeat.reply, encoding="utf-8")
        values: dict[str, dict[str, JsonValue]] = {}
        numbers = {one.id: f"T{number + 1}" for number, one in enumerate(asked)}
        for claim in json.loads(heartbeat.claims):
            if claim["task"] in numbers and claim["values"]:
                values.setdefault(numbers[claim["task"]], {}).update(claim["values"])
        if values:
            (folder / FILE_NAME).write_bytes(canonical_bytes({"format": FORMAT, "assertions": values}))
        paths = [REPLY]
        if records := json.loads(heartbeat.records):
            (folder / RECORDS).write_text("".join(map(_record_text, records)), encoding="utf-8")
            paths.append(RECORDS)
        for item in json.loads(heartbeat.artifacts):
            path = f"{ARTIFACTS}/{item['path']}"
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(self._artifacts.read(item["sha256"]))
            paths.append(path)
        return paths


def _told(asked: Asked, found: CriterionVerdict, why: str | None, verdict: Verdict) -> TaskVerdict:
    """`why`: a person has to decide, and for what reason."""
    waits = why is not None and found.answer is Answer.UNCLEAR
    reason = "; ".join([f"{why}: the operator has to decide", *verdict.flags]) if waits else found.reason
    return TaskVerdict(
        task=asked.id,
        answer=found.answer,
        cause=found.cause,
        reason=reason[:REASON_CHARACTERS_MAX],
        contradiction=found.contradiction,
        evidence=found.evidence,
        waits=waits,
        by=found.check,
    )


def _all_unclear(asked: Iterable[Asked], cause: Cause, reason: str) -> dict[str, TaskVerdict]:
    return {one.id: TaskVerdict(task=one.id, answer=Answer.UNCLEAR, cause=cause, reason=reason) for one in asked}


def _record_text(record: Mapping[str, Any]) -> str:
    """What a tool did, in words: as JSON its `ok` would look like a verdict."""
    ended = "succeeded" if record["ok"] else "failed"
    return f"{record['tool']} {record.get('target', '')} {ended}\n{record.get('output', '')}\n\n"


def _promise(asked: Sequence[Asked]) -> str:
    lines = "\n".join(f"- {one.description}" for one in asked)
    return f"In one heartbeat an agent was to do these tasks:\n{lines}"


def _number(criterion_id: str) -> int:
    return int(criterion_id.removeprefix("T")) - 1
