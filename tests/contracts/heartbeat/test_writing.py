"""Does writing change what it owns, and no byte besides?"""

from dataclasses import replace
from typing import Any

import pytest

from earnest.contracts.heartbeat.parse import parse_heartbeat
from earnest.contracts.heartbeat.task import HeartbeatTask
from earnest.contracts.heartbeat.writing import NEW_FILE, added, edited, ticked
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


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        ({"description": "C | D"}, "B <!--", r"C \| D <!--"),
        ({"verify": "y"}, "verify:x", "verify: y"),
        ({"verify": ""}, "  | verify:x", ""),
        ({"max_attempts": 3}, "|\tmax_attempts: 5", ""),
        ({"max_attempts": 4}, "max_attempts: 5", "max_attempts: 4"),
        ({"required": False}, "attempts: 5", "attempts: 5 | optional"),
        ({"every_s": 86_400}, "attempts: 5", "attempts: 5 | every: 1d"),
        (
            {"is_ticked": True, "verify": "z"},
            "[ ]  a  |  B <!-- c -->  | verify:x",
            "[x]  a  |  B <!-- c -->  | verify: z",
        ),
    ],
)
def test_an_edit_touches_the_field_that_changes(change: dict[str, Any], old: str, new: str) -> None:
    wanted = replace(task(ODD, "a"), **change)
    other = edited(ODD, wanted)
    assert other == ODD.replace(old, new, 1)
    assert task(other, "a") == wanted


def test_every_obligation_in_a_line_is_edited() -> None:
    text = "## Tasks\n- [ ] a | B | optional | required\n"
    assert edited(text, replace(task(text, "a"), required=False)) == "## Tasks\n- [ ] a | B | optional | optional\n"


def test_an_edit_keeps_an_id_that_came_from_the_description() -> None:
    wiped = HeartbeatTask(id="fegen", description="Wischen")
    assert edited("## Tasks\n- [ ] Fegen\n", wiped) == "## Tasks\n- [ ] fegen | Wischen | required\n"
    assert edited("## Tasks\n- [ ] | Fegen\n", wiped) == "## Tasks\n- [ ] fegen | Wischen\n"
    with pytest.raises(Refused, match="cannot be written"):  # where a line with fields would be no task
        edited("- [ ] Fegen\n", wiped)


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
    with pytest.raises(Refused, match="there is no task 'new'"):
        edited(ODD, NEW)
    with pytest.raises(Refused) as caught:
        added(ODD, HeartbeatTask(id="a", description="B"))
    assert caught.value.code == "heartbeat_task_exists"


def test_fields_are_not_taken_away_from_a_line() -> None:
    text = "## Tasks\n- [ ] a | B\n"
    with pytest.raises(Refused, match="cannot be written"):
        edited(text, replace(task(text, "a"), is_structured=False, required=False))
