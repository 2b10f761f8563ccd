"""`earnest run --executor`: whatever the program is or does, its work is judged, and applied only if it is verified."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import Earnest, Ended

SPEC = """\
format: earnest-spec-v1
title: Mend add
text: add must add
criteria:
  - id: C1
    text: add adds
    check: {kind: unit_tests, module: calc.calc, tests: [hidden/test_calc.py]}
  - id: C2
    text: nothing else is touched
    check: {kind: diff, only: [calc/calc.py]}
"""
HIDDEN = """\
import unittest
from calc import calc

class Adding(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(2, 3), 5)
"""
BROKEN = "def add(a, b):\n    return a - b\n"
MEND = "sed -i 's/a - b/a + b/' calc/calc.py"


def is_running(pid: int) -> bool:
    """False for one that has ended, too, whom nobody has buried yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"calc/calc.py": BROKEN, "hidden/test_calc.py": HIDDEN, "spec.yaml": SPEC}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    git = ("git", "-C", "calc", "-c", "user.name=x", "-c", "user.email=x@localhost")
    for step in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run([*git, *step], check=True)
    return tmp_path / "calc"


def worked(earnest: Earnest, script: str, *options: str, seconds: int = 60) -> Ended:
    Path("agent.sh").write_text(f"#!/bin/sh\n{script}\n")
    Path("agent.sh").chmod(0o755)
    told = ("--executor", "./agent.sh", "--spec", "spec.yaml", "--edit", "calc", "--quiet")
    return earnest("run", *told, "--max-time", str(seconds), *options, "Mend add")


@pytest.mark.slow
@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("script", "advice"),
    [
        ("touch calc/B.txt calc/b.txt", "'calc/b.txt' cannot be told from 'calc/B.txt' everywhere: rename one of them"),
        ("touch \"$(printf 'calc/a\\nb')\"", "'calc/a\\nb' has a control character in its name: rename it"),
    ],
)
def test_a_name_beside_which_nothing_can_be_judged_is_named_with_what_to_do(
    earnest: Earnest, project: Path, script: str, advice: str
) -> None:
    seen = project.parent / "seen"
    ended = worked(earnest, f"{MEND}; {script}; cat >> {seen}")
    assert ended.code == 1
    assert f"- C1, C2: {advice}" in seen.read_text(), "it is sent back, once for all criteria"
    assert advice in ended.out
    assert "  next   mend what the reasons name, and start again" in ended.out
    assert "a - b" in (project / "calc.py").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_a_name_that_is_mended_when_it_is_sent_back_is_accepted(earnest: Earnest, project: Path) -> None:
    told = 'feedback="$EARNEST_TASK_DIR/feedback.md"; if [ -s "$feedback" ]; then rm calc/CALC.py; fi'
    ended = worked(earnest, f"{MEND}; [ -e calc/CALC.py ] || touch calc/CALC.py; {told}", "--apply")
    assert ended.code == 0, ended.out
    assert "1 round" in ended.out
    assert "a + b" in (project / "calc.py").read_text()


@pytest.mark.slow
def test_a_program_that_mends_it_is_accepted_and_applied_on_request(earnest: Earnest, project: Path) -> None:
    ended = worked(earnest, f"git -C calc log --oneline; {MEND}; echo mended", "--apply")
    assert ended.code == 0, ended.out + ended.err
    assert "a + b" in (project / "calc.py").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("home", "project")
def test_what_it_says_is_shown_while_it_works_if_that_is_wanted(earnest: Earnest) -> None:
    Path("agent.sh").write_text(f"#!/bin/sh\necho thinking\n{MEND}\n")
    Path("agent.sh").chmod(0o755)
    told = ("--executor", "./agent.sh", "--spec", "spec.yaml", "--edit", "calc")
    assert "│ thinking" in earnest("run", "-v", *told, "Mend add").out


@pytest.mark.slow
@pytest.mark.usefixtures("home", "project")
def test_it_is_told_the_task_the_criteria_and_what_is_unmet(earnest: Earnest, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    script = f'cp -r "$EARNEST_TASK_DIR/." {seen}-$(ls -d {seen}-* 2>/dev/null | wc -l); cat > {seen}-stdin; echo said'
    assert worked(earnest, script).code == 1
    first, second = tmp_path / "seen-0", tmp_path / "seen-2"
    assert (first / "task.md").read_text() == "Mend add\n"
    assert "hidden" not in (first / "criteria.json").read_text(), "what is hidden stays so"
    assert '"calc/calc.py"' in (first / "criteria.json").read_text(), "what may be touched is told"
    assert (first / "feedback.md").read_text() == ""
    assert "1 of 1 tests failed" in (second / "feedback.md").read_text()
    assert (second / "previous" / "1.txt").read_text().strip() == "said"
    assert "1 of 1 tests failed" in (tmp_path / "seen-stdin").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'all tests pass, everything is verified'", "1 of 1 tests failed"),
        ("exit 0", "1 of 1 tests failed"),
        (f"{MEND}; echo no >&2; exit 7", "exit code 7: no"),
        (f"{MEND}; echo x > calc/more.py", "calc/more.py may not change"),
        (f"{MEND}; ln -s /etc/passwd calc/link", "link"),
        (f"{MEND}; kill -9 $$", "signal 9"),
        (f"{MEND}; head -c 3000000 /dev/zero", "more than 1048576 bytes"),
    ],
)
def test_one_that_lies_or_does_more_than_it_may_is_named_and_nothing_is_applied(
    earnest: Earnest, project: Path, script: str, why: str
) -> None:
    ended = worked(earnest, script, "--apply")
    assert ended.code == 1
    assert why in ended.out
    assert (project / "calc.py").read_text() == BROKEN


@pytest.mark.slow
@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("place", "code"), [("calc.py", 1), ("calc/*.py", 1), ("**/*.md", 1), ("tests", 0)])
def test_what_must_never_be_touched_is_measured(earnest: Earnest, project: Path, place: str, code: int) -> None:
    ended = worked(earnest, f"{MEND}; echo x > notes.md", "--never", place, "--apply")
    assert ended.code == code, ended.out + ended.err
    assert ("may not change" in ended.out) is bool(code)
    assert ((project / "calc.py").read_text() == BROKEN) is bool(code)


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_one_that_hangs_is_ended_in_time(earnest: Earnest, project: Path) -> None:
    began = time.monotonic()
    ended = worked(earnest, f"{MEND}; sleep 600", seconds=3)
    assert ended.code == 1
    assert time.monotonic() - began < 60
    assert (project / "calc.py").read_text() == BROKEN


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_whom_it_leaves_behind_is_ended_and_it_has_failed(earnest: Earnest, project: Path, tmp_path: Path) -> None:
    fork = "import subprocess; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid)"
    ended = worked(earnest, f'{MEND}; {sys.executable} -c "{fork}" >> {tmp_path}/pids')
    assert ended.code == 1
    assert "behind" in ended.out
    assert (project / "calc.py").read_text() == BROKEN
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        assert not is_running(pid)


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_one_that_deletes_the_history_harms_only_its_copy(earnest: Earnest, project: Path) -> None:
    assert worked(earnest, f"rm -rf calc/.git; {MEND}", "--apply").code == 0
    log = subprocess.run(["git", "-C", project, "log", "--oneline"], capture_output=True, text=True, check=True)
    assert "first" in log.stdout
    assert "a + b" in (project / "calc.py").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_what_it_edits_outside_its_copy_is_a_conflict_and_stays(earnest: Earnest, project: Path) -> None:
    ended = worked(earnest, f"{MEND}; echo '# mine' >> {project}/calc.py", "--apply")
    assert ended.code == 2
    assert f"{project}/calc.py" in ended.err
    assert (project / "calc.py").read_text() == BROKEN + "# mine\n"


@pytest.mark.slow
@pytest.mark.usefixtures("home", "project")
def test_in_the_sandbox_it_reaches_nothing_but_its_copy(earnest: Earnest, tmp_path: Path) -> None:
    (tmp_path / "agent.sh").write_text("")
    shown = f"cat {{task_dir}}/task.md && {MEND} && ! touch {tmp_path}/outside"
    ended = earnest(
        *("run", "--executor", f"sh -c '{shown.replace(chr(39), chr(39) + chr(34) + chr(39) + chr(34) + chr(39))}'"),
        *("--executor-sandbox", "--spec", "spec.yaml", "--edit", "calc", "--quiet", "Mend add"),
    )
    assert ended.code == 0, ended.out + ended.err
    assert not (tmp_path / "outside").exists()


@pytest.mark.usefixtures("home", "project")
@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--executor", "'", "Mend"), "quotation"),
        (("--executor", " ", "Mend"), "no program"),
        (("--spec", "spec.yaml", "Mend"), "--executor"),
        (("--executor", "true", "--spec", "missing.yaml", "Mend"), "missing.yaml"),
        (("--executor", "true", "playbook.yaml"), "in words"),
    ],
)
def test_what_cannot_be_meant_is_refused(earnest: Earnest, options: tuple[str, ...], why: str) -> None:
    ended = earnest("run", *options)
    assert ended.code == 3
    assert why in ended.err
