"""Is a file outside the work looked at where it is, by nobody else's wish, and never one that is private?"""

from pathlib import Path

import pytest

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.outside_file import Outside
from earnest.foundation.canonical import JsonObject
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.verification.verdict import Answer

VERIFIER = Verifier(registry=Registry(), sandbox=None, clock=VirtualClock())


async def answer(config: JsonObject, home: Path, *, ours: bool = True) -> Answer:
    work = home / "work"
    work.mkdir()
    criterion = Criterion(id="C1", text="it is so", check=CheckSpec(kind="outside", config=config))
    verdict = await VERIFIER.verify([criterion], work, trusted_workspace=ours, outside=Outside(home=home))
    return verdict.criteria[0].answer


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"path": "~/a.txt"}, Answer.VERIFIED),
        ({"path": "~/a.txt", "contains": "one"}, Answer.VERIFIED),
        ({"path": "~/a.txt", "contains": ["two"]}, Answer.NOT_VERIFIED),
        ({"path": "~/a.txt", "exists": False}, Answer.NOT_VERIFIED),
        ({"path": "~/b.txt"}, Answer.NOT_VERIFIED),
        ({"path": "~/b.txt", "exists": False}, Answer.VERIFIED),
        ({"path": "~/.ssh/id", "exists": False}, Answer.UNCLEAR),
        ({"path": "~/link", "contains": "key"}, Answer.UNCLEAR),
    ],
)
async def test_what_is_there_is_measured_and_what_is_private_stays_open(
    config: JsonObject, expected: Answer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id").write_text("key")
    (tmp_path / "link").symlink_to(tmp_path / ".ssh" / "id")
    assert await answer(config, tmp_path) is expected


async def test_for_the_work_of_others_nobody_looks(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    assert await answer({"path": "~/a.txt"}, tmp_path, ours=False) is Answer.UNCLEAR


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("command", {"command": "test ! -e ~/old"}),
        ("command", {"command": ["sh", "-c", "test ! -e $HOME/old"]}),
        ("command", {"command": "! grep -q x /srv/me/notes.txt"}),
        ("command", {"command": ["python3", "-c", "import os; assert not os.path.exists('~/x')"]}),
        ("stdout", {"program": ["cat", "/srv/me/a"], "cases": [{"expected": ""}]}),
        ("files", {"required": ["a"], "forbidden": ["~/old"]}),
        ("files", {"required": ["$HOME/a"]}),
        ("outside", {"path": "a.txt"}),
        ("outside", {"path": "~/../etc/passwd"}),
        ("outside", {"path": "~/a", "exists": False, "contains": "x"}),
    ],
)
def test_a_check_that_would_look_where_it_sees_nothing_is_a_fault(kind: str, config: JsonObject) -> None:
    assert VERIFIER.check_faults(CheckSpec(kind=kind, config=config))


@pytest.mark.parametrize(
    "command", ["git diff HEAD~1 --stat", "awk '$1 ~ /x/' a", "test -f sub/home/a", "cat /etc/hostname", "ls /usr/bin"]
)
def test_ordinary_commands_have_no_such_fault(command: str) -> None:
    assert VERIFIER.check_faults(CheckSpec(kind="command", config={"command": command})) == []
