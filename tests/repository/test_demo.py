"""Does the demonstration fail when an example ends otherwise than it promises?"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .source import ROOT

# A stand-in for the program: exits with the code that the playbook's folder is named after.
PROGRAM = """#!/bin/sh
echo "$@"
case "$2" in */ends-*) code=${2#*/ends-}; exit "${code%%/*}" ;; esac
"""

PROGRAMS = {"EARNEST": "earnest", "PYTHON": "python"}


def _demo(folder: Path, playbooks: dict[str, str]) -> subprocess.CompletedProcess[str]:
    for name, text in playbooks.items():
        playbook = folder / "examples" / name / "playbook.yaml"
        playbook.parent.mkdir(parents=True)
        playbook.write_text(text, encoding="utf-8")
    program = folder / "earnest"
    program.write_text(PROGRAM, encoding="utf-8")
    program.chmod(0o755)
    script = shutil.copy(ROOT / "examples" / "demo.sh", folder / "examples")
    environment = {"EARNEST": str(program), "PATH": "/usr/bin:/bin", "TMPDIR": str(folder)}
    return subprocess.run(["sh", script], env=environment, capture_output=True, text=True, check=False)


def test_examples_that_end_as_promised_are_followed_by_the_audit_report(tmp_path: Path) -> None:
    done = _demo(
        tmp_path, {"ends-0": "# exit code: 0\n", "ends-1": "# about files\n# exit code: 1, nothing to be done\n"}
    )
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "audit report"


@pytest.mark.parametrize("text", ["# exit code: 0\n", "intent: without a promise\n"])
def test_an_example_that_ends_otherwise_is_named_and_fails_the_demo(tmp_path: Path, text: str) -> None:
    done = _demo(tmp_path, {"ends-2": text})
    assert done.returncode == 1
    assert "examples/ends-2/playbook.yaml: exit code 2" in done.stderr


def test_the_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    _demo(tmp_path, {"ends-0": "# exit code: 0\n"})
    assert {path.name for path in tmp_path.iterdir()} == {"earnest", "examples"}


def test_every_example_promises_how_it_ends() -> None:
    playbooks = list((ROOT / "examples").glob("*/playbook.yaml"))
    assert len(playbooks) >= 4
    assert [path.parent.name for path in playbooks if "# exit code: " not in path.read_text(encoding="utf-8")] == []


@pytest.mark.slow  # runs of its own, with a model server beside them
def test_the_demonstration_of_edits_applies_what_was_verified_and_leaves_nothing_behind(tmp_path: Path) -> None:
    programs = {name: str(Path(sys.executable).with_name(program)) for name, program in PROGRAMS.items()}
    environment = {**programs, "PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)}
    script = ROOT / "examples" / "edit" / "demo.sh"
    done = subprocess.run(["sh", script], env=environment, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no tool call succeeded" in done.stdout, "the model's first word was believed"
    assert done.stdout.count("ACCEPTED") == 2
    assert done.stderr.endswith("OK\n")
    assert list(tmp_path.iterdir()) == []
