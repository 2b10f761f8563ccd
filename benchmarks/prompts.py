"""Characters of the requests that tasks in words take, by prompt, over a script of honest models. Prints JSON.

What is counted is the body of each request as it is sent: messages, schema and tools. The tasks are scripted, so the
count depends on the prompts and on how often who is asked, and on nothing else. `ratio` is that of models that answer
in text, as they did when `BEFORE` was counted; `calling_ratio` that of models that make the same calls natively, and
`attended_ratio` that of runs with somebody at the terminal, whom calls may ask for leave.
"""

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from earnest.app.model_settings import ModelSettings
from earnest.app.platform import open_platform
from earnest.app.settings import Settings
from earnest.effects.outside.llm.openai_client import written
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.messages import Budget, ConfirmationAsked
from earnest.foundation.canonical import JsonObject
from earnest.runtime.approvals import Person
from earnest.runtime.order import Grants, request_order
from earnest.testing.model_server import Behaviour, ModelServer, ReceivedRequest, ScriptedReply, answers, by_prompt

Script: TypeAlias = Mapping[str, Behaviour | Sequence[Behaviour]]

BEFORE = 422_813
"""What the same tasks took when each tool was told twice, each file up to three times, and each question twice."""
BUDGET = Budget(time_ms=120_000, tokens=10**7, model_calls=500, cost_micro=None)
TEXT = "".join(f"line {number} of what was found in the old archive of the harbour\n" for number in range(120))
DONE = answers({"done": {"status": "completed", "output": "It is written."}})


def criterion(text: str, check: JsonObject | None = None) -> JsonObject:
    return {"text": text, "check": check} if check else {"text": text, "mode": "plausible"}


def contains(path: str, text: str) -> JsonObject:
    return criterion(f"{path} says {text}", {"kind": "files", "required": [{"path": path, "contains": [text]}]})


def plan(task: Sequence[JsonObject], *subtasks: JsonObject) -> ScriptedReply:
    return answers({"task_criteria": [*task], "subtasks": [*subtasks], "rules": []})


def subtask(intent: str, *criteria: JsonObject, sequence: int = 1) -> JsonObject:
    return {"sequence": sequence, "intent": intent, "context": "", "criteria": [*criteria]}


def calls(*made: JsonObject) -> ScriptedReply:
    return answers({"calls": [*made]})


def shell(command: str) -> JsonObject:
    return {"tool": "shell", "args": {"command": command}}


def writes(path: str, content: str) -> JsonObject:
    return {"tool": "write_file", "args": {"path": path, "content": content}}


def met(request: ReceivedRequest) -> ScriptedReply:
    """Every criterion that is asked about, by the first call."""
    ids = [f"C{number}" for number in range(1, 11) if f'"id": "C{number}"' in request.prompt]
    ids = ids or [f"C{number}" for number in range(1, 11) if f"C{number}" in request.prompt]
    evidence = [{"call": "c1", "quote": TEXT.splitlines()[3]}]
    return answers(
        {"criteria": [{"id": i, "met": True, "evidence": evidence, "reason": "it stands there"} for i in ids]}
    )


def perceived(intent: str) -> ScriptedReply:
    return answers({"kind": "task", "intent": intent, "task_class": "work_on_text"})


CHECKED: Script = {
    "perceiver": perceived("Write hello into hello.txt"),
    "planner": plan([contains("hello.txt", "hello")], subtask("Greet", contains("hello.txt", "hello"))),
    "executor": [calls(writes("hello.txt", "hello\n")), DONE],
}
JUDGED: Script = {
    "perceiver": perceived("Copy the archive's text into notes.txt"),
    "planner": plan([criterion("notes.txt holds the text")], subtask("Copy it", criterion("notes.txt holds the text"))),
    "executor": [calls(writes("notes.txt", TEXT)), calls(shell("wc -l notes.txt")), DONE],
    "judge": met,
}
CODING: Script = {
    "perceiver": perceived("Write a module with three functions and make its tests pass"),
    "planner": plan([contains("calc.py", "def add")], subtask("Write and test it", contains("calc.py", "def add"))),
    "executor": [
        calls(writes("notes.txt", TEXT)),
        *(calls(shell(f"sed -n {n},{n + 9}p notes.txt")) for n in range(1, 62, 10)),
        calls(writes("calc.py", "def add(a, b):\n    return a + b\n")),
        calls(shell("python3 -c 'import calc; print(calc.add(1, 2))'")),
        DONE,
    ],
}
PARTS: Script = {
    "perceiver": perceived("List the archive and then sum it up"),
    "planner": plan(
        [criterion("both files hold the text")],
        subtask("List", criterion("list.txt holds the text")),
        subtask("Sum up", criterion("sum.txt holds the text"), sequence=2),
    ),
    "executor": [calls(writes("list.txt", TEXT)), DONE, calls(writes("sum.txt", TEXT)), DONE],
    "judge": met,
}
TASKS: Mapping[str, Script] = {
    "checked": CHECKED,
    "judged": JUDGED,
    "coding": CODING,
    "parts": PARTS,
}


def called(reply: Behaviour) -> ScriptedReply:
    """The same in the form of a model that calls."""
    assert isinstance(reply, ScriptedReply)
    said = json.loads(reply.text)
    made = [(call["tool"], call["args"]) for call in said.get("calls", [])]
    ends = [("done", said["done"])] if "done" in said else []
    return replace(reply, text="", tools=(*made, *ends), finish="tool_calls")


class Nobody:
    """`runtime.approvals.Person`: there, but never asked."""

    async def allows(self, asked: ConfirmationAsked) -> bool:
        raise AssertionError(asked.wording)


async def characters(
    script: Script, folder: Path, *, calling: bool = False, person: Person | None = None
) -> Counter[str]:
    executor = script["executor"]
    if calling and isinstance(executor, Sequence):
        script = {**script, "executor": [called(reply) for reply in executor]}
    async with ModelServer(by_prompt(**script)) as server:
        models = ModelSettings(base_url=server.base_url, default="scripted", tool_calls=calling)
        async with open_platform(Settings(home=folder / "home", models=models), person=person) as platform:
            run_id = await platform.runs.begin(request_order("do it", BUDGET, folder, Grants()))
            result = await platform.runs.work(run_id)
        assert result.directive is MacroState.ACCEPT, result
        return sum(
            (Counter({asked.prompt_name: len(written(asked.body).decode())}) for asked in server.chats),
            Counter[str](),
        )


async def main() -> None:
    counted, others = {}, Counter[str]()
    for name, script in TASKS.items():
        with tempfile.TemporaryDirectory() as folder:
            counted[name] = await characters(script, Path(folder) / "text")
            calling = await characters(script, Path(folder) / "calling", calling=True)
            attended = await characters(script, Path(folder) / "attended", person=Nobody())
            others += Counter({"calling_ratio": calling.total(), "attended_ratio": attended.total()})
    shown = {name: {"request_characters": sum(by.values()), **by} for name, by in counted.items()}
    total = sum(sum(by.values()) for by in counted.values())
    ratios = {"ratio": round(total / BEFORE, 3), **{kind: round(count / BEFORE, 3) for kind, count in others.items()}}
    print(json.dumps({"request_characters": total, **ratios, "tasks": shown}, indent=1))


if __name__ == "__main__":
    asyncio.run(main())
