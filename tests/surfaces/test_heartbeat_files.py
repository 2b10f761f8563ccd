"""Does each `earnest heartbeat` command explain itself, speak JSON, and take any file that people keep for this?"""

import json
import re
import shutil
from pathlib import Path

import pytest

from earnest.contracts.heartbeat.writing import NEW_FILE

from .conftest import Earnest

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "heartbeats"
"""Files of others, beside the repository, if they are there."""
COMMANDS = ("lint", "show", "add", "done", "pin", "diff")
MIXED = """\
- [ ] mail Look at the mail
* [] three
```
- [ ] hidden | In a fence | required
```
## Tasks
- [ ] Mail! | Look at the mail | requierd | verify: mail_count
<!-- - [ ] gone | In a comment -->
> - [ ] quoted | In a quote | required
- no box
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_what_it_does_and_how_it_ends(earnest: Earnest, command: str) -> None:
    told = earnest("heartbeat", command, "--help")
    assert (told.code, told.err) == (0, "")
    assert f"earnest heartbeat {command}" in told.out
    assert {"--json", "Exit codes:"} <= set(re.findall(r"--json|Exit codes:", told.out))


def test_the_group_lists_its_commands(earnest: Earnest) -> None:
    told = earnest("heartbeat", "--help").out
    assert all(re.search(rf"\b{command}\b", told) for command in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("lint",), 1),
        (("show",), 0),
        (("add", "Read"), 0),
        (("done", "mail_look_at_the_mail"), 0),
        (("pin",), 0),
        (("diff",), 3),
        (("done", "nobody"), 3),
        (("lint", "--strange"), 3),
    ],
)
def test_each_command_speaks_json_or_says_on_stderr_why_not(
    earnest: Earnest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("HEARTBEAT.md").write_text(MIXED, encoding="utf-8")
    ended = earnest("heartbeat", *arguments, "--json")
    assert ended.code == code, ended
    if code < 2:
        assert isinstance(ended.json, dict)
    else:
        assert (ended.out, bool(ended.err)) == ("", True)
        assert "Traceback" not in ended.err


def test_each_line_that_is_not_what_it_seems_is_named_with_its_number(earnest: Earnest, tmp_path: Path) -> None:
    file = tmp_path / "HEARTBEAT.md"
    file.write_text(MIXED, encoding="utf-8")
    told = earnest("heartbeat", "lint", file, "--json").json
    assert {one["line"] for one in told["diagnostics"]} == {2, 4, 7, 8, 9, 10}
    *lines, _ = earnest("heartbeat", "lint", file).out.splitlines()
    for line, one in zip(lines, told["diagnostics"], strict=True):
        assert re.fullmatch(rf"{re.escape(str(file))}:{one['line']}(:\d+)?: {re.escape(one['message'])}", line)


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the files are not beside the repository")
def test_every_file_from_the_wild_is_linted_shown_pinned_ticked_and_added_to(earnest: Earnest, tmp_path: Path) -> None:
    files = sorted(CORPUS.glob("*.md"))
    assert len(files) == 44
    for kept in files:
        file = Path(shutil.copy(kept, tmp_path / kept.name))
        before = file.read_bytes()
        last = before.count(b"\n") + 1
        lint = earnest("heartbeat", "lint", file, "--json")
        assert lint.code == (1 if lint.json["diagnostics"] else 0), kept.name
        assert all(0 <= one["line"] <= last and one["message"] for one in lint.json["diagnostics"])
        shown = earnest("heartbeat", "show", file, "--json")
        assert (shown.code, len(shown.json["tasks"]), shown.json["digest"]) == (
            0,
            lint.json["tasks"],
            lint.json["digest"],
        )
        assert earnest("heartbeat", "pin", file).code == 0
        assert earnest("heartbeat", "diff", file).out == "as it was pinned\n"
        for task in shown.json["tasks"][:1]:
            assert earnest("heartbeat", "done", task["id"], "--file", file).code == 0
            assert len(file.read_bytes()) == len(before)
            assert earnest("heartbeat", "diff", file).out == "as it was pinned\n"
        added = earnest("heartbeat", "add", "Look at the mail", "--id", "mail-of-mine", "--file", file, "--json")
        assert (added.code, added.json["task"]["id"]) == (0, "mail-of-mine"), kept.name
        diff = earnest("heartbeat", "diff", file, "--json")
        assert [(one["change"], one["id"]) for one in diff.json["differences"]] == [("added", "mail-of-mine")]
        assert kept.read_bytes() == before


def test_a_new_file_is_one_that_lint_finds_nothing_in(earnest: Earnest, tmp_path: Path) -> None:
    file = tmp_path / "HEARTBEAT.md"
    assert earnest("heartbeat", "add", "Look at the mail", "--file", file).code == 0
    assert file.read_text(encoding="utf-8").startswith(NEW_FILE)
    lint = earnest("heartbeat", "lint", file, "--json")
    assert (lint.code, json.loads(lint.out)["tasks"]) == (0, 1)
