"""The files of a conversation: named once, shown, changed in a copy, applied by one line and taken back by another."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from earnest.app.settings import read_settings
from earnest.foundation.canonical import JsonObject
from earnest.surfaces.cli.asking import Terminal
from earnest.surfaces.cli.conversation import Conversation
from earnest.testing.model_server import answers

from .endpoint import DONE, GREETED, GREETS, SPEC, calling, environment_of, plan, serving

PLAYBOOK = """\
format: earnest-playbook-v1
intent: Mend add
task_class: mend_add
edits: {calc: ./calc}
subtasks:
  - id: mend
    intent: Mend it
    criteria:
      - text: add adds
        check: {kind: command, command: "cd calc && python3 -c 'import calc; assert calc.add(2, 3) == 5'"}
    approaches:
      - id: sed
        steps: [{tool: shell, args: {command: "sed -i 's/a - b/a + b/' calc/calc.py && echo note > note.txt"}}]
"""
TWICE: JsonObject = {
    "text": "b.txt greets twice",
    "check": {"kind": "files", "required": [{"path": "b.txt", "exact": GREETED * 2}]},
}
BEFORE, AFTER = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"


@pytest.fixture
async def conversation(home: Path) -> AsyncIterator[Conversation]:
    async with Conversation(read_settings, Terminal()) as conversation:
        yield conversation


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "calc" / "calc.py"
    path.parent.mkdir()
    path.write_text(BEFORE)
    (tmp_path / "mend.yaml").write_text(PLAYBOOK)
    return path


def text_of(path: Path) -> str:
    return path.read_text()


def change(path: Path, text: str) -> None:
    path.write_text(text)


async def test_a_change_is_told_shown_applied_and_taken_back_within_the_conversation(
    conversation: Conversation, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await conversation.answer("/run mend.yaml")
    assert "/apply puts it in their place" in capsys.readouterr().out
    assert text_of(source) == BEFORE
    await conversation.answer("/diff")
    assert "-    return a - b\n+    return a + b" in capsys.readouterr().out
    await conversation.answer("/files")
    assert "           5  note.txt\n" in capsys.readouterr().out
    await conversation.answer("/apply")
    assert text_of(source) == AFTER
    await conversation.answer("/undo")
    assert text_of(source) == BEFORE
    assert capsys.readouterr().err == ""


@pytest.mark.slow
async def test_what_changed_meanwhile_is_named_and_kept(
    conversation: Conversation, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await conversation.answer("/run mend.yaml")
    change(source, "mine\n")
    await conversation.answer("/apply")
    assert str(source) in capsys.readouterr().err
    assert text_of(source) == "mine\n"


async def test_places_are_named_once_and_none_takes_them_back(
    conversation: Conversation, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in ("/input", "/input calc", "/edit calc", "/edit nowhere", "/input none", "/edit calc"):
        await conversation.answer(line)
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        "/input  none",
        f"/input  {source.parent}",
        "/input  none",
        f"/edit  {source.parent}",
    ]
    assert "/edit: calc: two have this name" in told.err
    assert "/edit: nowhere: there is no such file or folder" in told.err


async def test_a_request_may_change_a_copy_of_what_was_named(
    conversation: Conversation, source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = {
        **GREETS,
        "executor": [
            calling("shell", command="sed -i 's/a - b/a + b/' calc/calc.py"),
            calling("write_file", path="a.txt", content=GREETED),
            DONE,
        ],
    }
    with serving(script) as server:
        for name, value in environment_of(server).items():
            monkeypatch.setenv(name, value)
        await conversation.answer("/edit calc")
        await conversation.answer("greet")
        assert "ACCEPTED" in capsys.readouterr().out
        await conversation.answer("/apply")
    assert text_of(source) == AFTER


async def test_what_a_request_made_is_there_for_the_next_one(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    again: JsonObject = {"sequence": 1, "intent": "Greet twice in b.txt", "criteria": [TWICE]}
    script = {
        "perceiver": [answers(SPEC), answers({**SPEC, "intent": "Make it twice as long"})],
        "planner": [plan(), answers({"task_criteria": [TWICE], "subtasks": [again], "rules": []})],
        "executor": [
            calling("write_file", path="a.txt", content=GREETED),
            DONE,
            calling("shell", command="cat a.txt a.txt > b.txt"),
            DONE,
        ],
    }
    with serving(script) as server:
        for name, value in environment_of(server).items():
            monkeypatch.setenv(name, value)
        await conversation.answer("greet")
        await conversation.answer("make it twice as long")
        assert capsys.readouterr().out.count("ACCEPTED") == 2
        asked = [one.prompt for one in server.requests if "twice as long" in one.prompt]
    assert any("a.txt" in prompt for prompt in asked), "the roles are shown what the workspace holds from before"
    await conversation.answer("/files")
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["a.txt", "b.txt"]
