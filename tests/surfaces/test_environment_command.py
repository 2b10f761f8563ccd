"""Packages in sandboxes, from the file that asks for them to the verdict that names them."""

from pathlib import Path

import pytest

from local_wheels import only_wheels

from .conftest import Earnest

SPEC = """\
format: earnest-spec-v1
title: Greetings
text: solution.py greets.
environment: {requirements: requirements.txt}
criteria:
  - text: a command finds the package, its script and the same Python
    check:
      kind: command
      command: "greet && python3 -c 'import greetings, sys; assert sys.prefix == \\"/opt/earnest\\"'"
      stdout_contains: hello
  - text: hidden tests find it, and so does the submission
    check: {kind: unit_tests, module: solution, tests: [hidden_test.py]}
"""
HIDDEN = """\
import unittest
import greetings
import solution

class Greets(unittest.TestCase):
    def test_it_greets(self):
        self.assertEqual(solution.answer(), greetings.greet())
"""
PLAYBOOK = """\
format: earnest-playbook-v1
intent: Greet
task_class: greet
environment: {requirements: requirements.txt}
subtasks:
  - id: greet
    intent: Write hello.txt
    criteria:
      - text: it greets
        check: {kind: files, required: [{path: hello.txt, contains: [hello]}]}
      - text: the package is there
        check: {kind: command, command: [python3, -c, import greetings]}
    approaches:
      - id: greet
        steps: [{tool: shell, args: {command: greet > hello.txt}}]
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec and a playbook whose packages lie in a folder."""
    only_wheels(tmp_path / "wheels", monkeypatch)
    (tmp_path / "work").mkdir()
    solution = "import greetings\n\ndef answer():\n    return greetings.greet()\n"
    files = {"spec.yaml": SPEC, "playbook.yaml": PLAYBOOK, "hidden_test.py": HIDDEN, "work/solution.py": solution}
    for name, text in {**files, "requirements.txt": "greetings\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / "spec.yaml"


@pytest.mark.slow
def test_packages_are_fetched_by_one_command_and_found_by_all_others(earnest: Earnest, spec: Path) -> None:
    work, playbook = spec.with_name("work"), spec.with_name("playbook.yaml")
    for command in (("verify", spec, work), ("lint", spec), ("lint", playbook), ("run", playbook)):
        asked = earnest(*command)
        assert asked.code == 3
        assert f"{command[1]}:4: environment.requirements: its packages are not built yet" in asked.err
        assert f"`earnest environment build {command[1]}`" in asked.err

    built = earnest("environment", "build", spec)
    assert built.code == 0
    assert "fetches greetings" in built.err
    assert earnest("environment", "build", playbook).out.startswith("built already")

    judged = earnest("verify", spec, work, "--json").json
    assert [one["verdict"] for one in judged["criteria"]] == ["unclear", "verified"], judged["criteria"]
    assert "ended as it should" in judged["criteria"][0]["reason"]
    named = earnest("environment", "list", "--json").json
    assert f"with environment {named[0]['digest'][:19]}" in judged["sandbox"]
    assert earnest("run", "--quiet", playbook).code == 0

    assert earnest("replay", judged["id"]).code == 0
    assert earnest("environment", "remove", named[0]["id"]).code == 0
    gone = earnest("replay", judged["id"])
    assert (gone.code, "build it again" in gone.err) == (3, True)


@pytest.mark.slow
def test_the_settings_environment_is_that_of_all_that_asks_for_none(earnest: Earnest, spec: Path, home: Path) -> None:
    home.mkdir()
    (home / "settings.toml").write_text(f'[environment]\nrequirements = "{spec.parent}/requirements.txt"\n')
    spec.write_text(SPEC.replace("environment: {requirements: requirements.txt}\n", ""), encoding="utf-8")
    asked = earnest("verify", spec, spec.with_name("work"))
    assert f"{home}/settings.toml:2: environment.requirements: its packages are not built yet" in asked.err
    assert earnest("environment", "build").code == 0
    judged = earnest("verify", spec, spec.with_name("work"), "--json").json
    assert [one["verdict"] for one in judged["criteria"]] == ["unclear", "verified"], judged["criteria"]


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ("{requirements: missing.txt}", "missing.txt: No such file or directory"),
        ("{venv: nowhere}", "nowhere is no virtual environment"),
        ("{programs: [no-such-program]}", "not installed in /usr/local/bin, /usr/bin, /bin: no-such-program"),
        ("{pyproject: pyproject.toml, extra: x}", "pyproject.toml: No such file"),
    ],
)
def test_what_is_not_there_is_named_with_its_line(earnest: Earnest, spec: Path, environment: str, said: str) -> None:
    spec.write_text(SPEC.replace("{requirements: requirements.txt}", environment), encoding="utf-8")
    for command in ("verify", "lint"):
        told = earnest(command, spec, *([spec.with_name("work")] if command == "verify" else []))
        assert told.code == 3
        assert f"{spec}:4: environment." in told.err
        assert said in told.err


def test_there_is_nothing_to_build_where_nothing_is_asked_for(earnest: Earnest, playbook: Path) -> None:
    told = earnest("environment", "build", playbook)
    assert (told.code, "asks for no packages" in told.err) == (3, True)
