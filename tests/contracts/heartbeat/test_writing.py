"""Does writing change what it owns, and no byte besides?"""

import pytest

from earnest.contracts.heartbeat.parse import parse_heartbeat
from earnest.contracts.heartbeat.task import HeartbeatTask
from earnest.contracts.heartbeat.writing import NEW_FILE, added, ticked
from earnest.foundation.errors import Refused

ODD = (
    "\ufeff<!-- mine -->\r\n# Day\r\n\r\nBe kind. \t\r\n## Tasks\r\n\r\n"
    "*  [ ]  a  |  B <!-- c -->  | verify:x|\tmax_attempts: 5\r\n   slowly\r\n\r\n   ```\r\n   code\r\n   ```\r\n"
    "\r\n## Rest\n- [X] Plain  \nlast"
)
NEW = HeartbeatTask(id="new", description="Look | at `the sky`", verify="sky", required=False, every_s=5_400)


def task(text: str, name: str) -> HeartbeatTask:
    return next(task for task in parse_heartbeat(text).tasks if task.id == name)


def test_a_tick_changes_one_character() -> None:
    assert ticked(ODD, "a") == ODD.replace("*  [ ]", "*  [x]")
    assert ticked(ODD, "plain", is_done=False) == ODD.replace("[X]", "[ ]")
    assert ticked(ODD, "plain") == ODD


def test_a_task_is_added_below_the_last_of_its_section_in_the_style_of_the_file() -> None:
    line = r"* [ ] new | Look \| at `the sky` | optional | verify: sky | every: 90m"
    other = added(ODD, NEW)
    assert other == ODD.replace("   ```\r\n\r\n##", f"   ```\r\n{line}\r\n\r\n##")
    assert task(other, "new") == NEW


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "\n## Tasks\n\n{}\n"),
        (NEW_FILE, "# Heartbeat\n\n## Tasks\n\n{}\n"),
        ("Prose", "Prose\n\n## Tasks\n\n{}\n"),
        ("## Tasks", "## Tasks\n\n{}\n"),
        ("Tasks\n-----\n\n# End\n", "Tasks\n-----\n\n{}\n\n# End\n"),
        ("## Tasks\nProse\n", "## Tasks\n\n{}\n\nProse\n"),
        ("## Tasks\n\n1. [ ] a\n   - [ ] b\n\n## End\n", "## Tasks\n\n1. [ ] a\n   - [ ] b\n{}\n\n## End\n"),
        ("## Tasks\n- [ ] a", "## Tasks\n- [ ] a\n{}\n"),
    ],
)
def test_a_section_is_found_or_made(text: str, expected: str) -> None:
    line = r"- [ ] new | Look \| at `the sky` | optional | verify: sky | every: 90m"
    assert added(text, NEW) == expected.format(line)


@pytest.mark.parametrize(
    ("name", "description", "verify"),
    [
        ("x", "two\nlines", ""),
        ("x", "two\n- [ ] tasks | optional", ""),
        ("x", "ends <!--", "hidden"),
        ("x", "a ` tick", "another ` tick"),
        ("x", "", ""),
        ("x", " blank", ""),
        ("x", "optional", ""),
        ("No Slug", "text", ""),
        ("x", "a" * 4_000, ""),
        ("x", "text", "hint\u2028"),
    ],
)
def test_what_would_not_read_as_it_was_meant_is_not_written(name: str, description: str, verify: str) -> None:
    with pytest.raises(Refused) as caught:
        added(ODD, HeartbeatTask(id=name, description=description, verify=verify))
    assert caught.value.code == "heartbeat_task_unwritable"


def test_nothing_is_written_where_what_is_open_would_hide_it() -> None:
    for text in ("```\ncode", "<!-- open\n"):
        with pytest.raises(Refused, match="cannot be written"):
            added(text, NEW)


def test_a_task_must_be_there_to_be_changed_and_not_there_to_be_added() -> None:
    with pytest.raises(Refused, match="there is no task 'b'"):
        ticked(ODD, "b")
    with pytest.raises(Refused) as caught:
        added(ODD, HeartbeatTask(id="a", description="B"))
    assert caught.value.code == "heartbeat_task_exists"
