"""A task in words, worked by models that are scripted at a real socket."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from earnest.app.model_settings import ModelSettings
from earnest.app.platform import open_platform
from earnest.app.settings import Settings
from earnest.effects.ground.bus.api import Envelope
from earnest.engine.messages import Budget, FinalResult
from earnest.engine.spending import Price
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.runtime.order import Grants, request_order
from earnest.testing.model_server import Behaviour, ModelServer, ReceivedRequest, ScriptedReply, answers

BUDGET = Budget(time_ms=60_000, tokens=10**6, model_calls=100, cost_micro=None)
SECRET = "a-key-that-nobody-may-see"
PRICE = Price(prompt_micro_per_mtok=1_000_000, completion_micro_per_mtok=2_000_000)
SPEC: JsonObject = {"kind": "task", "intent": "Write hello into a file", "task_class": "write_hello"}
GREETING: JsonObject = {"kind": "small_talk", "intent": "", "task_class": "greeting", "reply": "Hello to you."}
GREETED = "good morning, harbour master\n"
DONE = answers({"done": {"status": "completed", "output": "It is written."}})


def criterion(path: str, *, judged: bool) -> JsonObject:
    check: JsonObject = {"kind": "files", "required": [{"path": path, "exact": GREETED}]}
    return {"text": f"{path} holds the greeting", "check": None if judged else check}


def plan(*paths: str, judged: bool = False) -> ScriptedReply:
    subtasks: list[JsonValue] = [
        {"sequence": 1, "intent": f"Greet in {path}", "context": "", "criteria": [criterion(path, judged=judged)]}
        for path in paths
    ]
    return answers({"task_criteria": [criterion(paths[0], judged=judged)], "subtasks": subtasks, "rules": []})


def writing(path: str, content: str = GREETED) -> ScriptedReply:
    return answers({"calls": [{"tool": "write_file", "args": {"path": path, "content": content}}]})


def met_by(call: str) -> Callable[[ReceivedRequest], ScriptedReply]:
    """By this call; and by a measurement, once that is asked for."""

    def judges(request: ReceivedRequest) -> ScriptedReply:
        if request.schema and request.schema["required"] == ["measure"]:
            return answers({"measure": ["cat a.txt"]})
        shown = "m1" if "<<<DATA record m1 " in request.prompt else call
        evidence = [{"call": shown, "quote": GREETED.strip()}]
        return answers({"criteria": [{"id": "C1", "met": True, "evidence": evidence, "reason": "the record shows it"}]})

    return judges


UNMET = answers({"criteria": [{"id": "C1", "met": False, "evidence": [], "reason": "it greets nobody"}]})


Script = Mapping[str, Behaviour | Sequence[Behaviour]]
MACHINE_CHECKED: Script = {
    "perceiver": answers(SPEC),
    "planner": plan("a.txt"),
    "executor": [writing("a.txt"), DONE],
}


@dataclass
class Worked:
    """A task that was worked, and all that was said about it."""

    result: FinalResult
    run_id: str
    folder: Path
    heard: list[Envelope] = field(default_factory=list)


def settings_at(home: Path, server: ModelServer) -> Settings:
    prices = {"scripted": PRICE}
    models = ModelSettings(base_url=server.base_url, default="scripted", api_key=SECRET, prices=prices)
    return Settings(home=home, models=models)


async def work(
    home: Path, server: ModelServer, words: str = "please write hello into a file", budget: Budget = BUDGET
) -> Worked:
    async with open_platform(settings_at(home, server)) as platform:
        heard: list[Envelope] = []
        platform.bus.tap("test", heard.append)
        run_id = await platform.runs.begin(request_order(words, budget, home.parent, Grants()))
        result = await asyncio.wait_for(platform.runs.work(run_id), 60)
        return Worked(result=result, run_id=run_id, folder=platform.runs.workspace_of(run_id), heard=heard)
