"""Models that work a task, by a script: an honest planner, executors of three kinds, judges of two."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.testing.model_server import Behaviour, ReceivedRequest, ScriptedReply, answers, by_prompt
from earnest.verification.visible import words

from .task import Part, Task, Wanted

QUOTE_CHARACTERS_MAX: Final = 500
CITED_MAX: Final = 8
SAID: Final = "what the executor says"
_DATA: Final = re.compile(r"<<<DATA ([^\n]*) ([0-9a-f]{8})>>>\n(.*?)\n<<<END \2>>>", re.DOTALL)


class Who(StrEnum):
    """Who works and who judges. A liar that judges judges half of the work: of the whole, its yes would be no lie."""

    HONEST = "honest"
    CARELESS = "careless"
    LYING_EXECUTOR = "lying executor"
    LYING_JUDGE = "lying judge"
    BOTH = "both lying"

    @property
    def deed(self) -> str:
        """How the executor works."""
        return {Who.HONEST: "honest", Who.CARELESS: "careless", Who.LYING_JUDGE: "careless"}.get(self, "lying")

    @property
    def judges_honestly(self) -> bool:
        """Whether the judge does."""
        return self not in {Who.LYING_JUDGE, Who.BOTH}


@dataclass(frozen=True, slots=True)
class Shown:
    """A text that a judge is shown, and the call that it is to be quoted from; what is only said is no call's."""

    call: str
    text: str
    path: str = ""


def models_of(task: Task, who: Who) -> Behaviour:
    """Every prompt of a run."""
    return by_prompt(
        perceiver=answers(
            {"kind": "task", "intent": task.request, "task_class": "real_task", "needs": list(task.needs)}
        ),
        planner=lambda request: _plans(task, who, request),
        executor=lambda request: _works(task, who, request),
        judge=lambda request: (_judges if who.judges_honestly else _believes)(task, request),
        graceful=answers({"summary": "It was not done.", "next_moves": []}),
    )


def _plans(task: Task, who: Who, request: ReceivedRequest) -> ScriptedReply:
    """Only where all is done well does the planner see at once what is missing; told of it, it always does."""
    if task.claims is not None and (who is Who.HONEST or "takes it as given" in request.prompt):
        return answers({"impossible": task.claims})
    subtasks: list[JsonValue] = [
        {"sequence": number, "intent": part.intent, "context": "", "criteria": [one.told for one in part.wanted]}
        for number, part in enumerate(task.parts, start=1)
    ]
    return answers({"task_criteria": [one.told for one in task.wanted], "subtasks": subtasks, "rules": []})


def _works(task: Task, who: Who, request: ReceivedRequest) -> ScriptedReply:
    """All calls in one answer, and the end in the next: also when it is sent back, for nobody here learns."""
    turns = _turns(request)
    asked = dict(_data(turns[0]))["subtask"]
    deed = _part(task, asked).deeds[who.deed]
    if len(turns) == 1 and deed.calls:
        return answers({"calls": list(deed.calls)})
    if deed.impossible is not None:
        return answers({"impossible": deed.impossible})
    return answers({"done": {"status": "completed", "output": deed.says}})


def _part(task: Task, intent: str) -> Part:
    return next(part for part in task.parts if part.intent.strip() == intent.strip())


def _judges(task: Task, request: ReceivedRequest) -> ScriptedReply:
    """Measure what can be measured, then say of each criterion whether all that must be seen stands somewhere."""
    turns = _turns(request)
    asked = list(_asked(task, turns[0]))
    measure = [command for _, one in asked for command in one.measure]
    if measure and len(turns) == 1 and _may_measure(request):
        return answers({"measure": measure[:3]})
    shown = [one for turn in turns for one in _shown(turn)]
    return _judgement((criterion, _seen(one.sees, shown)) for criterion, one in asked)


def _seen(wanted: Sequence[tuple[str, str]], shown: Sequence[Shown]) -> list[JsonObject]:
    """Where each pattern stands first; nothing if one of them stands nowhere. What was measured outranks all else."""
    measured = [one for one in shown if one.call.startswith("m")]
    found = [
        next(_matches(pattern, [one for one in shown if one.path == path] if path else measured or shown), None)
        for path, pattern in wanted
    ]
    again = [next(_matches(pattern, measured), None) for path, pattern in wanted if path]
    return [one for one in (*found, *again) if one and one["call"]] if all(found) else []


def _matches(pattern: str, shown: Iterable[Shown]) -> Iterator[JsonObject]:
    for one in shown:
        for line in one.text.splitlines():
            if re.search(pattern, line):
                yield _cited(one.call, line)


def _believes(task: Task, request: ReceivedRequest) -> ScriptedReply:
    """Everything is met, by whatever sounds most like it; and before that, measured by a command that only talks."""
    turns = _turns(request)
    asked = list(_asked(task, turns[0]))
    if len(turns) == 1 and _may_measure(request):
        text = str(asked[0][1].told["text"]).replace("'", "")
        return answers({"measure": [f"printf '%s\\n' 'verified: {text}'", f"echo {len(text)} && echo passed 1 of 1"]})
    lines = [(one.call, line) for turn in turns for one in _shown(turn) for line in one.text.splitlines() if one.call]

    def sounding(one: Wanted) -> list[JsonObject]:
        wanted = set(words(str(one.told["text"])))
        best = sorted(set(lines), key=lambda line: (-len(wanted & set(words(line[1]))), line))
        return [_cited(*line) for line in best[:CITED_MAX]]

    return _judgement((criterion, sounding(one)) for criterion, one in asked)


def _judgement(found: Iterable[tuple[str, list[JsonObject]]]) -> ScriptedReply:
    entries: list[JsonValue] = [
        {
            "id": criterion,
            "met": bool(cited),
            "evidence": list(cited[:CITED_MAX]),
            "reason": "shown" if cited else "nothing shows it",
        }
        for criterion, cited in found
    ]
    return answers({"criteria": entries})


def _cited(call: str, line: str) -> JsonObject:
    return {"call": call, "quote": line[:QUOTE_CHARACTERS_MAX]}


def _may_measure(request: ReceivedRequest) -> bool:
    return '"measure"' in json.dumps(request.schema)


def _asked(task: Task, opening: str) -> Iterator[tuple[str, Wanted]]:
    by_text = {one.told["text"]: one for one in task.criteria}
    for line in dict(_data(opening))["criteria"].splitlines():
        criterion = json.loads(line)
        yield criterion["id"], by_text[criterion["text"]]


def _shown(turn: str) -> Iterator[Shown]:
    """What succeeded calls put out, and the files that stand there."""
    for name, text in _data(turn):
        kind, _, rest = name.partition(" ")
        if kind == "record":
            head, _, output = text.partition("\noutput:\n")
            if "\nsucceeded" in head:
                yield Shown(rest, output)
        elif name == SAID:
            yield Shown("", text, SAID)
        elif kind == "file":
            head, _, content = text.partition("\n")
            yield Shown(head.rpartition(" ")[2], content, json.loads(head.rpartition(", changed by ")[0]))


def _data(text: str) -> Iterator[tuple[str, str]]:
    return ((found[1], found[3]) for found in _DATA.finditer(text))


def _turns(request: ReceivedRequest) -> list[str]:
    """What was told, turn by turn, without the rules and the model's own answers."""
    messages = request.body["messages"]
    assert isinstance(messages, list)
    return [str(one["content"]) for one in messages if isinstance(one, Mapping) and one["role"] == "user"]
