"""An accepted run as a playbook that repeats it with no model."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from earnest.contracts.criterion import CheckSpec, Criterion, Mode
from earnest.contracts.playbook import (
    BUDGET_S_MAX,
    STEP_S_MAX,
    STEPS_MAX,
    WRITES_MAX,
    Approach,
    Playbook,
    PlaybookBudget,
    Step,
    Subtask,
)
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.effects.hands.tools.shell_words import Unbalanced, Word, scan
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.messages import ConfirmationAsked, FinalResult, PlannedSubTask, TaskRequested, TaskSpec
from earnest.engine.pinning import Today, pattern_of
from earnest.engine.sensing import Seen
from earnest.foundation.canonical import canonical_text
from earnest.foundation.errors import Refused
from earnest.verification.verdict import CriterionVerdict

APPROACH: Final = "recorded"
TASK: Final = "task"
"""The scope of criteria of the whole."""
STEP_S_MIN: Final = 60
SLOWER: Final = 10
"""A step may take so many times as long as it did."""
SHELL: Final = ("/bin/bash", "-o", "pipefail", "-c")
_INTERPRETER: Final = re.compile(
    r"(?:.*/)?(?:python|pypy|perl|ruby|node|deno|lua|php|Rscript|sh|bash|dash|zsh|ksh|source|\.)[\d.]*"
)
_PROOF: Final = re.compile(r"c\d+ (?P<digest>sha256:[0-9a-f]{64}): (?P<quote>.*)", re.DOTALL)
"""A reference into the records, as `verification.records.rulings` tells it."""

_Message = TypeVar("_Message")
Digest = Callable[[ToolCall], str]
"""The digest under which a call is recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A playbook, and in words the criteria of the run that are not in it, since only a model can judge them."""

    playbook: Playbook
    left_out: tuple[str, ...]
    weaker: tuple[str, ...] = ()
    """In words the criteria that ask for less than in the run, or are left out, as they named what its inputs were."""
    made: frozenset[tuple[str, str]] = frozenset()
    """Scope and id of the criteria whose check was made from what a model cited."""

    def without_idle(self, met: Collection[Criterion]) -> "Saved":
        """Without the made checks that are `met` by no work: such a call measured the inputs, or itself, and no result.

        Raises `Refused("not_saved")` if nothing is left of what a subtask must reach.
        """
        left_out: list[str] = []

        def kept(scope: str, criteria: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
            idle = [one for one in criteria if (scope, one.id) in self.made and one in met]
            left_out.extend(f"{scope}: {one.text}" for one in idle)
            return tuple(one for one in criteria if one not in idle)

        subtasks = [replace(one, criteria=kept(one.id, one.criteria)) for one in self.playbook.subtasks]
        for subtask in subtasks:
            _check_wanted(subtask.criteria, subtask)
        whole = kept(TASK, self.playbook.criteria)
        playbook = replace(self.playbook, criteria=whole, subtasks=tuple(subtasks))
        return replace(self, playbook=playbook, left_out=(*self.left_out, *left_out))


def playbook_of(
    messages: Iterable[object],
    *,
    digest: Digest,
    inputs: Mapping[str, str],
    texts: Mapping[str, str],
    given: Iterable[str] = (),
    edits: Mapping[str, str] | None = None,
) -> Saved:
    """What repeats the run that these messages, in order, are all of.

    `texts` are the files of the workspace at the end, by path, as far as they can be read, and `given` those of the
    inputs. A criterion with a check keeps it, but for what holds for today's inputs alone (`pinning`). For one that a
    model judged the check is made that the cited evidence supports: see `docs/playbooks.md`.
    Raises `Refused("not_saved")`.
    """
    said, seen = tuple(messages), Seen()
    for message in said:
        seen.note(message)
    request, spec, result = _last(said, TaskRequested), _last(said, TaskSpec), _last(said, FinalResult)
    if result is None or result.directive is not MacroState.ACCEPT:
        raise _not_saved("only a run that was accepted can be repeated")
    if request is None or spec is None or seen.plan is None:
        raise _not_saved("nothing was planned, so there is nothing to repeat")
    is_read = any(_names(record, path) for record in seen.records.values() for path in inputs)
    today = Today(given, "\n".join([request.raw_input, *inputs])) if is_read else None
    asked = [one for one in said if isinstance(one, ConfirmationAsked)]
    saving = _Saving(seen=seen, asked=asked, digest=digest, texts=texts, today=today)
    everything = [key for subtask in seen.plan.subtasks for key in seen.outcomes[subtask.id].calls]
    playbook = Playbook(
        intent=spec.intent,
        task_class=spec.task_class,
        budget=PlaybookBudget(time_s=min(BUDGET_S_MAX, max(1, request.budget.time_ms // 1000))),
        inputs=dict(inputs),
        edits=dict(edits or {}),
        criteria=saving.criteria(TASK, seen.plan.task_criteria, seen.task_verdicts, everything),
        subtasks=tuple(map(saving.subtask, seen.plan.subtasks)),
    )
    left_out, weaker = tuple(saving.left_out), tuple(saving.weaker)
    return Saved(playbook=playbook, left_out=left_out, weaker=weaker, made=frozenset(saving.made))


def _last(said: Sequence[object], kind: type[_Message]) -> _Message | None:
    return next((message for message in reversed(said) if isinstance(message, kind)), None)


def _names(record: ToolRecord, path: str) -> bool:
    """True if the call names this place of the workspace."""
    return re.search(rf"(?<![\w.-]){re.escape(path)}(?![\w-])", canonical_text(record.args)) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Saving:
    seen: Seen
    asked: Sequence[ConfirmationAsked]
    digest: Digest
    texts: Mapping[str, str]
    today: Today | None
    """Of inputs that a call named: what was found out may hold for what they are today alone."""
    left_out: list[str] = field(default_factory=list)
    weaker: list[str] = field(default_factory=list)
    made: set[tuple[str, str]] = field(default_factory=set)

    def subtask(self, planned: PlannedSubTask) -> Subtask:
        outcome = self.seen.outcomes[planned.id]
        criteria = self.criteria(planned.id, planned.criteria, outcome.verdicts, outcome.calls)
        _check_wanted(criteria, planned)
        approach = Approach(id=APPROACH, steps=self._steps(planned.id, outcome.calls))
        return Subtask(
            id=planned.id,
            intent=planned.intent,
            sequence=planned.sequence,
            criteria=criteria,
            approaches=(approach,),
        )

    def _steps(self, subtask_id: str, keys: Sequence[str]) -> tuple[Step, ...]:
        """What succeeded in the last attempt, and what stands of those before: a correction goes on from there.

        Of the same call, which nobody may make twice, the last counts. Where steps are too many, those that only looked
        are left out, but for the last.
        """
        last_attempt = {key for key in keys if _attempt_of(key) == _attempt_of(keys[-1])}
        steps: dict[str, Step] = {}
        looked: set[str] = set()
        for key in keys:
            record = self.seen.records[key]
            if not record.changed and not record.ok:
                continue
            call = self._call(record)
            acts = bool(record.changed) or _reaches_outside(call)
            if acts or key in last_attempt:
                steps.pop(record.call_digest, None)
                steps[record.call_digest] = _step(call, record)
                looked = looked - {record.call_digest} if acts else looked | {record.call_digest}
        if len(steps) > STEPS_MAX:
            final = next(reversed(steps))
            steps = {digest: step for digest, step in steps.items() if digest not in looked or digest == final}
        if not 0 < len(steps) <= STEPS_MAX:
            raise _not_saved(f"{subtask_id} took {len(steps)} steps that count; an approach has 1 to {STEPS_MAX}")
        return tuple(steps.values())

    def _call(self, record: ToolRecord) -> ToolCall:
        """The call that was recorded, proven by its digest. A record does not say what was granted to the whole run."""
        bare = ToolCall(tool=record.tool, args=record.args)
        confirmed = (replace(bare, network=asked.network, writes=asked.paths) for asked in self.asked)
        for call in (bare, replace(bare, network=True), *confirmed):
            if self.digest(call) == record.call_digest and len(call.writes) <= WRITES_MAX:
                return call
        raise _not_saved(f"where {record.tool} {record.target[:200]!a} was granted to write is not in its record")

    def criteria(
        self, scope: str, criteria: Iterable[Criterion], verdicts: Iterable[CriterionVerdict], keys: Sequence[str]
    ) -> tuple[Criterion, ...]:
        reached = {verdict.id: verdict for verdict in verdicts}
        kept: list[Criterion] = []
        for criterion in criteria:
            verdict = reached.get(criterion.id)
            check = next(self._checks(verdict, keys), None) if verdict else None
            wanted = criterion.check or check
            general = self.today.general(criterion.check) if self.today and criterion.check else wanted
            if general is not None:
                self.made.update(() if criterion.check else [(scope, criterion.id)])
                kept.append(
                    replace(criterion, check=general, mode=criterion.mode if criterion.check else Mode.VERIFIABLE)
                )
            if general != wanted:
                self.weaker.append(f"{scope}: {criterion.text}")
            elif wanted is None:
                self.left_out.append(f"{scope}: {criterion.text}")
        return tuple(kept)

    def _checks(self, verdict: CriterionVerdict, keys: Sequence[str]) -> Iterator[CheckSpec]:
        """What each piece of evidence supports, in the order in which it was cited."""
        records = [self.seen.records[key] for key in keys]
        for told in verdict.evidence:
            proof = _PROOF.fullmatch(told)
            for at, record in enumerate(records):
                if proof and record.call_digest == proof["digest"] and record.ok:
                    check = _of_change(record, proof["quote"]) or self._of_file(record, proof["quote"])
                    check = check or self._of_output(record, proof["quote"], records[at + 1 :])
                    if check is not None:
                        yield check

    def _of_file(self, record: ToolRecord, quote: str) -> CheckSpec | None:
        """The whole content, where the step states it; else that the quotation is there: what is computed may vary."""
        for change in record.changed:
            text = self.texts.get(change.path)
            pattern = (
                pattern_of(quote, text, self.today) if text is not None and change.kind is EntryKind.FILE else None
            )
            is_stated = record.tool == "write_file" and record.args.get("content") == text
            if pattern is None or (is_stated and self.today):  # typed from what was read: it will not be again
                continue
            wanted = {"sha256": (change.digest or "").removeprefix("sha256:")} if is_stated else {"regex": pattern}
            return CheckSpec(kind="files", config={"required": [{"path": change.path, **wanted}]})
        return None

    def _of_output(self, record: ToolRecord, quote: str, later: Iterable[ToolRecord]) -> CheckSpec | None:
        """The same command again, if it only looked, and at what is still so."""
        command, pattern = record.args.get("command"), pattern_of(quote, record.output_excerpt, self.today)
        if record.tool != "shell" or not isinstance(command, str) or pattern is None or record.changed:
            return None
        if (self.today and self.today.pins(command)) or _runs_any(command, self._made()):
            return None
        if any(after.changed for after in later) or _reaches_outside(self._call(record)):
            return None
        return CheckSpec(kind="command", config={"command": [*SHELL, command], "stdout_regex": pattern})

    def _made(self) -> frozenset[str]:
        changes = (change for record in self.seen.records.values() for change in record.changed)
        return frozenset(change.path for change in changes if change.kind is EntryKind.FILE)


def _check_wanted(criteria: Iterable[Criterion], subtask: PlannedSubTask | Subtask) -> None:
    if not any(criterion.required for criterion in criteria):
        raise _not_saved(f"nothing that {subtask.id} must reach can be checked without a model: {subtask.intent}")


def _runs_any(command: str, made: frozenset[str]) -> bool:
    """True if a command line runs one of the files that the run itself made: its word for its own work is no check."""
    try:
        tokens = scan(command).tokens
    except Unbalanced:
        return True
    before = ""
    for token in tokens:
        if not isinstance(token, Word):
            before = ""
        elif not before or _INTERPRETER.fullmatch(before):
            path = token.text.removeprefix("./")
            if any(path == one or one.endswith(f"/{path}") or path.endswith(f"/{one}") for one in made):
                return True
            before = before if token.text.startswith("-") else token.text
        else:
            before = token.text
    return False


def _of_change(record: ToolRecord, quote: str) -> CheckSpec | None:
    for change in record.changed:
        if change.kind is EntryKind.GONE and quote == f"removed {change.path}":
            return CheckSpec(kind="command", config={"command": ["test", "!", "-e", change.path]})
        if change.kind is EntryKind.FOLDER and quote == f"made folder {change.path}":
            return CheckSpec(kind="command", config={"command": ["test", "-d", change.path]})
    return None


def _step(call: ToolCall, record: ToolRecord) -> Step:
    timeout_s = -(-record.duration_ms * SLOWER // 1000)
    return Step(
        tool=call.tool,
        args=call.args,
        timeout_s=min(STEP_S_MAX, max(STEP_S_MIN, timeout_s)),
        may_fail=not record.ok,
        network=call.network,
        writes=call.writes,
    )


def _attempt_of(key: str) -> str:
    """`r1/count/a2` of `r1/count/a2/c3`."""
    return key.rpartition("/")[0]


def _reaches_outside(call: ToolCall) -> bool:
    return call.network or bool(call.writes)


def _not_saved(reason: str) -> Refused:
    return Refused("not_saved", f"the run is not saved: {reason}")
