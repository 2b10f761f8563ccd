"""What beginners do: each mistake ends with what it was, where, and what to do, in at most three lines."""

from pathlib import Path
from typing import Final

import pytest

from .conftest import PLAYBOOK, Earnest

SPEC: Final = """\
format: earnest-spec-v1
title: A file
text: Hand in a.txt.
criteria:
  - text: a.txt is there
    check: {kind: files, required: [a.txt]}
"""
PACKAGES: Final = SPEC.replace("criteria:", "environment: {requirements: r.txt}\ncriteria:")
NO_KEY: Final = "no agent has credentials in"
VERIFY: Final = "verify s.yaml work"

IN_PLAYBOOKS: Final = [
    ("intent: Write a file", "intent: Write: a file", "p.yaml:2: ", "stands in quotes"),
    ("    intent: Write a.txt", "\tintent: Write a.txt", "p.yaml:6: ", "indent with spaces"),
    ("intent: Write a file", "intent: 5", "p.yaml:2: ", "put it in quotes"),
    ("intent: Write a file", "intent: &x Write a file", "p.yaml:2: ", "write the value out"),
    ("task_class: write_a_file", "task_class: Write a file", "p.yaml:3: ", "1 to 64 of a-z, 0-9 and _"),
    ("task_class: write_a_file\n", "", "p.yaml:1: ", "the key 'task_class' is missing"),
    ("format: earnest-playbook-v1\n", "", "p.yaml:1: ", "the key 'format' is missing"),
    ("subtasks:", "steps:", "p.yaml:4: ", "unknown key 'steps'; known keys: "),
    ("id: write", "id: Write It", "p.yaml:5: ", "1 to 64 of a-z, 0-9 and _"),
    ("tool: write_file", "tool: bash", "p.yaml:12: ", "known tools: "),
    ("content: done", "text: done", "p.yaml:12: ", "content must be a text"),
    ("required: [a.txt]", "required: a.txt", "p.yaml:9: ", "must be a list"),
    ("required: [a.txt]", "required: [/etc/a.txt]", "p.yaml:9: ", "must be a relative path"),
    ("required: [a.txt]", "required: [../a.txt]", "p.yaml:9: ", "must be a relative path"),
    ("kind: files", "kind: file", "p.yaml:9: ", "known kinds: "),
    ("kind: files, required: [a.txt]", "kind: command", "p.yaml:9: ", "the key 'command' is missing"),
    ("[a.txt]", "[{path: a.txt, regex: '['}]", "p.yaml:9: ", "is no regular expression"),
    ("subtasks:", "budget: {time: 5}\nsubtasks:", "p.yaml:4: ", "did you mean 'time_s'?"),
    ("subtasks:", "budget: {time_s: 5m}\nsubtasks:", "p.yaml:4: ", "must be an integer, not text"),
    ("subtasks:", "inputs: [data]\nsubtasks:", "p.yaml:4: ", "must be a mapping"),
    ("subtasks:", "inputs: {data: nowhere}\nsubtasks:", "p.yaml:4: ", "no such file or folder"),
    ("subtasks:", "environment: {requirements: r.txt}\nsubtasks:", "p.yaml:4: ", "r.txt: No such file"),
    ("subtasks:", "environment: r.txt\nsubtasks:", "p.yaml:4: ", "must be a mapping with the keys requirements"),
    ("subtasks:", "intent: again\nsubtasks:", "p.yaml:4: ", "already on line 2"),
    ("[a.txt]", "[a.txt", "p.yaml:9: ", "is not closed, or lacks a comma"),
    ("intent: Write a file", "intent: 'Write a file", "p.yaml:2: ", "quotes that open here are not closed"),
    ("intent: Write a file", "intent: @me", "p.yaml:2: ", "cannot begin so: put it in quotes"),
    ("subtasks:", "subtasks", "p.yaml:4: ", "a key without its colon"),
    ("intent: Write a file", "intent: - Write", "p.yaml:2: ", "a list begins on a line of its own"),
    ("format:", "\tformat:", "p.yaml:1: ", "indent with spaces"),
]
IN_SPECS: Final = [
    ("title: A file\n", "", "s.yaml:1: ", "the key 'title' is missing"),
    ("criteria:", "criterion:", "s.yaml:4: ", "did you mean 'criteria'?"),
    ("    check: {kind: files, required: [a.txt]}\n", "", "s.yaml:5: ", "each criterion needs a check"),
    ("files, required: [a.txt]", "unit_tests, module: a, tests: [t.py]", "s.yaml:6: ", "no file 't.py' beside"),
    ("files, required: [a.txt]", "json_schema, path: a, schema: s.json", "s.yaml:6: ", "no file 's.json' beside"),
    ("[a.txt]", "[a.txt], limits: {wall_s: 5}", "s.yaml:6: ", "remove the limits"),
    ("files, required: [a.txt]", "command, command: ls, limits: {wall: 5}", "s.yaml:6: ", "did you mean 'wall_s'?"),
    ("files, required: [a.txt]", "command, command: ls, exit: 0", "s.yaml:6: ", "did you mean 'exit_code'?"),
    ("a.txt is there", "a.txt is there\n    required: maybe", "s.yaml:6: ", "must be true or false"),
    ("criteria:", "acceptance: me\ncriteria:", "s.yaml:4: ", "must be one of machine, buyer"),
    ("required: [a.txt]", "required: []", "s.yaml:6: ", "must have 1 to 100 items"),
    ("title: A file", 'title: "C:\\Work"', "s.yaml:2: ", "double it, or take single quotes"),
    ("criteria:", "  criteria:", "s.yaml:4: ", "indented deeper than its key"),
    ("  - text: a.txt is there", " - text: a.txt is there", "s.yaml:6: ", "indented"),
]
IN_OTHER_FILES: Final = [
    ({"p.yaml": ""}, "run p.yaml", "p.yaml: the file is empty"),
    ({"p.yaml": "just words"}, "run p.yaml", "must be a mapping with the keys"),
    ({"p.yaml": SPEC}, "run p.yaml", "p.yaml:1: this is a specification, by which `earnest verify` judges"),
    ({"s.yaml": PLAYBOOK}, VERIFY, "s.yaml:1: this is a playbook, which `earnest run` works"),
    ({"s.yaml": PACKAGES}, "environment build s.yaml", "s.yaml:4: environment.requirements: "),
    ({"s.yaml": PACKAGES, "r.txt": "-r x\n"}, "environment build s.yaml", "r.txt:1: the option -r is not taken"),
    ({"s.yaml": PACKAGES, "r.txt": "pytest=8\n"}, "environment build s.yaml", "no requirement such as `pytest>=8`"),
    ({"s.yaml": PACKAGES, "r.txt": "pytest\n"}, VERIFY, "`earnest environment build s.yaml` fetches"),
    ({"home/settings.toml": "sandbox_slot = 5\n"}, VERIFY, "did you mean 'sandbox_slots'?"),
    ({"home/settings.toml": "sandbox_slots = 0\n"}, VERIFY, "must be a whole number from 1 to 64"),
    ({"home/settings.toml": "[judge]\nmodel = 'x'\n"}, VERIFY, "model is given without base_url"),
    ({"home/settings.toml": "x = [\n"}, VERIFY, "settings.toml: not TOML"),
    ({"playbook.yaml": "x"}, "init playbook", "playbook.yaml is there already"),
]
IN_WORDS: Final = [
    ("run nowhere.yaml", "nowhere.yaml: No such file or directory in /"),
    ("run pp.yaml", "did you mean 'p.yaml'?"),
    ("run none/p.yaml", "there is no folder /"),
    ("run p.ymal", "did you mean 'p.yaml'?"),
    ("run work/", "work: Is a directory: name a file in it"),
    ("run .", "Is a directory: name a file in it"),
    ("lint p.yml", "did you mean 'p.yaml'?"),
    ("run", "give either a TASK or --resume RUN"),
    ("run --speed p.yaml", "No such option '--speed'"),
    ("rnu p.yaml", "Did you mean 'run'?"),
    ("run tidy --max-cost 5€", "is no amount from 0 to"),
    ("run --input work p.yaml", "given as NAME=PATH"),
    ("run --save x.yaml p.yaml", "a playbook is one already"),
    ("run --output work p.yaml", "name a folder that is not, or an empty one"),
    ("run --watch tidy", "--watch is for a playbook"),
    ("verify s.yaml", "give SPEC and SUBMISSION"),
    ("verify work s.yaml", "work: Is a directory"),
    ("verify s.yaml nowhere", "nowhere: no such folder or archive"),
    ("environment build", "asks for no packages"),
    ("environment remove 4f", "see `earnest environment list`"),
    ("replay 4f", "no verdict is kept under '4f'"),
    ("show", "the first `earnest run` or `earnest serve` makes it"),
    ("wallet", NO_KEY),
    ("jobs list", "`earnest keys register` makes them"),
    ("heartbeat run --exec true", NO_KEY),
    ("heartbeat show", "HEARTBEAT.md: No such file"),
    ("init plan", "'playbook', 'spec', 'heartbeat'"),
    ("help dance", "earnest has no command 'dance'"),
    ("memory query pytest", "such as intent:python_inventory"),
    ("serve --port 99999", "--port': must be a whole number from 0 to 65535"),
    ("serve --port http", "--port': must be a whole number"),
    ("serve --host 999.1.1.1", "--port N takes another"),
    ("simulate --agents two", "--agents': must be a whole number"),
    ("jobs list --state opened", "'--state': 'opened' is not one of 'open', 'taken'"),
    ("keys new --scope admin", "'--scope': 'admin' is not one of 'live', 'hb'"),
    ("keys register Bad-Handle", "3 to 32 of a-z, 0-9 and _"),
    ("keys register ann --url nowhere", "http(s)://HOST[:PORT]"),
    ("wallet --as ann", "`earnest keys register ann` makes them"),
    ("heartbeat lint work", "Is a directory: name a file in it"),
    ("restore nowhere", "holds no backup that was finished"),
]
MISTAKES: Final = [
    *(({"p.yaml": PLAYBOOK.replace(old, new, 1)}, "run p.yaml", *said) for old, new, *said in IN_PLAYBOOKS),
    *(({"s.yaml": SPEC.replace(old, new, 1)}, VERIFY, *said) for old, new, *said in IN_SPECS),
    *IN_OTHER_FILES,
    *(({}, *one) for one in IN_WORDS),
]


def test_there_are_ninety_and_each_changes_something() -> None:
    assert len(MISTAKES) >= 90
    for old, _, *_ in IN_PLAYBOOKS:
        assert old in PLAYBOOK
    for old, _, *_ in IN_SPECS:
        assert old in SPEC


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake[1]}: {mistake[-1]}")
def test_a_mistake_is_told_in_three_lines_with_what_to_do(
    mistake: tuple[dict[str, str], str, str], earnest: Earnest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, command, *words = mistake
    monkeypatch.chdir(tmp_path)
    given = {"p.yaml": PLAYBOOK, "s.yaml": SPEC, "work/a.txt": "a", **files}
    for name, text in given.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    told = earnest(*command.split())
    assert told.code == 3
    assert told.out == ""
    lines = told.err.splitlines()
    assert 1 <= len(lines) <= 3, told.err
    assert all(line.startswith("earnest: ") for line in lines)
    for word in words:
        assert word in told.err, told.err


@pytest.mark.parametrize(
    ("variable", "value", "command", "said"),
    [
        ("EARNEST_HOME", "/proc/x", "run p.yaml", "the data directory /proc/x cannot be made: "),
        ("EARNEST_HOME", "/proc/x", "verify --keep s.yaml work", "EARNEST_HOME names another"),
        ("EARNEST_HOME", "p.yaml", "runs", "p.yaml is not a folder"),
        ("EARNEST_KEY", "wrong", "wallet", "at http://127.0.0.1:9: "),
    ],
)
def test_a_mistake_in_a_variable_names_it(
    variable: str,
    value: str,
    command: str,
    said: str,
    earnest: Earnest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(PLAYBOOK, encoding="utf-8")
    (tmp_path / "s.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("EARNEST_URL", "http://127.0.0.1:9")
    monkeypatch.setattr("earnest.client.client._NEVER._flag", True)  # nobody waits between attempts
    monkeypatch.setenv(variable, value)
    told = earnest(*command.split())
    assert told.code == 3
    assert said in told.err
    assert len(told.err.splitlines()) <= 3


def test_a_file_that_is_no_utf_8_is_named_with_its_line(
    earnest: Earnest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_bytes(PLAYBOOK.replace("Write a file", "Écrire").encode("latin-1"))
    assert "p.yaml:2: the file must be UTF-8 text" in earnest("run", "p.yaml").err
