"""What goes wrong with tasks in words: is each of it caught, by the whole pipeline, with models at a real socket?"""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from earnest.app.platform import open_platform
from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.memory_messages import MegramEmitted
from earnest.engine.messages import ExecutionResult, FinalResult, SubTask, SubTaskOutcome, TaskSpec, ToolCalled
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.runtime.order import Grants, request_order
from earnest.testing.model_server import (
    Behaviour,
    ModelServer,
    ReceivedRequest,
    ScriptedReply,
    WireFault,
    answers,
    by_prompt,
    cut_short,
    fails,
    fenced,
    huge,
    invalid_json,
    invalid_utf8,
    prose_around,
    refused_url,
    says,
    thinking_first,
    two_objects,
)

from .processes import any_with
from .worded import (
    BUDGET,
    DONE,
    GREETED,
    GREETING,
    MACHINE_CHECKED,
    SPEC,
    UNMET,
    Worked,
    criterion,
    met_by,
    plan,
    settings_at,
    work,
    writing,
)

ONE_ROUND = replace(BUDGET, time_ms=60_000)
JUDGED: Mapping[str, Behaviour] = {**MACHINE_CHECKED, "planner": plan("a.txt", judged=True)}  # type: ignore[dict-item]


def shell(command: str) -> ScriptedReply:
    return answers({"calls": [{"tool": "shell", "args": {"command": command}}]})


def done(words: str) -> ScriptedReply:
    return answers({"done": {"status": "completed", "output": words}})


def planned(*subtasks: JsonObject, task: JsonObject | None = None) -> ScriptedReply:
    criteria: list[JsonValue] = [task or criterion("a.txt", judged=False)]
    return answers({"task_criteria": criteria, "subtasks": list(subtasks), "rules": []})


def subtask(path: str, *, sequence: int = 1, **more: JsonValue) -> JsonObject:
    return {"sequence": sequence, "intent": f"Greet in {path}", "criteria": [criterion(path, judged=False)], **more}


def said(worked: Worked, kind: type) -> list[object]:
    return [one.payload for one in worked.heard if isinstance(one.payload, kind)]


async def worked(home: Path, script: Mapping[str, object], **more: object) -> tuple[Worked, ModelServer]:
    async with ModelServer(by_prompt(**script)) as server:  # type: ignore[arg-type]
        return await work(home / "home", server, **more), server  # type: ignore[arg-type]


# -- The endpoint misbehaves -------------------------------------------------------------------------------------------

EXECUTED: JsonObject = {"calls": [{"tool": "write_file", "args": {"path": "a.txt", "content": GREETED}}]}


@pytest.mark.parametrize(
    "form",
    [
        prose_around,
        fenced,
        thinking_first,
        lambda value: two_objects(value, {"calls": []}),
        lambda value: replace(answers(value), streams=False),
        lambda value: replace(answers(value), piece_characters=1, pause_ms=1),
    ],
    ids=["prose", "fences", "thoughts", "two objects", "unstreamed", "drops"],
)
async def test_an_answer_in_any_wrapping_is_read(form: Callable[[JsonObject], ScriptedReply], tmp_path: Path) -> None:
    result = (
        await worked(
            tmp_path,
            {
                **MACHINE_CHECKED,
                "executor": [form(EXECUTED), form({"done": {"status": "completed", "output": "It is written."}})],
            },
        )
    )[0].result
    assert (result.directive, result.usage.passes) == (MacroState.ACCEPT, 3), result.summary


@pytest.mark.parametrize("bad", [says(""), cut_short(EXECUTED), says("no"), answers({"calls": 3}), answers([EXECUTED])])
async def test_an_answer_of_no_form_is_repaired_once(bad: ScriptedReply, tmp_path: Path) -> None:
    mended, server = await worked(tmp_path, {**MACHINE_CHECKED, "executor": [bad, answers(EXECUTED), DONE]})
    assert mended.result.directive is MacroState.ACCEPT, mended.result.summary
    assert len(server.chats) == 5
    assert mended.result.usage.passes == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "bad",
    [
        fails(400),
        fails(401),
        fails(404),
        ScriptedReply(fault=WireFault.TRUNCATED, text="x" * 400),
        ScriptedReply(fault=WireFault.UNFINISHED, text="x" * 400),
        huge(5 * 2**20),
        invalid_utf8(),
        invalid_json(),
        says("never an object"),
        ScriptedReply(text="{}", content_type="text/html"),
        replace(answers(EXECUTED), finish="length"),
        replace(answers(EXECUTED), finish="content_filter"),
    ],
    ids=[
        "400",
        "401",
        "404",
        "cut off",
        "unfinished",
        "huge",
        "no UTF-8",
        "no JSON",
        "prose",
        "a web page",
        "too long",
        "filtered",
    ],
)
@pytest.mark.parametrize("role", ["planner", "judge"])
async def test_an_endpoint_that_fails_ends_in_an_honest_result(role: str, bad: ScriptedReply, tmp_path: Path) -> None:
    script = {**JUDGED, "graceful": fails(400), role: bad}
    found = (await worked(tmp_path, script, budget=replace(BUDGET, time_ms=20_000)))[0].result
    assert found.directive is MacroState.ABANDON
    assert found.cause is not AbandonCause.FAULT, found.summary
    assert found.unmet or found.cause is AbandonCause.PLANNING


@pytest.mark.parametrize(
    "bad", [fails(429, retry_after="0"), fails(500), fails(503), ScriptedReply(fault=WireFault.RESET)]
)
async def test_a_passing_outage_is_waited_out(bad: ScriptedReply, tmp_path: Path) -> None:
    found, server = await worked(tmp_path, {**MACHINE_CHECKED, "planner": [bad, plan("a.txt")]})
    assert found.result.directive is MacroState.ACCEPT, found.result.summary
    assert len(server.chats) == 5
    assert found.result.usage.model_calls == 4


@pytest.mark.slow
async def test_a_judge_that_fails_costs_the_executor_nothing(tmp_path: Path) -> None:
    script = {**JUDGED, "judge": fails(400), "executor": _writes_what_it_is_told, "graceful": fails(400)}
    found, _ = await worked(tmp_path, script)
    assert (found.result.directive, found.result.cause) == (MacroState.ABANDON, AbandonCause.UNCLEAR)
    learnt = [str(one.lesson.tag) for one in said(found, MegramEmitted)]  # type: ignore[attr-defined]
    assert all("cause:" in tag for tag in learnt), "nothing about the task is learnt from a judge's outage"
    assert {one.attempt for one in said(found, ExecutionResult)} == {1}, "no correction for what nobody judged"  # type: ignore[attr-defined]


@pytest.mark.slow
async def test_an_unreachable_endpoint_is_said_within_seconds(tmp_path: Path) -> None:
    async with ModelServer(by_prompt()) as server:
        settings = settings_at(tmp_path / "home", server)
    nobody = replace(settings, models=replace(settings.models, base_url=refused_url()))
    async with open_platform(nobody) as platform:
        run_id = await platform.runs.begin(request_order("do it", BUDGET, tmp_path, Grants()))
        found = await asyncio.wait_for(platform.runs.work(run_id), 30)
    assert (found.directive, found.cause) == (MacroState.ABANDON, AbandonCause.UNANSWERED)
    assert "cannot be reached" in found.summary


@pytest.mark.slow
@pytest.mark.parametrize("role", ["perceiver", "planner", "executor", "judge"])
async def test_silence_of_any_role_ends_at_the_time_budget(role: str, tmp_path: Path) -> None:
    script = {**JUDGED, "judge": met_by("c1"), role: ScriptedReply(fault=WireFault.HANG_BEFORE_HEADERS)}
    async with ModelServer(by_prompt(**script)) as server:
        settings = replace(settings_at(tmp_path / "home", server), silence_s=5)
        async with open_platform(settings) as platform:
            budget = replace(BUDGET, time_ms=1_500)
            run_id = await platform.runs.begin(request_order("do it", budget, tmp_path, Grants()))
            working = asyncio.create_task(platform.runs.work(run_id))
            if (
                role == "perceiver"
            ):  # time runs from the TaskSpec; before it, only the user and the call's own bound end it
                await asyncio.wait_for(server.asked.wait(), 10)
                platform.engine.stop(run_id, AbandonCause.USER, "enough")
            found = await asyncio.wait_for(working, 20)
    assert (found.directive, found.cause) == (
        MacroState.ABANDON,
        AbandonCause.USER if role == "perceiver" else AbandonCause.TIME,
    )


# -- The planner misbehaves --------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_ids_that_a_planner_makes_up_or_doubles_become_ours(tmp_path: Path) -> None:
    drafts = planned(subtask("a.txt"), subtask("b.txt"))
    script = {**MACHINE_CHECKED, "planner": drafts, "executor": _writes_what_it_is_told}
    found, _ = await worked(tmp_path, script)
    assert found.result.directive is MacroState.ACCEPT, found.result.summary
    assert [one.subtask.id for one in said(found, SubTask)] == ["s1", "s2"]  # type: ignore[attr-defined]
    invented = planned(subtask("a.txt", id="../../x"), task=criterion("a.txt", judged=False))
    refused, _ = await worked(tmp_path / "second", {**MACHINE_CHECKED, "planner": invented, "graceful": fails(400)})
    assert (refused.result.directive, refused.result.cause) == (MacroState.ABANDON, AbandonCause.PLANNING)


async def test_what_follows_a_failed_subtask_is_not_run(tmp_path: Path) -> None:
    drafts = planned(subtask("a.txt"), subtask("b.txt", sequence=2))
    script = {**MACHINE_CHECKED, "planner": [drafts, says("no")], "executor": done("done"), "graceful": fails(400)}
    found, _ = await worked(tmp_path, script)
    assert {one.subtask.id for one in said(found, SubTask)} == {"s1"}  # type: ignore[attr-defined]
    assert found.result.directive is MacroState.ABANDON


@pytest.mark.slow
async def test_what_is_blocked_is_refused_by_code_in_the_plan_and_in_the_call(tmp_path: Path) -> None:
    def plans(request: ReceivedRequest) -> ScriptedReply:
        """Whatever it was told, it wants the same again, until its draft is turned down."""
        wants: list[JsonValue] = [] if "turned down" in request.prompt else [{"tool": "shell:tac"}]
        return planned(subtask("a.txt", uses=wants))

    script = {**MACHINE_CHECKED, "planner": plans, "executor": _takes_tac, "graceful": fails(400)}
    found, server = await worked(tmp_path, script)
    planning = [request.prompt for request in server.chats if request.prompt_name == "planner"]
    assert any("uses the blocked tool shell:tac" in prompt for prompt in planning), "the draft came back"
    codes = [one.record.failure.code for one in said(found, ToolCalled) if one.record.failure]  # type: ignore[attr-defined]
    assert {"blocked_tool", "exit_code"} >= set(codes) >= {"blocked_tool"}
    assert found.result.directive is MacroState.ABANDON


# -- The executor misbehaves -------------------------------------------------------------------------------------------


async def test_success_over_a_failed_call_is_overruled(tmp_path: Path) -> None:
    script = {
        **JUDGED,
        "executor": [shell("exit 3"), done("All done, exit status 0."), says("no")],
        "judge": met_by("c1"),
        "planner": [plan("a.txt", judged=True), says("no")],
        "graceful": fails(400),
    }
    found, _ = await worked(tmp_path, script)
    assert found.result.directive is MacroState.ABANDON
    assert [one.status for one in said(found, SubTaskOutcome)] == ["failed"]  # type: ignore[attr-defined]


async def test_words_of_success_do_not_outrank_the_judge(tmp_path: Path) -> None:
    script = {
        **JUDGED,
        "executor": [writing("b.txt"), done("a.txt holds the greeting")],
        "judge": UNMET,
        "planner": [plan("a.txt", judged=True), says("no")],
        "graceful": fails(400),
    }
    found, _ = await worked(tmp_path, script)
    assert found.result.directive is MacroState.ABANDON
    assert found.result.unmet


async def test_a_claimed_quote_that_no_record_holds_does_not_count(tmp_path: Path) -> None:
    script = {
        **JUDGED,
        "executor": [shell("ls"), done(f"a.txt: {GREETED}")],
        "judge": met_by("c1"),
        "planner": [plan("a.txt", judged=True), says("no")],
        "graceful": fails(400),
    }
    found, _ = await worked(tmp_path, script)
    assert found.result.directive is MacroState.ABANDON


async def test_a_result_at_the_end_of_a_long_output_is_seen(tmp_path: Path) -> None:
    script = {
        **JUDGED,
        "executor": [shell(f"echo '{GREETED.strip()}' > a.txt && seq 5000 && cat a.txt"), DONE],
        "judge": met_by("c1"),
    }
    found, server = await worked(tmp_path, script)
    judged = next(request.prompt for request in server.chats if request.prompt_name == "judge")
    assert GREETED.strip() in judged
    assert found.result.directive is MacroState.ACCEPT, found.result.unmet


async def test_a_retry_is_told_what_was_tried_and_an_exact_repeat_is_refused(tmp_path: Path) -> None:
    script = {
        **JUDGED,
        "executor": [
            writing("a.txt", "x\n"),
            DONE,
            writing("a.txt", "x\n"),
            writing("a.txt", "x\n"),
            writing("a.txt"),
            DONE,
        ],
        "judge": [UNMET, met_by("c4")],
    }
    found, server = await worked(tmp_path, script)
    second = [request.prompt for request in server.chats if request.prompt_name == "executor"][2]
    assert "tried before for this subtask" in second
    assert "it greets nobody" in second
    codes = [one.record.failure.code for one in said(found, ToolCalled) if one.record.failure]  # type: ignore[attr-defined]
    assert codes[:1] == ["repeated_call"]


async def test_a_call_with_unusable_arguments_is_a_failed_call_and_no_fault_of_ours(tmp_path: Path) -> None:
    script = {
        **MACHINE_CHECKED,
        "planner": [plan("a.txt"), says("no")],
        "executor": answers({"calls": [{"tool": "shell", "args": {"comand": "true"}}]}),
        "graceful": fails(400),
    }
    found, _ = await worked(tmp_path, script)
    codes = [one.record.failure.code for one in said(found, ToolCalled) if one.record.failure]  # type: ignore[attr-defined]
    assert codes == ["bad_args", "repeated_call"]
    assert (found.result.directive, found.result.cause) == (MacroState.ABANDON, AbandonCause.PLANNING), (
        found.result.summary
    )


async def test_the_same_call_again_and_again_ends_the_execution(tmp_path: Path) -> None:
    script = {
        **MACHINE_CHECKED,
        "planner": [plan("a.txt"), says("no")],
        "executor": shell("true"),
        "graceful": fails(400),
    }
    found, server = await worked(tmp_path, script)
    assert found.result.directive is MacroState.ABANDON
    assert sum(request.prompt_name == "executor" for request in server.chats) <= 4


async def test_an_abort_leaves_no_tool_running(tmp_path: Path) -> None:
    script = {**MACHINE_CHECKED, "executor": shell("echo + > started; exec sleep 600")}
    async with (
        ModelServer(by_prompt(**script)) as server,
        open_platform(settings_at(tmp_path / "home", server)) as platform,
    ):
        run_id = await platform.runs.begin(request_order("do it", BUDGET, tmp_path, Grants()))
        working = asyncio.create_task(platform.runs.work(run_id))
        stages = platform.runs.workspace_of(run_id).parent / "stages"
        async with asyncio.timeout(30):
            while not [*stages.rglob("started")]:  # noqa: ASYNC110 - the program inside cannot tell otherwise
                await asyncio.sleep(0)
        platform.engine.stop(run_id, AbandonCause.USER, "enough")
        found = await asyncio.wait_for(working, 10)
        assert (found.directive, found.cause) == (MacroState.ABANDON, AbandonCause.USER)
    assert not any_with("sleep 600")


# -- From task to task -------------------------------------------------------------------------------------------------


def _writes_what_it_is_told(request: ReceivedRequest) -> ScriptedReply:
    path = re.findall(r"Greet in (\S+\.txt)", request.prompt)[0]
    return DONE if "succeeded" in request.prompt else writing(path)


async def test_two_tasks_in_a_row_share_no_state(tmp_path: Path) -> None:
    script = {
        **MACHINE_CHECKED,
        "executor": [writing("a.txt"), DONE, DONE],
        "planner": [plan("a.txt"), plan("a.txt"), says("no")],
        "graceful": fails(400),
    }
    async with (
        ModelServer(by_prompt(**script)) as server,
        open_platform(settings_at(tmp_path / "home", server)) as platform,
    ):
        results: list[FinalResult] = []
        run_id = ""
        for _ in range(2):
            run_id = await platform.runs.begin(request_order("write hello", BUDGET, tmp_path, Grants()))
            results.append(await asyncio.wait_for(platform.runs.work(run_id), 60))
        assert not (platform.runs.workspace_of(run_id) / "a.txt").exists()
    assert [result.directive for result in results] == [MacroState.ACCEPT, MacroState.ABANDON], "the second did nothing"


@pytest.mark.slow
async def test_every_language_has_classes_of_its_own(tmp_path: Path) -> None:
    found = []
    for number, words in enumerate(["数一数文件", "посчитай файлы", "عد الملفات"]):
        task = {**SPEC, "intent": words, "task_class": words}
        one, _ = await worked(tmp_path / str(number), {**MACHINE_CHECKED, "perceiver": answers(task)}, words=words)
        found += [spec.task_class for spec in said(one, TaskSpec)]  # type: ignore[attr-defined]
    assert len(set(found)) == 3
    assert all(re.fullmatch(r"[a-z0-9_]{1,64}", slug) for slug in found)


async def test_a_greeting_costs_one_call(tmp_path: Path) -> None:
    _, server = await worked(tmp_path, {"perceiver": answers(GREETING)}, words="hi")
    assert len(server.chats) == 1


def _takes_tac(request: ReceivedRequest) -> ScriptedReply:
    """A wrong command, once an execution, and a claim."""
    return done("tac did it") if "\nfailed, " in request.prompt.rpartition("Begin.")[2] else shell("tac --wrong a.txt")


def _plans_by_memory(request: ReceivedRequest) -> ScriptedReply:
    """A planner that takes tac, unless memory says how that went."""
    return planned(subtask("a.txt", context="use the writer" if "shell:tac failed on" in request.prompt else "use tac"))


def _works_as_planned(request: ReceivedRequest) -> ScriptedReply:
    return _writes_what_it_is_told(request) if "use the writer" in request.prompt else _takes_tac(request)


@pytest.mark.slow
async def test_the_second_task_takes_another_way_because_of_the_first(tmp_path: Path) -> None:
    script: dict[str, Any] = {
        **MACHINE_CHECKED,
        "planner": [_plans_by_memory, says("no"), says("no"), _plans_by_memory],
        "executor": _works_as_planned,
        "graceful": fails(400),
    }
    ways, results = [], []
    async with (
        ModelServer(by_prompt(**script)) as server,
        open_platform(settings_at(tmp_path / "home", server)) as platform,
    ):
        for _ in range(2):
            begun = len(server.chats)
            run_id = await platform.runs.begin(request_order("write hello", BUDGET, tmp_path, Grants()))
            results.append((await asyncio.wait_for(platform.runs.work(run_id), 60)).directive)
            await platform.memory.flush()
            first = next(request.prompt for request in server.chats[begun:] if request.prompt_name == "executor")
            ways.append("writer" if "use the writer" in first else "tac")
    assert (ways, results) == (["tac", "writer"], [MacroState.ABANDON, MacroState.ACCEPT])
