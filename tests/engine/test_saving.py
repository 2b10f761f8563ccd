"""Is an accepted run saved as what repeats it with no model, and refused where that cannot be?"""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from earnest.contracts.criterion import CheckSpec, Criterion, Mode
from earnest.effects.hands.tools.failures import ToolFailure
from earnest.effects.hands.tools.record import RawResult, ToolCall, ToolRecord
from earnest.effects.hands.workspace.changes import Change
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.messages import (
    Budget,
    ConfirmationAsked,
    FinalResult,
    PlannedSubTask,
    PlanReady,
    SubTaskEnding,
    SubTaskOutcome,
    TaskRequested,
    TaskSpec,
    ToolCalled,
    Usage,
)
from earnest.engine.saving import Saved, playbook_of
from earnest.foundation.canonical import JsonObject, canonical_text, digest_bytes
from earnest.foundation.errors import Refused
from earnest.foundation.failures import FailureClass
from earnest.verification.verdict import Answer, CriterionVerdict

CHECKED = Criterion(id="C1", text="a.txt is there", check=CheckSpec(kind="files", config={"required": ["a.txt"]}))
JUDGED = Criterion(id="C2", text="it greets", mode=Mode.PLAUSIBLE)
BAD = ToolFailure(failure_class=FailureClass.LOGICAL, code="exit_code", message="exit code 1")
LOOK = ToolCall(tool="shell", args={"command": "cat a.txt"})


def digest(call: ToolCall) -> str:
    return call.digest("1")


def write(path: str, content: str) -> tuple[ToolCall, Change]:
    data = content.encode()
    call = ToolCall(tool="write_file", args={"path": path, "content": content})
    return call, Change(path=path, kind=EntryKind.FILE, digest=digest_bytes(data), size_bytes=len(data))


def record(call: ToolCall, *changed: Change, output: str = "", failed: bool = False) -> ToolRecord:
    raw = RawResult(stdout=output.encode(), exit_code=int(failed), failure=BAD if failed else None)
    return ToolRecord(
        tool=call.tool,
        tool_ids=frozenset({call.tool}),
        target="",
        args=call.args,
        call_digest=digest(call),
        ok=not failed,
        exit_code=raw.exit_code,
        failure=raw.failure,
        output_excerpt=output,
        output_digest="",
        output_bytes=len(output),
        duration_ms=9_000,
        started_at_ms=0,
        changed=changed,
        sandbox="",
    )


def saved(
    *attempts: Sequence[ToolRecord],
    criteria: tuple[Criterion, ...] = (CHECKED,),
    evidence: tuple[str, ...] = (),
    texts: dict[str, str] | None = None,
    more: Sequence[object] = (),
    state: MacroState = MacroState.ACCEPT,
    given: Sequence[str] = (),
    asked: str = "greet",
    edits: dict[str, str] | None = None,
) -> Saved:
    """Save a run of one subtask that took these attempts."""
    called = [
        ToolCalled(round=1, subtask_id="s1", attempt=attempt, number=number, record=one)
        for attempt, records in enumerate(attempts, start=1)
        for number, one in enumerate(records, start=1)
    ]
    verdicts = tuple(
        CriterionVerdict(id=c.id, answer=Answer.VERIFIED, reason="", evidence=() if c.check else evidence)
        for c in criteria
    )
    outcome = SubTaskOutcome(
        round=1,
        subtask_id="s1",
        status=SubTaskEnding.MATCHED,
        output="",
        approach_id=None,
        verdicts=verdicts,
        trajectory=(),
        calls=tuple(one.key for one in called),
    )
    subtask = PlannedSubTask(id="s1", sequence=1, intent="Greet", criteria=criteria)
    result = FinalResult(
        directive=state,
        cause=None if state is MacroState.ACCEPT else AbandonCause.USER,
        summary="",
        output="",
        loss=None,
        gradient=0,
        loss_gradient=0,
        round=1,
        replans=0,
        previous="",
        done=("s1",),
        not_done=(),
        unmet=(),
        next_moves=(),
        elapsed_ms=1,
        usage=Usage(),
    )
    messages = [
        TaskRequested(raw_input=asked, budget=Budget(time_ms=90_000)),
        TaskSpec(task_class="greet", intent="Greet somebody", raw_input="greet"),
        PlanReady(round=1, task_criteria=(), subtasks=(subtask,)),
        *more,
        *called,
        outcome,
        result,
    ]
    return playbook_of(
        messages, digest=digest, inputs={"src": "/srv/thing/src"}, texts=texts or {}, given=given, edits=edits
    )


def commands(of: Saved) -> list[object]:
    (subtask,) = of.playbook.subtasks
    (approach,) = subtask.approaches
    return [step.args.get("command") or step.args.get("path") for step in approach.steps]


def test_what_was_called_is_the_approach_and_what_was_wanted_stays() -> None:
    playbook = saved([record(*write("a.txt", "hi")), record(LOOK)]).playbook
    assert (playbook.intent, playbook.task_class, playbook.budget.time_s) == ("Greet somebody", "greet", 90)
    assert dict(playbook.inputs) == {"src": "/srv/thing/src"}
    (subtask,) = playbook.subtasks
    assert subtask.criteria == (CHECKED,)
    assert [(step.tool, step.timeout_s, step.may_fail) for step in subtask.approaches[0].steps] == [
        ("write_file", 90, False),
        ("shell", 90, False),
    ]


def test_a_correction_is_saved_with_what_it_goes_on_from() -> None:
    first = [record(*write("a.txt", "hi")), record(LOOK), record(ToolCall(tool="shell", args={"command": "ls"}))]
    second = [record(*write("b.txt", "ho")), record(LOOK)]
    assert commands(saved(first, second)) == ["a.txt", "b.txt", "cat a.txt"]


def test_a_failed_call_is_saved_only_for_what_it_left() -> None:
    change = write("a.txt", "hi")[1]
    broken = record(ToolCall(tool="shell", args={"command": "echo hi > a.txt; false"}), change, failed=True)
    told = saved([record(LOOK, failed=True), broken, record(ToolCall(tool="shell", args={"command": "ls"}))])
    assert commands(told) == ["echo hi > a.txt; false", "ls"]
    assert [step.may_fail for step in told.playbook.subtasks[0].approaches[0].steps] == [True, False]


def test_of_too_many_steps_those_that_only_looked_are_left_out() -> None:
    looks = [record(ToolCall(tool="shell", args={"command": f"ls {number}"})) for number in range(9)]
    assert commands(saved([record(*write("a.txt", "1")), *looks, record(*write("b.txt", "2"))])) == ["a.txt", "b.txt"]
    writes = [record(*write(f"{number}.txt", "")) for number in range(11)]
    with pytest.raises(Refused, match="11 steps that count"):
        saved(writes)


def evidence_of(one: ToolRecord, quote: str) -> tuple[str, ...]:
    return (f"c1 {one.call_digest}: {quote}",)


def check_of(told: Saved) -> CheckSpec | None:
    return next((c.check for c in told.playbook.subtasks[0].criteria if c.id == "C2"), None)


def test_a_quotation_from_a_file_that_a_step_states_becomes_its_hash() -> None:
    made = record(*write("a.txt", "hello  there\n"))
    told = saved(
        [made], criteria=(JUDGED,), evidence=evidence_of(made, "hello there"), texts={"a.txt": "hello  there\n"}
    )
    wanted = {"path": "a.txt", "sha256": digest_bytes(b"hello  there\n").removeprefix("sha256:")}
    assert check_of(told) == CheckSpec(kind="files", config={"required": [wanted]})
    assert told.playbook.subtasks[0].criteria[0].mode is Mode.VERIFIABLE


def test_a_quotation_from_a_file_that_was_computed_becomes_a_pattern() -> None:
    text = "total: 42 (a+b)\n7\n"
    made = record(ToolCall(tool="shell", args={"command": "count > a.txt"}), write("a.txt", text)[1])
    for quote, pattern in (("42 (a+b)", r"42\s+\(a\+b\)"), ("7", r"(?m)^[ \t]*7[ \t]*$")):
        told = saved([made], criteria=(JUDGED,), evidence=evidence_of(made, quote), texts={"a.txt": text})
        assert check_of(told) == CheckSpec(kind="files", config={"required": [{"path": "a.txt", "regex": pattern}]})


def test_a_quotation_from_what_a_call_put_out_becomes_the_same_call() -> None:
    look = record(LOOK, output="hello there\n")
    told = saved(
        [record(*write("a.txt", "hello there\n")), look], criteria=(JUDGED,), evidence=evidence_of(look, "hello there")
    )
    check = check_of(told)
    assert check is not None
    assert check.config["command"] == ("/bin/bash", "-o", "pipefail", "-c", "cat a.txt")
    assert check.config["stdout_regex"] == r"(?m)^[ \t]*hello\s+there[ \t]*$"


@pytest.mark.parametrize(
    "command",
    [
        "python3 sum.py",
        "./sum.py",
        "cd . && timeout 5 python3 -B sum.py src",
        "cat src | python3 ./sum.py",
        "FOO=1 bash sum.py",
    ],
)
def test_the_executors_own_script_is_no_check_of_what_it_did(command: str) -> None:
    made = record(*write("sum.py", "print('all is well')\n"))
    ran = record(ToolCall(tool="shell", args={"command": command}), output="all is well\n")
    told = saved([made, ran], criteria=(CHECKED, JUDGED), evidence=evidence_of(ran, "all is well"))
    assert (check_of(told), told.left_out) == (None, ("s1: it greets",))
    looked = record(ToolCall(tool="shell", args={"command": "wc -l sum.py"}), output="1 sum.py\n")
    assert check_of(saved([made, looked], criteria=(JUDGED,), evidence=evidence_of(looked, "1 sum.py")))


def test_a_call_that_finds_the_same_where_nothing_was_done_is_no_check() -> None:
    made = record(*write("sum.txt", "42\n"))
    again = record(
        ToolCall(tool="shell", args={"command": "python3 -c 'print(sum(map(int, open(\"src\"))))'"}), output="42"
    )
    told = saved([made, again], criteria=(CHECKED, JUDGED), evidence=evidence_of(again, "42"))
    made_check = told.playbook.subtasks[0].criteria[1]
    assert (made_check.id, told.left_out) == ("C2", ())
    kept = told.without_idle([made_check])
    assert (kept.playbook.subtasks[0].criteria, kept.left_out) == ((CHECKED,), ("s1: it greets",))
    assert told.without_idle([CHECKED]) == told, "what was planned is not ours to strike"
    alone = saved([made, again], criteria=(JUDGED,), evidence=evidence_of(again, "42"))
    with pytest.raises(Refused, match="nothing that s1 must reach"):
        alone.without_idle(alone.playbook.subtasks[0].criteria)


def test_what_was_edited_stays_a_parameter() -> None:
    playbook = saved([record(*write("a.txt", "x"))], edits={"calc": "/srv/calc"}).playbook
    assert (playbook.inputs, playbook.edits) == ({"src": "/srv/thing/src"}, {"calc": "/srv/calc"})


def test_what_was_found_out_of_an_input_is_asked_for_whatever_it_is_tomorrow() -> None:
    text = "total: 1,042.5 (a+b)\n7 lines\n"
    made = record(ToolCall(tool="shell", args={"command": "count src > a.txt"}), write("a.txt", text)[1])
    for quote, lines in (
        ("total: 1,042.5 (a+b)", ("total: 3 (a+b)", "total: 9.75 (a+b)")),
        ("7 lines", ("12 lines", "0 lines")),
    ):
        check = check_of(saved([made], criteria=(JUDGED,), evidence=evidence_of(made, quote), texts={"a.txt": text}))
        assert check is not None
        pattern = check.config["required"][0]["regex"]  # type: ignore[call-overload,index]
        assert isinstance(pattern, str)
        assert all(re.search(pattern, line) for line in (quote, *lines))
        assert not re.search(pattern, "nothing of it 5")


def test_what_was_typed_from_an_input_or_asked_for_as_it_is_today_is_not_pinned() -> None:
    look = record(ToolCall(tool="shell", args={"command": "wc -l src"}), output="7 src")
    typed = record(*write("a.txt", "seven\n"))
    kept = saved(
        [look, typed], criteria=(CHECKED, JUDGED), evidence=evidence_of(typed, "seven"), texts={"a.txt": "seven\n"}
    )
    assert (check_of(kept), kept.left_out) == (None, ("s1: it greets",))
    for exact, is_kept in (("seven\n", False), ("greet", True)):  # the second are the user's own words
        config: JsonObject = {"required": [{"path": "a.txt", "exact": exact}]}
        pinned = replace(CHECKED, check=CheckSpec(kind="files", config=config))
        (criterion,) = saved([look, typed], criteria=(pinned,)).playbook.subtasks[0].criteria
        general = CheckSpec(kind="files", config={"required": [{"path": "a.txt", "min_bytes": 1}]})
        assert criterion.check == (pinned.check if is_kept else general)


READ = record(ToolCall(tool="shell", args={"command": "sort src > a.txt"}), write("a.txt", "Ada 41\nGrace 37\n")[1])
GIVEN = "name,age\nGrace,37\nAda Lovelace,41\n"


@pytest.mark.parametrize(
    ("kind", "config", "general"),
    [
        ("files", {"required": [{"path": "a", "contains": ["Lovelace", "sum"]}]}, {"contains": ["sum"]}),
        ("files", {"required": [{"path": "a", "regex": "^Grace"}]}, {"min_bytes": 1}),
        ("files", {"required": [{"path": "a", "regex": "^\\S+ \\d+$"}]}, None),
        ("files", {"required": [{"path": "a", "min_bytes": 15, "max_bytes": 400}]}, {"min_bytes": 1}),
        ("files", {"required": [{"path": "a", "contains": ["oldest"], "min_bytes": 1}]}, None),
        ("files", {"required": ["a"]}, None),
        ("json_schema", {"path": "a", "schema": {"required": ["age"], "properties": {"n": {"const": "Grace"}}}}, {}),
        ("md_table", {"path": "a", "columns": ["Name", "Age"], "rows_min": 17}, {"rows_min": 1}),
        ("files", {"required": [{"path": "a", "contains": ["sum 1700", "sum"]}]}, {"contains": ["sum"]}),
        ("files", {"required": [{"path": "a", "regex": "^\\S+ \\d{1,12}$"}]}, None),
        ("json_schema", {"path": "a", "schema": {"properties": {"n": {"const": 17}}}}, {}),
    ],
)
def test_what_a_check_takes_from_todays_input_is_not_asked_for_again(
    kind: str, config: JsonObject, general: JsonObject | None
) -> None:
    check = CheckSpec(kind=kind, config=config)
    told = saved([READ], criteria=(replace(CHECKED, check=check),), given=(GIVEN,))
    (criterion,) = told.playbook.subtasks[0].criteria
    assert criterion.check is not None
    kept = canonical_text(criterion.check.config)
    assert not any(word in kept for word in ("Lovelace", "Grace", "17", "400"))
    assert all(canonical_text({key: value})[1:-1] in kept for key, value in (general or {}).items())
    assert bool(told.weaker) == (criterion.check != check) == (general is not None)


def test_a_check_that_cannot_do_without_todays_input_is_left_out_and_named() -> None:
    looks = {"command": ["grep", "-q", "Lovelace", "a.txt"]}
    pinned = replace(CHECKED, id="C9", text="she is there", check=CheckSpec(kind="command", config=looks))
    told = saved([READ], criteria=(CHECKED, pinned), given=(GIVEN,))
    assert [one.id for one in told.playbook.subtasks[0].criteria] == [CHECKED.id]
    assert told.weaker == ("s1: she is there",)
    asked_for = saved([READ], criteria=(CHECKED, pinned), given=(GIVEN,), asked="greet Ada Lovelace")
    assert (len(asked_for.playbook.subtasks[0].criteria), asked_for.weaker) == (2, ())
    with pytest.raises(Refused, match="can be checked without a model"):
        saved([READ], criteria=(pinned,), given=(GIVEN,))


def test_a_quotation_with_words_of_the_input_is_a_line_of_that_shape() -> None:
    quoted = {"criteria": (JUDGED,), "evidence": evidence_of(READ, "Grace 37"), "texts": {"a.txt": "Grace 37\n"}}
    check = check_of(saved([READ], given=(GIVEN,), **quoted))  # type: ignore[arg-type]
    assert check is not None
    pattern = check.config["required"][0]["regex"]  # type: ignore[call-overload,index]
    assert re.search(str(pattern), "Jean 9\n")
    assert not re.search(str(pattern), "Jean\n")


def test_what_was_put_out_before_a_change_proves_nothing_about_the_end() -> None:
    look = record(LOOK, output="hello there\n")
    told = saved(
        [look, record(*write("a.txt", "bye"))], criteria=(CHECKED, JUDGED), evidence=evidence_of(look, "hello there")
    )
    assert (check_of(told), told.left_out) == (None, ("s1: it greets",))


def test_a_removed_path_must_be_gone_again() -> None:
    gone = record(ToolCall(tool="shell", args={"command": "rm a"}), Change(path="a", kind=EntryKind.GONE, digest=None))
    told = saved([gone], criteria=(JUDGED,), evidence=evidence_of(gone, "removed a"))
    assert check_of(told) == CheckSpec(kind="command", config={"command": ["test", "!", "-e", "a"]})


def test_a_subtask_that_only_a_model_can_judge_is_refused() -> None:
    with pytest.raises(Refused, match="can be checked without a model"):
        saved([record(LOOK)], criteria=(JUDGED,))


def test_a_confirmed_effect_asks_again() -> None:
    call = ToolCall(tool="shell", args={"command": "touch /srv/thing/x"}, writes=("/srv/thing",))
    asked = ConfirmationAsked(
        action="", tool="shell", args=call.args, wording="", paths=call.writes, network=False, expires_at_ms=0
    )
    told = saved([record(call)], more=[asked])
    (step,) = told.playbook.subtasks[0].approaches[0].steps
    assert (step.writes, step.network) == (("/srv/thing",), False)
    (step,) = saved([record(replace(LOOK, network=True))]).playbook.subtasks[0].approaches[0].steps
    assert step.network


def test_an_effect_under_a_grant_for_the_whole_run_is_refused() -> None:
    with pytest.raises(Refused, match="granted to write"):
        saved([record(replace(LOOK, writes=("/srv/thing",)))])


@pytest.mark.parametrize("state", [MacroState.ABANDON, MacroState.SUCCESS])
def test_only_what_was_accepted_is_saved(state: MacroState) -> None:
    with pytest.raises(Refused, match="accepted"):
        saved([record(LOOK)], state=state)
