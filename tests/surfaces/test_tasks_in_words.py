"""Is a task in words planned, worked and saved from the command line?"""

import json
from pathlib import Path

import pytest

from earnest.foundation.canonical import JsonObject
from earnest.testing.model_server import answers

from .conftest import Earnest
from .endpoint import DONE, GREETED, GREETS, calling, environment_of, met_by, no_model, plan, serving

WORDS = "please write hello into a file"


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    no_model(monkeypatch)


@pytest.mark.slow
def test_a_plan_alone_is_made_and_nothing_of_it_is_done(
    earnest: Earnest, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(GREETS) as server:
        for name, value in environment_of(server).items():
            monkeypatch.setenv(name, value)
        person = earnest("run", WORDS, "--plan-only", "--quiet")
        machine = earnest("run", WORDS, "--plan-only", "--json")
    assert (person.code, machine.code) == (0, 0), person.err + machine.err
    assert "1. s1: Greet in a.txt" in person.out
    assert 'a.txt holds the greeting  [files {"required":' in person.out
    assert "nothing was done; planning took 2 passes" in person.out
    (subtask,) = machine.json["plan"]["subtasks"]
    assert subtask["intent"] == "Greet in a.txt"
    kinds = [message["kind"] for one in earnest("show", "--json").json["rounds"] for message in one["messages"]]
    assert kinds == ["PlanReady"]
    assert not list(home.glob("runs/*/workspace/*"))


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_what_must_never_be_done_stands_in_every_plan(earnest: Earnest, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(GREETS) as server:
        for name, value in environment_of(server).items():
            monkeypatch.setenv(name, value)
        planned = earnest("run", WORDS, "--plan-only", "--quiet", "--never", "*.md", "--never", "any swearing")
        ended = earnest("run", WORDS, "--never", "a.txt")
        told = [request.prompt for request in server.chats if request.prompt_name == "planner"]
    assert 'Nothing at *.md was touched  [diff {"edit":"*","never":["*.md","*.md/**"]}]' in planned.out
    assert "This was not done: any swearing  [a model, by the records]" in planned.out
    assert "Nothing at a.txt was touched" in told[1]
    assert ended.code != 0
    assert "a.txt may not change" in ended.out
    assert earnest("run", WORDS, "--never", "/etc").code == 3


@pytest.mark.slow
def test_a_saved_run_repeats_with_no_model_at_all(
    earnest: Earnest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = {
        **GREETS,
        "planner": plan(judged=True),
        "executor": [calling("write_file", path="a.txt", content=GREETED), calling("shell", command="cat a.txt"), DONE],
        "judge": met_by("c1"),
    }
    saved = tmp_path / "saved.yaml"
    with serving(script) as server, monkeypatch.context() as with_model:
        for name, value in environment_of(server).items():
            with_model.setenv(name, value)
        worked = earnest("run", WORDS, "--save", saved, "--json")
    assert (worked.code, worked.err) == (0, "")
    assert worked.json["usage"]["passes"] == 4
    assert "sha256: " in saved.read_text()
    again = earnest("run", saved, "--json")
    assert (again.code, again.err) == (0, "")
    assert (again.json["directive"], again.json["usage"]["passes"]) == ("accept", 0)
    assert (Path(again.json["workspace"]) / "a.txt").read_text() == GREETED


@pytest.mark.slow
def test_a_run_is_not_saved_whose_criteria_are_met_by_doing_nothing(
    earnest: Earnest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle: JsonObject = {"text": "it runs", "check": {"kind": "command", "command": "true"}}
    subtask: JsonObject = {"sequence": 1, "intent": "Greet in a.txt", "criteria": [idle]}
    script = {**GREETS, "planner": answers({"task_criteria": [idle], "subtasks": [subtask], "rules": []})}
    saved = tmp_path / "saved.yaml"
    with serving(script) as server:
        for name, value in environment_of(server).items():
            monkeypatch.setenv(name, value)
        ended = earnest("run", WORDS, "--save", saved, "--quiet")
    assert "its criteria are met where nothing was done: it runs" in ended.err
    assert ended.code == 3
    assert not saved.exists()


@pytest.mark.slow
def test_a_run_that_edits_is_saved_with_what_it_edits_and_its_criteria_were_tried_on_that(
    earnest: Earnest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "calc").mkdir()
    (tmp_path / "calc" / "a.txt").write_text("nothing yet\n")
    greets: JsonObject = {"kind": "files", "required": [{"path": "calc/a.txt", "contains": ["good morning"]}]}
    stays: JsonObject = {"text": "nothing else differs", "check": {"kind": "diff", "only": ["calc/a.txt"]}}
    is_there: JsonObject = {"kind": "files", "required": ["calc/a.txt"]}
    for check, code in ((greets, 0), (is_there, 3)):
        criterion: JsonObject = {"text": "it greets", "check": check}
        subtask: JsonObject = {"sequence": 1, "intent": "Greet in a.txt", "criteria": [criterion]}
        script = {
            **GREETS,
            "planner": answers({"task_criteria": [stays], "subtasks": [subtask], "rules": []}),
            "executor": [calling("write_file", path="calc/a.txt", content=GREETED), DONE],
        }
        saved = tmp_path / f"saved{code}.yaml"
        with serving(script) as server, monkeypatch.context() as with_model:
            for name, value in environment_of(server).items():
                with_model.setenv(name, value)
            ended = earnest("run", WORDS, "--new", "--edit", tmp_path / "calc", "--save", saved, "--quiet")
        assert (ended.code, saved.exists()) == (code, not code), ended.out + ended.err
    again = earnest("run", tmp_path / "saved0.yaml", "--json")
    assert (again.code, again.err, again.json["usage"]["passes"]) == (0, "", 0)
    assert (tmp_path / "calc" / "a.txt").read_text() == "nothing yet\n"
    assert "+good morning" in earnest("diff").out


def test_a_run_that_was_not_accepted_is_not_saved(
    earnest: Earnest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = tmp_path / "saved.yaml"
    with serving({"perceiver": GREETS["perceiver"]}) as server:
        for name, value in environment_of(server).items():
            monkeypatch.setenv(name, value)
        ended = earnest("run", WORDS, "--save", saved, "--quiet")
    assert "only one that was accepted can be repeated" in ended.err
    assert ended.code == 1
    assert not saved.exists()


def test_what_the_models_were_told_and_answered_is_shown_and_cannot_steer_a_terminal(
    earnest: Earnest, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(GREETS) as server:
        for name, value in environment_of(server).items():
            monkeypatch.setenv(name, value)
        assert earnest("run", WORDS, "--quiet").code == 0
    (path,) = home.glob("runs/*/task.jsonl")
    requests = path.read_text().splitlines()

    machine = earnest("show", "--log", "--json")
    assert (machine.code, machine.err) == (0, "")
    assert [json.loads(line) for line in machine.out.splitlines()] == [json.loads(line) for line in requests]

    person = earnest("show", "--log").out
    judged = sum("kind" in json.loads(line) for line in requests)
    assert person.count("  answer:") == len(requests) - judged == 4
    assert person.count("  SubTaskOutcome\n") == 1
    for part in ("r1/s1/a1/R3/m1  executor@", "  system:", f"  | {WORDS}", "after 2 messages, told before"):
        assert part in person

    evil = {**json.loads(requests[0]), "answer": "fine\x1b]0;title\x07\r\n  answer:", "failure": "\x9b2J"}
    unreadable = ["{", "[" * 100_000, '{"at_ms": 1}', json.dumps({**evil, "at_ms": 10**18})]
    path.write_text("\n".join([*unreadable, json.dumps(evil)]))
    shown = earnest("show", "--log")
    assert shown.err == "earnest: lines of the log that cannot be read: 4\n"
    assert "  | fine\\x1b]0;title\\x07\\x0d\n  |   answer:\n" in shown.out
    assert "  | \\x9b2J\n" in shown.out


def test_the_log_of_a_run_without_a_model_holds_its_verdicts(earnest: Earnest, playbook: Path, home: Path) -> None:
    assert earnest("run", playbook, "--quiet").code == 0
    told = [json.loads(line) for line in earnest("show", "--log", "--json").out.splitlines()]
    assert [one["kind"] for one in told] == ["SubTaskOutcome", "OutcomeSummary"]
    assert told[0]["lines"][0].startswith("C1 verified: ")
    assert "  | C1 verified: " in earnest("show", "--log").out
    run_id = earnest("show", "--json").json["run"]
    (path,) = home.glob("runs/*/task.jsonl")
    path.unlink()
    assert earnest("show", "--log").out == f"nothing was asked or judged in {run_id}\n"


def test_inputs_are_shown_under_their_names(earnest: Earnest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "letter.txt").write_text(GREETED)
    script = {**GREETS, "executor": [calling("shell", command="cp letter.txt a.txt"), DONE]}
    saved = tmp_path / "saved.yml"
    with serving(script) as server:
        for name, value in environment_of(server).items():
            monkeypatch.setenv(name, value)
        ended = earnest("run", WORDS, "--input", tmp_path / "letter.txt", "--save", saved, "--json")
    assert ended.code == 0, ended.out + ended.err
    assert f"letter.txt: {tmp_path / 'letter.txt'}" in saved.read_text()


def test_without_a_model_it_says_what_to_set(earnest: Earnest) -> None:
    ended = earnest("run", WORDS)
    assert (ended.code, ended.out) == (3, "")
    for word in ("EARNEST_BASE_URL", "EARNEST_MODEL", "playbooks work without a model"):
        assert word in ended.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "a task", "--save", "plan.txt"), "ends in .yaml or .yml"),
        (("run", "a task", "--save", "nowhere/plan.yaml"), "has no folder to be in"),
        (("run", "a task", "--input", "nowhere"), "there is no such file or folder"),
        (("run", "a task", "--plan-only", "--save", "x.yaml"), "--plan-only does nothing"),
        (("run", "small.yaml", "--save", "x.yaml"), "a playbook is one already"),
        (("run", "small.yaml", "--input", "."), "given as NAME=PATH"),
        (("chat",), "takes a terminal"),
    ],
)
def test_bad_usage_is_refused_before_anything_is_opened(
    arguments: tuple[str, ...], words: str, earnest: Earnest, home: Path
) -> None:
    ended = earnest(*arguments)
    assert (ended.code, ended.out) == (3, "")
    assert words in ended.err
    assert not home.exists()


def test_a_saved_playbook_never_replaces_a_file(earnest: Earnest, playbook: Path, home: Path) -> None:
    before = playbook.read_bytes()
    assert "is there already" in earnest("run", WORDS, "--save", playbook).err
    assert playbook.read_bytes() == before
    assert not home.exists()


@pytest.mark.slow
def test_the_doctor_names_models_and_asks_them_only_online(earnest: Earnest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EARNEST_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("EARNEST_MODEL", "small")
    models = earnest("doctor", "--json").json["models"]
    assert models["well"] is True
    assert models["detail"].startswith("small at 127.0.0.1:1 for R1, R2")
    online = earnest("doctor", "--json", "--online")
    assert online.code == 1
    assert "cannot be reached" in json.dumps(online.json["models"])


COUNTING = """\
format: earnest-playbook-v1
intent: Count the lines
task_class: count_lines
inputs: {log: ./log}
subtasks:
  - id: count
    intent: Count them
    criteria:
      - text: the number is written
        check: {kind: files, required: [{path: n, regex: '\\d'}]}
    approaches:
      - id: wc
        steps: [{tool: shell, args: {command: "wc -l < log > n"}}]
"""


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_a_playbook_is_given_another_input_of_the_same_name(earnest: Earnest, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("one\n")
    (tmp_path / "other").write_text("one\ntwo\n")
    (tmp_path / "p.yaml").write_text(COUNTING)
    for options, count in (((), "1"), (("--input", f"log={tmp_path / 'other'}"), "2")):
        ended = earnest("run", tmp_path / "p.yaml", *options, "--json")
        assert ended.code == 0, ended.err
        assert (Path(ended.json["workspace"]) / "n").read_text().strip() == count
    refused = earnest("run", tmp_path / "p.yaml", "--input", "lag=/etc")
    assert (refused.code, "has no input 'lag'; it has log" in refused.err) == (3, True)
    assert "no such file" in earnest("run", tmp_path / "p.yaml", "--input", "log=nowhere").err
