"""Does `earnest heartbeat` read, change, pin and compare a file, and end with what it found?"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .conftest import Earnest, files_of

TEXT = """\
# Day

Be kind.

## Tasks

- [ ] mail | Read the mail | required | verify: mail_count
- [ ] sky | Look at the sky | optional | every: 6h
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A HEARTBEAT.md in the folder that commands run in."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    monkeypatch.chdir(folder)
    path = folder / "HEARTBEAT.md"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_lint_ends_by_whether_it_found_anything(earnest: Earnest, file: Path) -> None:
    clean = earnest("heartbeat", "lint")
    assert (clean.code, clean.err) == (0, "")
    file.write_text(TEXT + "- [] three | Three\n", encoding="utf-8")
    found = earnest("heartbeat", "lint", file)
    assert (found.code, found.out.splitlines()[0]) == (
        1,
        f"{file}:9:3: no task: a box is `[ ]` or `[x]`, with a blank after it",
    )
    told = earnest("heartbeat", "lint", "--json")
    assert (told.code, sorted(told.json), told.json["tasks"]) == (1, ["diagnostics", "digest", "tasks"], 2)
    message = "no task: a box is `[ ]` or `[x]`, with a blank after it"
    assert told.json["diagnostics"] == [{"line": 9, "column": 3, "message": message}]


def test_show_tells_the_tasks_and_the_rest(earnest: Earnest, file: Path) -> None:
    shown = earnest("heartbeat", "show")
    assert shown.code == 0
    assert "required, 3 attempts, verify: mail_count" in shown.out
    assert "Be kind." in shown.out
    told = earnest("heartbeat", "show", "--json").json
    assert [(task["id"], task["every_s"], task["is_ticked"]) for task in told["tasks"]] == [
        ("mail", None, False),
        ("sky", 21_600, False),
    ]
    assert told["context"] == "# Day\n\nBe kind.\n\n## Tasks"


def test_add_and_done_change_their_line_only(earnest: Earnest, file: Path) -> None:
    file.chmod(0o600)
    options = ("--id", "bills", "--optional", "--verify", "bills due", "--max-attempts", "2", "--every", "1d")
    added = earnest("heartbeat", "add", "Pay | the bills", *options, "--json")
    assert (added.code, added.json["task"]["line"]) == (0, 9)
    line = "- [ ] bills | Pay \\| the bills | optional | verify: bills due | max_attempts: 2 | every: 1d\n"
    assert file.read_text(encoding="utf-8") == TEXT + line
    assert earnest("heartbeat", "done", "sky").out == "done: sky (optional, 3 attempts, every 6h, no hint), line 8\n"
    assert file.read_text(encoding="utf-8") == TEXT.replace("[ ] sky", "[x] sky") + line
    assert earnest("heartbeat", "done", "sky", "--undo", "--file", file).code == 0
    assert file.read_text(encoding="utf-8") == TEXT + line
    assert file.stat().st_mode & 0o777 == 0o600
    assert files_of(file.parent) == {str(file): (TEXT + line).encode()}


def test_a_missing_file_is_begun_by_adding(earnest: Earnest, file: Path) -> None:
    file.unlink()
    assert earnest("heartbeat", "add", "Read the mail").code == 0
    assert (
        file.read_text(encoding="utf-8")
        == "# Heartbeat\n\n## Tasks\n\n- [ ] read_the_mail | Read the mail | required\n"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("done", "nobody"), "there is no task 'nobody'"),
        (("add", "Read", "--id", "mail"), "there is a task 'mail'"),
        (("add", "two\nlines"), "the task 'two_lines' cannot be written"),
        (("add", "x", "--every", "1w"), "--every must be like 30m, 6h or 1d"),
        (("add", "x", "--max-attempts", "21"), "--max-attempts"),
        (("show", "nothing.md"), "nothing.md: No such file or directory"),
        (("show", "."), "Is a directory"),
        (("diff",), "nothing is pinned for HEARTBEAT.md"),
    ],
)
def test_what_cannot_be_is_said_and_changes_nothing(
    arguments: tuple[str, ...], complaint: str, earnest: Earnest, file: Path
) -> None:
    ended = earnest("heartbeat", *arguments)
    assert (ended.code, ended.out) == (3, "")
    assert complaint in ended.err
    assert file.read_text(encoding="utf-8") == TEXT


def test_a_link_out_of_the_workspace_is_refused_and_one_within_is_followed(
    earnest: Earnest, file: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(TEXT, encoding="utf-8")
    file.unlink()
    file.symlink_to("../outside.md")
    for command in (("show",), ("lint",), ("pin",), ("done", "sky"), ("add", "x")):
        ended = earnest("heartbeat", *command)
        assert (ended.code, ended.out) == (3, "")
        assert "leads out of" in ended.err
    assert outside.read_text(encoding="utf-8") == TEXT
    file.unlink()
    inside = file.with_name("inside.md")
    inside.write_text(TEXT, encoding="utf-8")
    file.symlink_to("inside.md")
    assert earnest("heartbeat", "done", "sky").code == 0
    assert file.is_symlink()
    assert "[x] sky" in inside.read_text(encoding="utf-8")


def test_a_fifo_is_no_file(earnest: Earnest, file: Path) -> None:
    file.unlink()
    os.mkfifo(file)
    assert earnest("heartbeat", "show").code == 3


def test_diff_ends_by_whether_the_file_still_promises_what_was_pinned(earnest: Earnest, file: Path, home: Path) -> None:
    pinned = earnest("heartbeat", "pin", "--json").json
    assert pinned["tasks"] == 2
    same = earnest("heartbeat", "diff")
    assert (same.code, same.out) == (0, "as it was pinned\n")
    file.write_text(TEXT.replace("[ ]", "[x]").replace("optional", "required"), encoding="utf-8")
    stronger = earnest("heartbeat", "diff")
    assert (stronger.code, stronger.out.split()) == (0, ["changed", "sky", "optional", "→", "required"])
    file.write_text(TEXT.replace("mail_count", "a feeling"), encoding="utf-8")
    weaker = earnest("heartbeat", "diff", "--json")
    assert weaker.code == 1
    assert weaker.json["pinned"] == pinned["digest"] != weaker.json["digest"]
    (found,) = weaker.json["differences"]
    assert (found["change"], found["id"], found["reasons"]) == ("weakened", "mail", ["verify: mail_count → a feeling"])
    file.unlink()
    gone = earnest("heartbeat", "diff")
    assert gone.code == 1
    assert [line.split() for line in gone.out.splitlines()] == [["weaker", "removed", "mail"], ["removed", "sky"]]
    file.write_text(TEXT.replace("mail_count", "a feeling"), encoding="utf-8")
    assert earnest("heartbeat", "pin").code == 0
    assert earnest("heartbeat", "diff").code == 0
    assert not any(home in path.parents for path in file.parent.rglob("*"))
    assert {path.stat().st_mode & 0o777 for path in home.iterdir()} == {0o700}


def test_what_the_file_says_cannot_steer_a_terminal(earnest: Earnest, file: Path) -> None:
    file.write_text("## Tasks\n- [ ] a | \x1b[31mred | op\x1btional\n\x1b]0;title\x07\n", encoding="utf-8")
    for command in ("show", "lint"):
        ended = earnest("heartbeat", command)
        assert "\x1b" not in ended.out + ended.err


@pytest.mark.slow
def test_boxes_ticked_at_once_are_all_ticked(earnest: Earnest, file: Path) -> None:
    names = [f"task_{at}" for at in range(6)]
    file.write_text("## Tasks\n" + "".join(f"- [ ] {name} | Do\n" for name in names), encoding="utf-8")
    program = [sys.executable, "-c", "from earnest.surfaces.cli.main import main; main()", "heartbeat", "done"]
    with ThreadPoolExecutor(3) as pool:
        ended = list(pool.map(lambda name: subprocess.run([*program, name], check=False, cwd=file.parent), names))
    assert [done.returncode for done in ended] == [0] * 6
    assert file.read_text(encoding="utf-8").count("[x]") == 6
