"""Which model answers the commands of a test? One from a script, served by a thread of its own."""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.testing.model_server import Behaviour, ModelServer, ScriptedReply, answers, by_prompt

GREETED = "good morning, harbour master\n"
SPEC: JsonObject = {"kind": "task", "intent": "Write hello into a file", "task_class": "write_hello"}
DONE = answers({"done": {"status": "completed", "output": "It is written."}})
Script = Mapping[str, Behaviour | Sequence[Behaviour]]


def criterion(*, judged: bool) -> JsonObject:
    check: JsonObject = {"kind": "files", "required": [{"path": "a.txt", "exact": GREETED}]}
    return {"text": "a.txt holds the greeting", "check": None if judged else check}


def plan(*, judged: bool = False) -> ScriptedReply:
    subtask: JsonObject = {"sequence": 1, "intent": "Greet in a.txt", "criteria": [criterion(judged=judged)]}
    return answers({"task_criteria": [criterion(judged=judged)], "subtasks": [subtask], "rules": []})


def calling(tool: str, **args: str) -> ScriptedReply:
    return answers({"calls": [{"tool": tool, "args": args}]})


def met_by(call: str) -> Sequence[ScriptedReply]:
    """Measured first."""
    evidence: list[JsonValue] = [{"call": one, "quote": GREETED.strip()} for one in (call, "m1")]
    met: JsonObject = {"id": "C1", "met": True, "evidence": evidence, "reason": "the record shows it"}
    return [answers({"measure": ["cat a.txt"]}), answers({"criteria": [met]})]


GREETS: Script = {
    "perceiver": answers(SPEC),
    "planner": plan(),
    "executor": [calling("write_file", path="a.txt", content=GREETED), DONE],
}


@contextmanager
def serving(script: Script) -> Iterator[ModelServer]:
    """A model that answers by this script."""
    server, serves, over = ModelServer(by_prompt(**script)), threading.Event(), threading.Event()

    async def serve() -> None:
        async with server:
            serves.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert serves.wait(30)
        yield server
    finally:
        over.set()
        thread.join()


def environment_of(server: ModelServer) -> dict[str, str]:
    """What makes commands ask it."""
    return {"EARNEST_BASE_URL": server.base_url, "EARNEST_MODEL": "scripted"}


def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is set up, and none is found on this machine."""

    async def nobody(host: str, port: int) -> tuple[str, ...]:
        return ()

    monkeypatch.setattr("earnest.effects.outside.llm.ollama.local_models", nobody)
    for name in ("EARNEST_BASE_URL", "EARNEST_MODEL"):
        monkeypatch.delenv(name, raising=False)
