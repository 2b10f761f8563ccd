"""Can an agent get out of a pinned contract by its file alone? Each try is shown, or gains nothing."""

import pytest

from earnest.contracts.heartbeat.diff import Difference, TaskChange, compare
from earnest.contracts.heartbeat.layout import LINES_MAX
from earnest.contracts.heartbeat.parse import parse_heartbeat

PINNED = """\
# My day

## Tasks

- [ ] check_email | Check for new important emails | required | verify: email_count | every: 1h
- [ ] pay_bills | Pay what is due | required | verify: bills_due | max_attempts: 5
- [ ] weather | Say what the weather will be | optional
"""
EMAIL = "- [ ] check_email | Check for new important emails | required | verify: email_count | every: 1h\n"


def differences(text: str, pinned: str = PINNED) -> tuple[Difference, ...]:
    return compare(parse_heartbeat(pinned).tasks, parse_heartbeat(text).tasks)


def changed(new: str) -> str:
    """The pinned file with another line in the place of that of `check_email`."""
    assert EMAIL in PINNED
    return PINNED.replace(EMAIL, new)


@pytest.mark.parametrize(
    ("new", "change", "reason"),
    [
        ("", TaskChange.REMOVED, ""),
        (f"```\n{EMAIL}```\n", TaskChange.REMOVED, ""),
        (f"<!--\n{EMAIL}-->\n", TaskChange.REMOVED, ""),
        (f"<!-- {EMAIL.strip()} -->\n", TaskChange.REMOVED, ""),
        (f"> {EMAIL}", TaskChange.REMOVED, ""),
        (f"\n<details>\n{EMAIL}</details>\n\n", TaskChange.REMOVED, ""),
        (EMAIL.replace("- [ ]", "-"), TaskChange.REMOVED, ""),
        (EMAIL.replace("- [ ]", "- [~]"), TaskChange.REMOVED, ""),
        (EMAIL.replace("check_email", "check_mail"), TaskChange.RENAMED, "id: check_email → check_mail"),
        (
            EMAIL.replace("check_email |", "ch\u0435ck_email |"),
            TaskChange.RENAMED,
            "id: check_email → ch\u0435ck_email",
        ),
        (EMAIL.replace("required", "optional"), TaskChange.WEAKENED, "required → optional"),
        (EMAIL.replace("email_count", "looks fine"), TaskChange.WEAKENED, "verify: email_count → looks fine"),
        (EMAIL.replace("verify: email_count | ", ""), TaskChange.WEAKENED, "verify: email_count → none"),
        (EMAIL.replace("1h", "30d"), TaskChange.WEAKENED, "every: 1h → 30d"),
        (EMAIL.replace("\n", " | max_attempts: 20\n"), TaskChange.WEAKENED, "max_attempts: 3 → 20"),
        (EMAIL.replace("\n", " | max_attempts: 1\n"), TaskChange.WEAKENED, "max_attempts: 3 → 1"),
        (EMAIL.replace("Check for new important emails", "Breathe"), TaskChange.WEAKENED, "description: 'Check for"),
        ("- [ ] check_email\n", TaskChange.WEAKENED, "its fields are gone"),
        (f"- [ ] check_email | Breathe\n{EMAIL}", TaskChange.WEAKENED, "description: "),
    ],
)
def test_a_required_task_that_is_gone_hidden_renamed_or_weaker_is_shown_as_weakening(
    new: str, change: TaskChange, reason: str
) -> None:
    (found,) = (one for one in differences(changed(new)) if one.change is not TaskChange.ADDED)
    assert (found.change, found.id, found.is_weakening) == (change, "check_email", True)
    assert not reason or any(text.startswith(reason) for text in found.reasons)


@pytest.mark.parametrize(
    "hidden",
    [
        EMAIL.replace("required", "verify: optional"),
        EMAIL.replace("email_count", "email_count, optional"),
        EMAIL.replace("| required", "| required <!-- | optional -->"),
        EMAIL.replace("\n", "\n  | optional\n"),
        EMAIL.replace("\n", "\noptional\n"),
        EMAIL.replace("| required", r"\| optional"),
        EMAIL.replace("| required", "| required | optional"),
    ],
)
def test_an_optional_that_is_no_field_of_its_own_makes_nothing_optional(hidden: str) -> None:
    (task,) = (task for task in parse_heartbeat(changed(hidden)).tasks if task.id == "check_email")
    assert task.required


def test_ticking_every_box_changes_nothing_but_what_is_claimed() -> None:
    ticked = PINNED.replace("[ ]", "[x]")
    assert differences(ticked) == ()
    assert parse_heartbeat(ticked).digest == parse_heartbeat(PINNED).digest
    assert all(task.is_ticked for task in parse_heartbeat(ticked).tasks)


def test_trivial_extra_tasks_are_told_apart_from_what_was_pinned() -> None:
    found = differences(PINNED + "".join(f"- [x] breathe_{at} | Breathe | required\n" for at in range(50)))
    assert {one.change for one in found} == {TaskChange.ADDED}
    assert not any(one.is_weakening for one in found)
    assert [one.id for one in found] == [f"breathe_{at}" for at in range(50)]


def test_a_file_that_is_emptied_or_deleted_loses_every_required_task() -> None:
    assert [one.id for one in differences("") if one.is_weakening] == ["check_email", "pay_bills"]


def test_tasks_pushed_out_of_what_is_read_are_gone() -> None:
    assert [one.id for one in differences("\n" * LINES_MAX + PINNED) if one.is_weakening] == [
        "check_email",
        "pay_bills",
    ]
    trivial = "".join(f"- [ ] b_{at} | Breathe\n" for at in range(500))
    assert len([one for one in differences(f"## Tasks\n\n{trivial}\n{PINNED}") if one.is_weakening]) == 2


def test_moving_a_task_below_another_title_is_taking_it_out() -> None:
    assert [one.id for one in differences(PINNED.replace("## Tasks", "## Ideas for later")) if one.is_weakening] == [
        "check_email",
        "pay_bills",
    ]
    (moved,) = (one for one in differences(PINNED.replace("- [ ] pay", "## Done\n\n- [ ] pay")) if one.is_weakening)
    assert (moved.change, moved.id) == (TaskChange.REMOVED, "pay_bills")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1h", "30m"),
        (" | every: 1h", ""),
        ("| optional", "| required"),
        ("| optional", "| optional | verify: rain_gauge"),
        ("Say what the weather will be", "Say what the weather was"),
        ("| optional", "| optional | max_attempts: 9"),
    ],
)
def test_what_promises_no_less_or_was_optional_is_a_change_and_no_weakening(old: str, new: str) -> None:
    (found,) = differences(PINNED.replace(old, new, 1))
    assert (found.change, found.is_weakening) == (TaskChange.CHANGED, False)


def test_an_optional_task_may_be_dropped_or_renamed() -> None:
    assert not any(one.is_weakening for one in differences(PINNED.replace("weather |", "forecast |")))
    assert not any(one.is_weakening for one in differences("\n".join(PINNED.splitlines()[:-1])))


def test_one_new_task_stands_in_for_one_old_task_only() -> None:
    pinned = "## Tasks\n\n- [ ] a | Same\n- [ ] b | Same\n"
    found = differences("## Tasks\n\n- [ ] c | Same\n", pinned)
    assert [(one.change, one.id, one.is_weakening) for one in found] == [
        (TaskChange.RENAMED, "a", True),
        (TaskChange.REMOVED, "b", True),
    ]


def test_a_rename_says_what_else_it_changed() -> None:
    (found,) = differences(changed(EMAIL.replace("check_email |", "mail |").replace("required", "optional")))
    assert found.reasons == ("id: check_email → mail", "required → optional")
