"""`earnest run` over the user's own files, and what becomes of the change."""

import subprocess
from pathlib import Path

import pytest

from .conftest import Earnest

PLAYBOOK = """\
format: earnest-playbook-v1
intent: Mend add
task_class: mend_add
edits: {calc: ./calc}
criteria:
  - text: nothing but the source differs
    check: {kind: diff, only: ['calc/calc.py'], files_max: 1}
subtasks:
  - id: mend
    intent: Mend it
    criteria:
      - text: add adds
        check: {kind: command, command: "cd calc && python3 -c 'import calc; assert calc.add(2, 3) == 5'"}
    approaches:
      - id: sed
        steps: [{tool: shell, args: {command: "cd calc && git log --oneline && sed -i 's/a - b/a + b/' calc.py EXTRA"}}]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "calc"
    folder.mkdir()
    (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (folder / "link").symlink_to("calc.py")
    (folder / "out").symlink_to("/etc/hosts")
    git = ("git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@localhost")
    for step in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run([*git, *step], check=True)
    return folder


def playbook(tmp_path: Path, extra: str = "") -> Path:
    path = tmp_path / "mend.yaml"
    path.write_text(PLAYBOOK.replace("EXTRA", extra))
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_an_accepted_change_is_kept_shown_applied_and_taken_back(
    earnest: Earnest, project: Path, tmp_path: Path
) -> None:
    ran = earnest("run", playbook(tmp_path))
    assert ran.code == 0, ran.out + ran.err
    assert "`earnest apply run_" in ran.out
    assert "not in the copy: calc/out: a link that may lead outside" in ran.out
    assert "a - b" in (project / "calc.py").read_text()
    diff = earnest("diff")
    assert "-    return a - b\n+    return a + b" in diff.out
    assert earnest("diff", "--json").json["edits"][0]["files"] == [
        {"kind": "changed", "path": "calc/calc.py", "added": 1, "removed": 1}
    ]
    applied = earnest("apply")
    assert (applied.code, applied.err) == (0, "")
    assert "a + b" in (project / "calc.py").read_text()
    status = subprocess.run(["git", "-C", project, "status", "--short"], capture_output=True, text=True, check=True)
    assert status.stdout == " M calc.py\n", "nothing is staged, and nothing of ours lies about"
    assert earnest("undo").code == 0
    assert "a - b" in (project / "calc.py").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("home", "project")
def test_of_a_great_change_the_first_files_are_named_and_the_others_counted(earnest: Earnest, tmp_path: Path) -> None:
    path = playbook(tmp_path, "&& touch $(seq 150)")
    path.write_text(path.read_text().replace("only: ['calc/calc.py'], files_max: 1", "files_max: 200"))
    ran = earnest("run", path)
    assert ran.code == 0, ran.out + ran.err
    assert ran.out.count("  added ") == 100
    assert "  and 51 more: `earnest diff run_" in ran.out
    assert len(earnest("diff", "--stat").out.splitlines()) == 1 + 151 + 1


@pytest.mark.usefixtures("home")
def test_a_conflict_names_the_file_and_ends_with_2(earnest: Earnest, project: Path, tmp_path: Path) -> None:
    earnest("run", playbook(tmp_path), "--quiet")
    (project / "calc.py").write_text("mine\n")
    ended = earnest("apply")
    assert ended.code == 2
    assert f"{project}/calc.py" in ended.err
    assert (project / "calc.py").read_text() == "mine\n"


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_what_touches_more_than_it_may_is_not_applied(earnest: Earnest, project: Path, tmp_path: Path) -> None:
    ran = earnest("run", playbook(tmp_path, "&& echo x > more.txt"), "--quiet")
    assert ran.code == 1
    assert "calc/more.txt may not change" in ran.out
    ended = earnest("apply")
    assert ended.code == 3
    assert "--unverified" in ended.err
    assert earnest("apply", "--unverified").code == 3, "nobody was there to say yes"
    assert earnest("apply", "--unverified", "--yes").code == 0
    assert (project / "more.txt").exists()


@pytest.mark.usefixtures("home", "project")
@pytest.mark.parametrize("done", ["link", "&& rm link", "&& ln -s calc.py other", "&& ln -sf ./calc.py link"])
def test_what_changes_a_link_is_not_accepted(earnest: Earnest, tmp_path: Path, done: str) -> None:
    ran = earnest("run", playbook(tmp_path, done), "--quiet")
    assert ran.code == 1, "it could never be applied"
    assert "a link came, went or changed" in ran.out


@pytest.mark.usefixtures("home", "project")
def test_a_private_place_is_not_taken_in(earnest: Earnest, tmp_path: Path, home: Path) -> None:
    home.mkdir(exist_ok=True)
    path = playbook(tmp_path)
    path.write_text(path.read_text().replace("./calc}", f"'{tmp_path}'}}"))
    ended = earnest("run", path)
    assert ended.code == 3
    assert "private" in ended.err


@pytest.mark.usefixtures("home")
def test_a_run_without_edits_has_no_change(earnest: Earnest, tmp_path: Path) -> None:
    path = tmp_path / "plain.yaml"
    path.write_text(
        PLAYBOOK.replace("edits: {calc: ./calc}\n", "").replace("cd calc && git log --oneline && sed", "sed")
    )
    earnest("run", path, "--quiet")
    ended = earnest("diff")
    assert ended.code == 3
    assert "--edit" in ended.err


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_a_change_is_kept_until_it_is_applied_and_after_a_sweep_it_is_told_no_more(
    earnest: Earnest, project: Path, tmp_path: Path
) -> None:
    earnest("run", playbook(tmp_path), "--quiet")
    swept = ("gc", "--runs-days", "0", "--json")
    assert earnest(*swept).json["kept"] == {"unapplied": 1}
    assert earnest("apply").code == 0
    assert len(earnest(*swept).json["runs"]) == 1
    for command in ("diff", "undo", "diff", "undo"):
        ended = earnest(command)
        assert (ended.code, "were swept" in ended.err) == (3, True), (command, ended)
    assert "a + b" in (project / "calc.py").read_text()
    assert earnest("show").code == 0
