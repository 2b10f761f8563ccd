"""Does a playbook parse into what it says, or into every fault it has?"""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earnest.contracts.criterion import CheckSpec, Criterion, Mode
from earnest.contracts.node import FrozenObject
from earnest.contracts.playbook import (
    Approach,
    Playbook,
    PlaybookBudget,
    Step,
    Subtask,
    playbook_to_json,
)
from earnest.contracts.playbook_reading import parse_playbook, playbook_from_json
from earnest.foundation.canonical import JsonObject, canonical_bytes
from earnest.foundation.errors import Faulty

HEAD = "format: earnest-playbook-v1\nintent: Do it\ntask_class: things\n"
CHECK = "{text: it is there, check: {kind: files, required: [a]}}"
APPROACHES = "[{id: one, steps: [{tool: shell, args: {command: ls}}]}]"


def subtask(identity: str, order: str = "") -> str:
    return f"  - {{id: {identity}, {order} intent: x, criteria: [{CHECK}], approaches: {APPROACHES}}}\n"


def faults(text: str, **options: Any) -> list[tuple[int, str]]:
    with pytest.raises(Faulty) as caught:
        parse_playbook(text, "p.yaml", **options)
    return [(fault.line, fault.message) for fault in caught.value.diagnostics]


EXAMPLE = (
    HEAD
    + """budget: {time_s: 60, replans: 1}
inputs: {source: ./src}
criteria:
  - id: whole
    text: inventory.json lists every file
    check: {kind: json_schema, path: inventory.json, schema: inventory.schema.json}
subtasks:
  - id: count
    intent: Count the lines
    criteria:
      - text: counts.txt has one line per file
        check: {kind: files, required: [{path: counts.txt, regex: '(?m)^\\S+ \\d+$'}]}
    approaches:
      - id: wc
        steps: [{tool: shell, args: {command: wc -l}, timeout_s: 5, may_fail: true}]
        corrections: [[{tool: shell, args: {command: wc -c}}]]
  - id: sum
    after: [count]
    intent: Add them up
    criteria:
      - {text: it is there, required: false, check: {kind: command, command: "true", limits: {wall_s: 1}}}
    approaches:
      - id: paste
        steps: [{tool: shell, args: {}, network: true, writes: [/tmp/x], look: ls /tmp/x}]
"""
)


def test_a_playbook_says_what_its_text_says() -> None:
    playbook = parse_playbook(EXAMPLE, "p.yaml")
    assert playbook.budget == PlaybookBudget(time_s=60, replans=1)
    assert playbook.inputs == {"source": "./src"}
    assert playbook.criteria[0].id == "whole"
    count, add = playbook.subtasks
    assert (count.sequence, count.after, add.sequence, add.after) == (1, None, 2, ("count",))
    assert count.criteria == (
        Criterion(
            id="C1",
            text="counts.txt has one line per file",
            check=CheckSpec(kind="files", config={"required": ({"path": "counts.txt", "regex": r"(?m)^\S+ \d+$"},)}),
        ),
    )
    assert count.approaches == (
        Approach(
            id="wc",
            steps=(Step(tool="shell", args={"command": "wc -l"}, timeout_s=5, may_fail=True),),
            corrections=((Step(tool="shell", args={"command": "wc -c"}),),),
        ),
    )
    assert add.criteria[0].required is False
    check = add.criteria[0].check
    assert check is not None
    assert check.limits == {"wall_s": 1}
    assert add.approaches[0].steps[0].writes == ("/tmp/x",)


def test_a_check_knows_the_lines_of_its_config() -> None:
    check = parse_playbook(EXAMPLE, "p.yaml").subtasks[0].criteria[0].check
    assert check is not None
    assert check.line_of("required[0].regex") == 15
    assert check.line_of("required[7].nothing") == 15
    assert check.line_of("") == 15


def test_defaults_are_those_of_the_page() -> None:
    playbook = parse_playbook(HEAD + "subtasks:\n" + subtask("a"), "p.yaml")
    assert (playbook.budget, playbook.inputs, playbook.criteria) == (PlaybookBudget(time_s=300, replans=3), {}, ())
    step = playbook.subtasks[0].approaches[0].steps[0]
    assert (step.timeout_s, step.may_fail, step.network, step.writes, step.look) == (60, False, False, (), None)


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("[]", 1, "must be a mapping"),
        (HEAD, 1, "'subtasks' is missing"),
        (HEAD.replace("v1", "v2") + "subtasks:\n" + subtask("a"), 1, "must be one of earnest-playbook-v1"),
        (HEAD.replace("things", "Things") + "subtasks:\n" + subtask("a"), 3, "a-z, 0-9 and _"),
        (HEAD.replace("Do it", "x" * 4_001) + "subtasks:\n" + subtask("a"), 2, "4000 characters"),
        (HEAD + "intents: x\nsubtasks:\n" + subtask("a"), 4, "did you mean 'intent'?"),
        (HEAD + "budget: {time_s: 0}\nsubtasks:\n" + subtask("a"), 4, "1 to 86400"),
        (HEAD + "budget: {replans: 11}\nsubtasks:\n" + subtask("a"), 4, "0 to 10"),
        (HEAD + "budget: {time_s: true}\nsubtasks:\n" + subtask("a"), 4, "integer"),
        (HEAD + "inputs: {'..': x}\nsubtasks:\n" + subtask("a"), 4, "plain file name"),
        (HEAD + "inputs: {a/b: x}\nsubtasks:\n" + subtask("a"), 4, "plain file name"),
        (HEAD + "inputs: {a: 1}\nsubtasks:\n" + subtask("a"), 4, "must be text"),
        (HEAD + "subtasks: []\n", 4, "1 to 200"),
        (HEAD + "subtasks: {}\n", 4, "must be a list"),
        (HEAD + "criteria: [just words]\nsubtasks:\n" + subtask("a"), 4, "runs without a model"),
        (HEAD + "criteria: [{text: nice, mode: plausible}]\nsubtasks:\n" + subtask("a"), 4, "runs without a model"),
        (HEAD + "criteria: [{text: x, mode: maybe}]\nsubtasks:\n" + subtask("a"), 4, "verifiable, plausible"),
        (HEAD + "criteria: [{text: x, check: {}}]\nsubtasks:\n" + subtask("a"), 4, "'kind' is missing"),
        (HEAD + "subtasks:\n" + subtask("a") + subtask("a"), 6, "'a' is taken (line 5)"),
        (HEAD + "subtasks:\n" + subtask("a", "after: [b],") + subtask("a"), 5, "'b', which is no subtask"),
        (HEAD + "subtasks:\n" + subtask("A"), 5, "a-z, 0-9 and _"),
        (HEAD + "subtasks:\n" + subtask("a", "sequence: 1, after: [],"), 5, "not both"),
        (HEAD + "subtasks:\n" + subtask("a", "sequence: 0,"), 5, "1 to 200"),
        (HEAD + "subtasks:\n" + subtask("a", "after: [b],"), 5, "'b', which is no subtask"),
        (HEAD + "subtasks:\n" + subtask("a", "after: [a],"), 5, "a after a"),
        (
            HEAD
            + "subtasks:\n"
            + subtask("a", "after: [b],")
            + subtask("b", "after: [a],")
            + subtask("c", "after: [b],"),
            5,
            "a after b after a",
        ),
        (HEAD + "subtasks:\n" + subtask("a").replace("tool: shell", "tool: shel"), 5, "known tools: glob, shell"),
        (HEAD + "subtasks:\n" + subtask("a").replace("{command: ls}", "[ls]"), 5, "must be a mapping"),
        (HEAD + "subtasks:\n" + subtask("a").replace("command: ls", "bad: ls"), 5, "no command"),
        (HEAD + "subtasks:\n" + subtask("a").replace("kind: files", "kind: fils"), 5, "unknown kind fils"),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, line: int, part: str) -> None:
    def tool_faults(tool: str, args: JsonObject) -> Sequence[str]:
        return [] if "command" in args else ["no command"]

    found = faults(
        text,
        tools={"shell", "glob"},
        tool_faults=tool_faults,
        check_faults=lambda check: [("kind", f"unknown kind {check.kind}")] if check.kind == "fils" else [],
    )
    assert any(at == line and part in message for at, message in found), found


def test_all_faults_are_named_at_once() -> None:
    text = HEAD.replace("things", "T!") + "budget: {time_s: 0}\nextra: 1\nsubtasks:\n" + subtask("A", "sequence: x,")
    assert [line for line, _ in faults(text)] == [3, 4, 5, 7, 7]


@pytest.mark.slow
def test_ten_thousand_subtasks_are_one_fault() -> None:
    text = HEAD + "subtasks:\n" + "".join(subtask(f"s{at}") for at in range(10_000))
    assert faults(text) == [(5, "subtasks: must have 1 to 200 items, has 10000")]


def test_a_step_that_is_no_mapping_is_one_fault() -> None:
    text = HEAD + "subtasks:\n" + subtask("a").replace("[{tool: shell, args: {command: ls}}]", "[ls]")
    assert len(faults(text)) == 1


@pytest.mark.parametrize("key", ["command", "new"])
def test_a_step_cannot_be_changed_after_it_was_read(key: str) -> None:
    args = parse_playbook(EXAMPLE, "p").subtasks[0].approaches[0].steps[0].args
    assert isinstance(args, FrozenObject)
    with pytest.raises(TypeError, match="frozen"):
        args[key] = "rm"


def test_a_playbook_has_a_canonical_form() -> None:
    assert canonical_bytes(playbook_to_json(parse_playbook(EXAMPLE, "p"))).startswith(b'{"budget"')


SLUGS = st.from_regex(r"[a-z0-9_]{1,12}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=20).filter(str.strip)
DATA = st.recursive(st.none() | st.booleans() | st.integers() | TEXTS, lambda x: st.lists(x, max_size=3), max_leaves=5)
CONFIGS = st.dictionaries(SLUGS.filter(lambda key: key not in {"kind", "limits"}), DATA, max_size=3)
CHECKS = st.builds(CheckSpec, kind=SLUGS, config=CONFIGS, limits=st.none() | st.dictionaries(SLUGS, st.integers()))
CRITERIA = st.lists(
    st.builds(Criterion, id=SLUGS, text=TEXTS, mode=st.sampled_from(Mode), check=CHECKS, required=st.booleans()),
    min_size=1,
    max_size=2,
    unique_by=lambda criterion: criterion.id,
).map(tuple)
STEPS = st.lists(
    st.builds(
        Step,
        tool=SLUGS,
        args=st.dictionaries(TEXTS, DATA, max_size=2),
        timeout_s=st.integers(1, 3600),
        may_fail=st.booleans(),
        network=st.booleans(),
        writes=st.lists(TEXTS, max_size=2).map(tuple),
        look=st.none() | TEXTS,
    ),
    min_size=1,
    max_size=2,
).map(tuple)
APPROACH = st.builds(Approach, id=SLUGS, steps=STEPS, corrections=st.lists(STEPS, max_size=2).map(tuple))
SUBTASKS = st.lists(
    st.builds(
        Subtask,
        id=SLUGS,
        intent=TEXTS,
        criteria=CRITERIA,
        approaches=st.lists(APPROACH, min_size=1, max_size=2, unique_by=lambda way: way.id).map(tuple),
        sequence=st.integers(1, 200),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda task: task.id,
).map(tuple)
PLAYBOOKS = st.builds(
    Playbook,
    intent=TEXTS,
    task_class=SLUGS,
    subtasks=SUBTASKS,
    criteria=st.just(()) | CRITERIA,
    budget=st.builds(PlaybookBudget, time_s=st.integers(1, 86_400), replans=st.integers(0, 10)),
    inputs=st.dictionaries(SLUGS, TEXTS, max_size=2),
)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(PLAYBOOKS)
def test_a_playbook_kept_as_data_is_given_back(playbook: Playbook) -> None:
    assert playbook_from_json(playbook_to_json(playbook)) == playbook


def test_what_comes_after_is_kept_as_it_was_written() -> None:
    playbook = parse_playbook(EXAMPLE, "p")
    assert playbook_from_json(playbook_to_json(playbook)) == playbook


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(EXAMPLE)), st.sampled_from("[]{}:-,'\"\n\t &*!#x0"))))
def test_a_damaged_playbook_is_a_playbook_or_faults(changes: list[tuple[int, str]]) -> None:
    text = EXAMPLE
    for at, inserted in changes:
        text = text[:at] + inserted + text[at:]
    lines = [1]
    try:
        parse_playbook(text, "p")
    except Faulty as faulty:
        lines = [fault.line for fault in faulty.diagnostics]
    assert lines
    assert all(0 <= line <= text.count("\n") + 2 for line in lines)
