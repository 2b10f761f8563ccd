"""Check kind `llm_judge`: a model finds that the work meets its criteria. For what no machine can decide.

The model's word counts only where it is in perfect form, right about everything that code knows, the same about the
same work in two forms, and where nothing in the work asks for a person. A judge that is missing, silent, unreadable or
wrong decides nothing: that is our failure and never the work's.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.effects.ground.clock import Chance
from earnest.effects.hands.workspace.snapshot import Snapshot, SnapshotEntry
from earnest.effects.outside.llm.api import ChatModel, Finish
from earnest.foundation.errors import Unavailable
from earnest.foundation.text import head_tail, printable
from earnest.verification.judging.decoys import statements
from earnest.verification.judging.flags import flags_of
from earnest.verification.judging.prompt import FORMS, ShownFile, answer_schema, judge_messages
from earnest.verification.judging.reply import JudgeReply, UnreadableReply, read_reply
from earnest.verification.paths import is_match, path_fault, read_entry
from earnest.verification.plugin import CheckTools, ConfiguredCheck, Findings, Subject
from earnest.verification.reviews.asking import decided, decision_on, review_about, waiting
from earnest.verification.reviews.review import Decider, Review, Rubric

FILES_MAX: Final = 50
CRITERIA_MAX: Final = 20
CRITERION_CHARACTERS_MAX: Final = 2_000
SHOWN_BYTES_MAX: Final = 100_000
PROBLEMS_SHOWN_MAX: Final = 5
ASKED_AGAIN_MAX: Final = 1
REPLY_SHOWN_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    files: tuple[str, ...]
    criteria: tuple[str, ...]


async def _measure(wanted: _Config, subject: Subject, tools: CheckTools) -> Findings:
    """See docs/checks/llm_judge.md. Raises `Unavailable` where there is a judge and it does not judge."""
    paths = [entry.path for entry in subject.snapshot.entries]
    missing = [pattern for pattern in wanted.files if not any(is_match(path, pattern) for path in paths)]
    if missing:
        return Findings(passed=False, reason=f"{', '.join(missing[:PROBLEMS_SHOWN_MAX])}: not in the work")
    criteria = wanted.criteria or (tools.criterion.text,)
    files, flags = await asyncio.to_thread(_shown, wanted, subject.snapshot, criteria)
    no_judge = _no_judge(subject, tools)
    why = no_judge or "a model's yes is not enough here"
    review = review_about(subject, tools.criterion, decider=Decider.PERSON, rubric=Rubric(), why=why, flags=flags)
    decision = await decision_on(review, tools)
    if decision is not None:
        return decided(decision)
    model, chance = tools.judges.model, tools.judges.chance
    if no_judge or model is None or chance is None:
        return waiting(review)
    numbered = [(f"C{at}", text) for at, text in enumerate(criteria, start=1)]
    hearing = _Hearing(model=model, chance=chance, task=subject.promise.text, criteria=numbered, files=files)
    return _findings(await hearing.replies(), review, tuple(file.path for file in files))


def _findings(replies: Sequence[JudgeReply], review: Review, evidence: tuple[str, ...]) -> Findings:
    """What the replies come to. A doubt about the judge is a flag for the person who decides, not against the work."""
    last = replies[-1]
    doubt = f"the judge is not believed, for {last.wrong}" if last.wrong else ""
    if not doubt and replies[0].unmet.keys() != last.unmet.keys():
        doubt = "the judge answers differently when it is shown the same work in another form"
    if doubt:
        return replace(waiting(replace(review, why=doubt, flags=(*review.flags, doubt))), flags=())
    if last.unmet:
        reasons = "; ".join(f"{identity}: {reason}" for identity, reason in last.unmet.items())
        return Findings(passed=False, reason=f"the judge finds not met {reasons}", evidence=evidence)
    if review.flags:
        return waiting(review, passed=True)
    return Findings(passed=True, reason="the judge finds every criterion met", evidence=evidence)


def _read(reader: NodeReader, node: Node, _base_folder: Path | None) -> _Config:
    entries = reader.mapping(node, required=("files",), optional=("criteria",))
    files = reader.texts(entries.get("files"), at_least=1, at_most=FILES_MAX, characters_max=1_024)
    for path in files:
        if path and (fault := path_fault(path)):
            reader.fault(entries["files"], fault)
    criteria = entries.get("criteria")
    return _Config(
        files=files,
        criteria=reader.texts(criteria, at_least=1, at_most=CRITERIA_MAX, characters_max=CRITERION_CHARACTERS_MAX),
    )


def _shown(wanted: _Config, snapshot: Snapshot, criteria: Sequence[str]) -> tuple[Sequence[ShownFile], tuple[str, ...]]:
    """What the judge sees of the work, whole texts only: half a file could be read as something else; and flags."""
    files: list[ShownFile] = []
    left_out: list[str] = []
    left_bytes = SHOWN_BYTES_MAX
    for entry in snapshot.entries:
        if not any(is_match(entry.path, path) for path in wanted.files):
            continue
        text = _text(snapshot, entry) if entry.size_bytes <= left_bytes else None
        if text is None:
            why = "is not text" if entry.size_bytes <= left_bytes else "is too long to be shown"
            left_out.append(f"{entry.path!a} {why}")
        else:
            left_bytes -= entry.size_bytes
            files.append(ShownFile(path=entry.path, text=text))
    return files, (*flags_of(files, criteria), *left_out[:PROBLEMS_SHOWN_MAX])


def _text(snapshot: Snapshot, entry: SnapshotEntry) -> str | None:
    try:
        return read_entry(snapshot, entry).decode()
    except UnicodeDecodeError:
        return None


def _no_judge(subject: Subject, tools: CheckTools) -> str:
    """Why no model can be asked; empty if one can."""
    model = tools.judges.model
    if model is None or tools.judges.chance is None:
        return "no judge is set up (VERIFY_LLM_BASE_URL, VERIFY_LLM_MODEL)"
    if not tools.judges.may_judge_itself and is_same_model(model.endpoint.model, subject.promise.worker_model):
        return "the judge would be the model that did the work"
    return ""


def is_same_model(one: str, other: str) -> bool:
    """True if two names mean the same model: who serves it, capitals and a tag `latest` make no difference."""

    def plain(name: str) -> str:
        return name.strip().rpartition("/")[2].casefold().removesuffix(":latest")

    return bool(plain(one)) and plain(one) == plain(other)


@dataclass(slots=True, kw_only=True)
class _Hearing:
    """A model, asked about one work: once in each form, and once more in all if a reply could not be read."""

    model: ChatModel
    chance: Chance
    task: str
    criteria: Sequence[tuple[str, str]]
    files: Sequence[ShownFile]
    unreadable: int = 0

    async def replies(self) -> list[JudgeReply]:
        """One for each form; a reply that cannot be believed is the last. Raises `Unavailable`."""
        heard: list[JudgeReply] = []
        while len(heard) < FORMS and not (heard and heard[-1].wrong):
            try:
                heard.append(await self._ask(len(heard)))
            except UnreadableReply as problem:
                self.unreadable += 1
                if self.unreadable > ASKED_AGAIN_MAX:
                    raise Unavailable(f"the judge's answer does not count: {printable(str(problem))}") from None
        return heard

    async def _ask(self, form: int) -> JudgeReply:
        """Statements, words and delimiter are new each time; 80 bits of the delimiter cannot be guessed."""
        asked = statements(self.criteria, self.files, self.chance)
        messages = judge_messages(self.task, asked, self.files, self.chance.new_id(0), form)
        answer = await self.model.complete(messages, call_id=self.chance.new_id(0), schema=answer_schema(asked))
        said = head_tail(" ".join(answer.text.split()), REPLY_SHOWN_CHARACTERS)
        if answer.finish is not Finish.STOP:
            raise UnreadableReply(f"{answer.model} did not finish it ({answer.finish}); it said: {said}")
        try:
            return read_reply(answer.text, asked)
        except UnreadableReply as problem:
            raise UnreadableReply(f"{problem}; it said: {said or 'nothing'}") from None


CHECK = ConfiguredCheck(kind="llm_judge", version=2, read=_read, measure=_measure, reproducible=False)
