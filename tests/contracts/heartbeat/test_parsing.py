"""Does a HEARTBEAT.md in the seed's format say what it says, with a diagnostic for all that it does not?"""

import pytest

from earnest.contracts.heartbeat.layout import LINES_MAX
from earnest.contracts.heartbeat.line import slug
from earnest.contracts.heartbeat.parse import TEXT_BYTES_MAX, parse_heartbeat
from earnest.contracts.heartbeat.task import TASKS_MAX, HeartbeatTask
from earnest.foundation.errors import Faulty

SEED = """\
## Tasks

- [ ] check_email | Check for new important emails | required | verify: email_count
- [ ] review_tasks | Review and update task priorities | required | verify: task_list_updated
- [x] weather_brief | Prepare morning weather brief | optional | verify: weather_sent
- [ ] memory_cleanup | Run memory deduplication | optional | verify: dedup_count | max_attempts: 5
"""


BOXES = [
    "- []",
    "- [ ]:",
    "- [ ](x)",
    "- [\u00a0]",
    "-\u00a0[ ]",
    "-\u200b [ ]",
    "- [\u0445]",
    "- [\u00d7]",
    "- \uff3b \uff3d",
    "- 【x】",
]
BOXES += ["1、[ ]", "◦ [ ]", "- [>]", "- ☑", "- ⬜", "- □", "\u2060- [x]", "- [ x ]", "[ ]"]
"""What somebody takes for one that is none."""


def only(line: str) -> HeartbeatTask:
    """The one task of a file that holds this line."""
    (task,) = parse_heartbeat(f"## Tasks\n\n{line}\n").tasks
    return task


def notes(text: str) -> list[str]:
    return [f"{found.line}: {found.message}" for found in parse_heartbeat(text).diagnostics]


def test_the_example_of_the_seed_reads_as_it_says() -> None:
    contract = parse_heartbeat(SEED)
    assert contract.diagnostics == ()
    assert contract.tasks == (
        HeartbeatTask(id="check_email", description="Check for new important emails", verify="email_count"),
        HeartbeatTask(id="review_tasks", description="Review and update task priorities", verify="task_list_updated"),
        HeartbeatTask(
            id="weather_brief",
            description="Prepare morning weather brief",
            required=False,
            verify="weather_sent",
            is_ticked=True,
        ),
        HeartbeatTask(
            id="memory_cleanup",
            description="Run memory deduplication",
            required=False,
            verify="dedup_count",
            max_attempts=5,
        ),
    )
    assert [task.line for task in contract.tasks] == [3, 4, 5, 6]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- [ ] a | B", {}),
        ("- [ ] a | B | max_attempts: 2 | verify: v | optional", {"max_attempts": 2, "verify": "v", "required": False}),
        ("- [ ] a | B | every: 6h", {"every_s": 21_600}),
        ("- [ ] a | B | every: 90 min", {"every_s": 5_400}),
        ("- [ ] a | B | EVERY: 1D | Required", {"every_s": 86_400}),
        ("* [x] a | B", {"is_ticked": True}),
        ("12) [X]\ta|B|", {"is_ticked": True}),
        ("- - [ ] a | B", {}),
        ("   - [ ] a | B", {}),
        (r"- [ ] a | B \| C | verify: x \| y", {"description": "B | C", "verify": "x | y"}),
        ("- [ ] a | Run `ls | wc` | optional", {"description": "Run `ls | wc`", "required": False}),
        ("- [ ] a | Run `ls | optional", {"description": "Run `ls", "required": False}),
        ("- [ ] a | B | verify: optional", {"verify": "optional"}),
        ("- [ ] a | B | verify: see optional | required", {"verify": "see optional"}),
        ("- [ ] a | optional extras are fetched", {"description": "optional extras are fetched"}),
        ("- [ ] a | optional", {"description": "a", "required": False}),
        ("- [ ] | A | optional", {"description": "A", "required": False}),
    ],
)
def test_fields_stand_in_any_order_and_each_counts_as_a_whole(line: str, expected: dict[str, object]) -> None:
    task = only(line)
    assert task.id == "a"
    assert {name: getattr(task, name) for name in expected} == expected
    assert task.required == expected.get("required", True)


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("- [ ] a | B | required | optional", "both `required` and `optional`: it is required"),
        ("- [ ] a | B | optionall", "unknown field 'optionall'; did you mean `optional`?; it counts for nothing"),
        ("- [ ] a | B | max attempts: 9", "unknown field 'max attempts: 9'; did you mean `max_attempts`?"),
        ("- [ ] a | B | colour: red", "unknown field 'colour: red'; it counts for nothing"),
        ("- [ ] a | B | max_attempts: 0", "`max_attempts` must be 1 to 20, not '0'; it is 3"),
        ("- [ ] a | B | max_attempts: 21", "`max_attempts` must be 1 to 20, not '21'; it is 3"),
        ("- [ ] a | B | max_attempts: ٣", "`max_attempts` must be 1 to 20, not '٣'; it is 3"),
        ("- [ ] a | B | every: 32d", "`every` must be like 30m, 6h or 1d, up to 31d, not '32d'"),
        ("- [ ] a | B | every: 10s", "`every` must be like 30m, 6h or 1d, up to 31d, not '10s'"),
        ("- [ ] a | B | verify: x | verify: y", "`verify` stands twice; the first counts"),
        ("- [ ] a | B | verify:", "`verify` without a hint"),
        ("- [ ] a | B" + " | required" * 11, "a task has at most 10 fields; those after them count for nothing"),
        ("- [ ] A a | B", "the id 'A a' is read as 'a_a'"),
        ("- [ ] a | B <!-- | optional -->", "a comment in a task is no part of it"),
    ],
)
def test_a_doubtful_field_is_named_and_the_stricter_reading_holds(line: str, note: str) -> None:
    (told,) = notes(f"## Tasks\n\n{line}\n")
    assert told.startswith(f"3: {note}")
    task = only(line)
    assert (task.required, task.max_attempts, task.every_s) == (True, 3, None)


def test_ids_are_slugs_of_any_script_that_differ_to_the_eye() -> None:
    assert slug("Check for new mail!") == "check_for_new_mail"
    assert slug("Prüfe E-Mails") == "prüfe_e-mails"
    assert slug("检查项目状态") == "检查项目状态"
    assert slug("हिन्दी काम") == "हिन्दी_काम"
    assert slug("\uff21\uff22") == "ab"
    assert slug("a\ufe0f\u115f") == "a"
    assert slug("⚙️") == "task"
    assert slug("x" * 100) == "x" * 64


def test_a_taken_id_gets_a_number_and_a_warning() -> None:
    text = "## Tasks\n\n- [ ] a | One\n- [ ] a-2 | Two\n- [ ] a | Three\n- [ ] a | Four\n"
    assert [task.id for task in parse_heartbeat(text).tasks] == ["a", "a-2", "a-3", "a-4"]
    assert notes(text) == [
        "5: the id 'a' is taken; this one is read as 'a-3'",
        "6: the id 'a' is taken; this one is read as 'a-4'",
    ]


def test_plain_boxes_are_tasks_without_obligation_wherever_they_stand() -> None:
    contract = parse_heartbeat("# Mine\n\n- [ ] Every day, review `memory/`\n\n## Tasks\n\n- [x] Fegen\n")
    assert [(task.id, task.required, task.is_structured, task.is_ticked) for task in contract.tasks] == [
        ("every_day_review_memory", False, False, False),
        ("fegen", False, False, True),
    ]
    assert contract.diagnostics == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("```\n- [ ] a | B\n```", "2: no task: this is code"),
        ("~~~ md\n- [ ] a | B", "2: no task: this is code"),
        ("    - [ ] a | B", "1: no task: this is code, since it is indented"),
        ("<!-- old\n- [ ] a | B\n-->", "2: no task: this is a comment"),
        ("<!-- - [ ] a | B -->", "1: no task: this is a comment"),
        ("> - [ ] a | B", "1: no task: this is a quote"),
        ("> said\n- [ ] x | Y\n> - [ ] a | B", "3: no task: this is a quote"),
        ("<div>\n- [ ] a | B\n</div>", "2: no task: this is HTML"),
        ("---\nname: x\n- [ ] a | B\n---", "3: no task: this is front matter"),
        ("<!-- c\nd -->\n\n---\n# x\n- [ ] a | B\n---", "6: no task: this is front matter"),
        ("## Tasks\n- [] a | B", "2: no task: a box is `[ ]` or `[x]`"),
        ("## Tasks\n- [x]a | B", "2: no task: a box is `[ ]` or `[x]`"),
        ("## Tasks\n- [✓] a | B", "2: no task: a box is `[ ]` or `[x]`"),
        ("## Tasks\n- ☐ a", "2: no task: a box is `[ ]` or `[x]`"),
        ("## Tasks\n-[ ] a | B", "2: no task: it is no item of a list here"),
        ("## Tasks\n[ ] a | B", "2: no task: it is no item of a list here"),
        ("## Tasks\n• [ ] a | B", "2: no task: it is no item of a list here"),
        ("Some text\n    - [ ] a | B", "2: no task: it is no item of a list here"),
        ("## Tasks\n- [ ]", "2: no task: nothing stands beside its box"),
        ("## Tasks\n- [ ] | |", "2: no task: nothing stands beside its box"),
        ("## Tasks\n- [ ] | | required", "2: no task: nothing stands beside its box"),
        ("## Tasks\n- [ ] || a", "2: no task: nothing stands beside its box"),
        ("## Tasks\n- [ ] " + "|" * 40 + "a", "2: no task: nothing stands beside its box"),
        ("## Tasks\n- a | B", "2: no task, and no part of one"),
        ("## Tasks\n- a", "2: no task, and no part of one"),
        ("## Tasks\n\na | B", "3: no task, and no part of one"),
        ("Elsewhere\n\n- a | B | required", "3: no task, and no part of one"),
        ("- [ ] a | B\n  | optional", "2: no task, and no part of one"),
        *((f"{box} a", "1: no task: ") for box in BOXES),
        ("Rain\u2028- [ ] a | B", "1: no task: this is the middle of a line"),
        ("Rain\x85\x0b > - [ ] a | B", "1: no task: this is the middle of a line"),
        ("- [ ] " + "a" * 4_000, "1: no task: a line has at most 4000 characters"),
    ],
)
def test_what_was_meant_as_a_task_and_is_none_is_named_with_its_line(text: str, why: str) -> None:
    assert [note for note in notes(text) if note.startswith(why)], notes(text)
    assert not any(task.id == "a" and "optional" in text and not task.required for task in parse_heartbeat(text).tasks)
    assert f"{why.partition(':')[0]}" not in {str(task.line) for task in parse_heartbeat(text).tasks}


@pytest.mark.parametrize(
    "text",
    [
        "- [a link](x.md)\n- [x](y.md)\n- [x]: z\n",
        "- [2026-03-09T22:44:24] Proactive Mode\n",
        "| field | required |\n|---|---|\n| a | optional |\n",
        "## Rules\n\n- plain | words\n1. one\n",
        "```\n[ ]\n{'a': []}\n```\n",
        "---\n\nfirst\n\n---\n",
        "- ✅ done\n- ⚠️ [warning](x)\n- [WIP] soon\n- [ok](y) [z][]\n- [](https://a.b) c\n- [x][y]\n",
        "- Ask: [yes/no]\n- [Y/n] [a-z] []\n",
        "Rain\u2028- sun\x0b[ ] wind\n",
        "> [!NOTE]\n> kind\nlazily\n",
    ],
)
def test_what_only_looks_like_it_from_afar_is_left_alone(text: str) -> None:
    contract = parse_heartbeat(text)
    assert (contract.tasks, contract.diagnostics) == ((), ())
    assert contract.context == text.strip()


def test_the_context_is_what_is_neither_task_nor_comment_nor_front_matter() -> None:
    text = "\ufeff<!-- c -->\n---\na: b\n---\n# Mine\n\nBe kind.\n\n## Tasks\n- [ ] a | B\n  Slowly.\n<!-- d -->\n"
    contract = parse_heartbeat(text)
    assert contract.context == "# Mine\n\nBe kind.\n\n## Tasks\n  Slowly."
    assert [task.id for task in contract.tasks] == ["a"]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# HEARTBEAT.md\n\n## Active Watches\n", "<!-- do it -->\n# Tasks\n***\n"]
)
def test_titles_and_comments_alone_are_nothing_to_do(text: str) -> None:
    contract = parse_heartbeat(text)
    assert contract.is_empty
    assert contract.diagnostics == ()


def test_a_title_that_reads_as_a_sentence_is_no_empty_file() -> None:
    contract = parse_heartbeat("# HEARTBEAT.md\n\n# Add tasks below when you want something checked.\n")
    assert not contract.is_empty
    assert [found.line for found in contract.diagnostics] == [3]


@pytest.mark.parametrize(
    "title", ["# TASKS", "## Tasks:", "### **Tasks**", "## 📋 Tasks ##", "## [ tasks ]", "Tasks\n---", "   ## _Tasks_ "]
)
def test_the_section_is_known_by_its_word_whatever_is_around_it(title: str) -> None:
    assert notes(f"{title}\n\n- [ ] a | B\n") == []


@pytest.mark.parametrize(
    "title", ["## My tasks", "## Tasks done", "## Task", "> ## Tasks", "    ## Tasks", "- ## Tasks"]
)
def test_another_title_is_another_section(title: str) -> None:
    text = f"{title}\n\n***\n\n- [ ] a | B\n"
    (note,) = notes(text)
    assert note.endswith("a task with fields stands below `## Tasks`; here it is context")
    assert parse_heartbeat(text).tasks == ()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_diagnostic_says_the_column_as_the_count_of_characters(end: str, mark: str) -> None:
    lines = [
        "## Tasks",
        "",
        "-\t[ ]\tA a | 检查\U0001f600 |\tcolour: red | every: 1s <!-- c -->",
        "\t",
        "  - [] b",
        "text | é",
    ]
    found = parse_heartbeat(mark + end.join(lines)).diagnostics
    assert [(one.line, one.column, one.message[:12]) for one in found] == [
        (3, 7, "the id 'A a'"),
        (3, 19, "unknown fiel"),
        (3, 33, "`every` must"),
        (3, 43, "a comment in"),
        (5, 5, "no task: a b"),
        (6, 1, "no task, and"),
    ]
    assert str(found[0]).startswith("HEARTBEAT.md:3:7: the id")


def test_a_task_with_fields_counts_in_its_section_only_and_elsewhere_is_context() -> None:
    text = "## Tasks\n\n- [ ] a | B\n\n### More\n\n- [ ] b | C\n\n## Archive\n\n- [ ] c | D\n- [ ] plain\n"
    found = parse_heartbeat(text)
    assert [task.id for task in found.tasks] == ["a", "b", "plain"]
    assert "- [ ] c | D" in found.context
    assert notes(text) == ["11: no task: a task with fields stands below `## Tasks`; here it is context"]


@pytest.mark.parametrize(
    "line", ["- [ ] a\uff5cB\uff5crequired\uff5cverify: c", "- [ ] a \uff5c B | required | verify: c"]
)
def test_a_full_width_bar_is_read_as_a_bar_and_named(line: str) -> None:
    text = f"## Tasks\n\n{line}\n"
    (task,) = parse_heartbeat(text).tasks
    assert (task.id, task.description, task.required, task.verify) == ("a", "B", True, "c")
    assert notes(text) == ["3: a full-width bar is read as `|`"]


def test_a_full_width_bar_in_code_or_behind_a_backslash_is_text() -> None:
    text = "## Tasks\n\n- [ ] a | see `x\uff5cy` and \\\uff5c\n"
    (task,) = parse_heartbeat(text).tasks
    assert task.description == "see `x\uff5cy` and \uff5c"
    assert notes(text) == []


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_gives_the_same_lines(end: str) -> None:
    tasks = parse_heartbeat(SEED.replace("\n", end)).tasks
    assert [task.line for task in tasks] == [3, 4, 5, 6]
    assert tasks == parse_heartbeat(SEED).tasks


def test_no_other_character_ends_a_line() -> None:
    (task,) = parse_heartbeat("## Tasks\n\u2028\x0b\x0c\n- [ ] a | B\x0b- [ ] b | C\n").tasks
    assert task.line == 3


def test_the_digest_is_that_of_the_promises() -> None:
    digest = parse_heartbeat(SEED).digest
    lines = SEED.splitlines()
    turned = "\n".join(["Hello.", "", *lines[:2], *reversed(lines[2:])]).replace("[ ]", "[x]")
    assert parse_heartbeat(turned).digest == digest
    for old, new in [("| required", "| optional"), ("email_count", "none"), ("emails", "mails"), (": 5", ": 6")]:
        assert parse_heartbeat(SEED.replace(old, new)).digest != digest


def test_what_is_no_text_and_what_is_too_long_is_refused_as_a_whole() -> None:
    with pytest.raises(Faulty, match=r"h\.md:3:4: this is not UTF-8"):
        parse_heartbeat("\ufeff# a\r\n\r\té ".encode() + b"\xff", "h.md")
    with pytest.raises(Faulty, match="not UTF-8"):
        parse_heartbeat("\ud800")
    with pytest.raises(Faulty, match="at most 1048576 bytes"):
        parse_heartbeat(b"a" * (TEXT_BYTES_MAX + 1))


def test_the_first_tasks_and_lines_are_read_and_the_others_named() -> None:
    many = parse_heartbeat("## Tasks\n\n" + "- [ ] a | B\n" * (TASKS_MAX + 2))
    assert len(many.tasks) == TASKS_MAX
    assert [(found.line, found.message) for found in many.diagnostics[-2:]] == [
        (TASKS_MAX + 3, f"no task: a HEARTBEAT.md has at most {TASKS_MAX} tasks"),
        (TASKS_MAX + 4, f"no task: a HEARTBEAT.md has at most {TASKS_MAX} tasks"),
    ]
    far = parse_heartbeat("\n" * LINES_MAX + "- [ ] a | B\n")
    assert (far.tasks, [found.line for found in far.diagnostics]) == ((), [LINES_MAX + 1])
