"""Does a runner ask, have it done, hand it in once, and wait as long as it should?"""

from dataclasses import replace
from pathlib import Path

import pytest

from earnest.accountability.gate import hours_of
from earnest.client.heartbeat import HeartbeatState, load_state
from earnest.client.problem import Problem
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.process import ProgramFailed
from earnest.foundation.errors import Unavailable
from earnest.foundation.instants import MINUTE_MS
from earnest.runtime.heartbeats.program import Said, Work
from earnest.runtime.heartbeats.runner import ActiveHours

from .conftest import START_MS, TASK, Stage

HOUR_MS = 60 * MINUTE_MS
NO_NETWORK = Unavailable("no network")


def fails(_: Work) -> Said:
    raise ProgramFailed("it fell over")


async def test_what_is_due_is_done_handed_in_and_judged_again_and_again(stage: Stage) -> None:
    async with stage.running():
        await stage.clock.advance_ms(31 * MINUTE_MS)
    assert stage.told() == ["judged"] * 3
    first, second, _ = stage.program.given
    assert (first.tasks, first.contract, first.last) == ((TASK,), stage.contract.read_text(), None)
    assert second.last is not None
    assert second.last["heartbeat_id"].startswith("hbt_")
    bodies = [one["body"] for one in stage.platform.heartbeats.values()]
    assert (
        bodies
        == [{"reply": "done", "records": [], "artifacts": [], "claims": [], "contract": stage.contract.read_text()}] * 3
    )


async def test_what_the_program_left_and_ticked_is_handed_in(stage: Stage) -> None:
    def does(work: Work) -> Said:
        (work.folder / "artifacts" / "report.txt").write_text("all well")
        (work.folder / "artifacts" / "link").symlink_to("/etc/passwd")
        stage.contract.write_text(stage.contract.read_text().replace("[ ]", "[x]"))
        return Said(reply="x", records=({"tool": "t", "ok": True},), claims=({"task": "mail"},))

    stage.program.does = does
    report = await stage.runner().cycle()
    (beat,) = stage.platform.heartbeats.values()
    assert stage.platform.uploads == [b"all well"]
    assert [one["path"] for one in beat["body"]["artifacts"]] == ["report.txt"]
    assert "[x]" in beat["body"]["contract"]
    assert (beat["body"]["records"], beat["body"]["claims"]) == ([{"tool": "t", "ok": True}], [{"task": "mail"}])
    assert report.notes[0].startswith("'link': not handed in")


async def test_an_agent_without_a_contract_shows_its_own_and_does_all_of_it(stage: Stage) -> None:
    stage.platform.has_contract = False
    assert (await stage.runner().cycle()).outcome == "judged"
    assert [task["id"] for task in stage.program.given[0].tasks] == ["mail"]


async def test_without_contract_and_file_there_is_nothing_to_do(stage: Stage) -> None:
    stage.platform.has_contract = False
    stage.contract.unlink()
    report = await stage.runner().cycle()
    assert (report.outcome, report.reason, stage.program.given) == ("skipped", "nothing_to_do", [])
    assert report.next_ms == START_MS + 30 * MINUTE_MS


@pytest.mark.parametrize("skip", ["disabled", "paused", "outside_active_hours", "busy"])
async def test_a_closed_gate_is_told_and_the_program_left_alone(stage: Stage, skip: str) -> None:
    stage.platform.due_skip = skip
    report = await stage.runner().cycle()
    assert (report.outcome, report.reason, stage.program.given) == ("skipped", skip, [])
    assert report.idle == (1 if skip in {"disabled", "paused"} else 0)
    assert report.next_ms - START_MS == (MINUTE_MS if skip == "busy" else 15 * MINUTE_MS)


async def test_a_gate_that_closed_meanwhile_ends_the_turn(stage: Stage) -> None:
    stage.platform.taken_skips = ["paused"]
    runner = stage.runner()
    assert (await runner.cycle()).reason == "paused"
    assert (await runner.cycle()).outcome == "judged"
    assert len(stage.program.given) == 2


async def test_a_busy_platform_is_asked_again_under_another_key(stage: Stage) -> None:
    stage.platform.taken_skips = ["busy", "busy"]
    async with stage.running():
        await stage.clock.advance_ms(10_000)
    assert stage.told() == ["judged"]
    assert (len(stage.program.given), len(stage.platform.heartbeats)) == (1, 1)


async def test_a_platform_that_stays_busy_gets_the_turn_later(stage: Stage) -> None:
    stage.platform.taken_skips = ["busy"] * 12
    async with stage.running():
        await stage.clock.advance_ms(3 * MINUTE_MS)
    assert stage.told() == ["skipped busy", "judged"]
    assert len(stage.program.given) == 1


async def test_a_verdict_that_takes_long_is_looked_for_again_without_working_again(stage: Stage) -> None:
    stage.platform.unjudged_looks = 40
    async with stage.running():
        await stage.clock.advance_ms(6 * MINUTE_MS)
    assert stage.told() == ["unjudged", "judged"]
    assert (len(stage.program.given), stage.platform.calls.count("check_in")) == (1, 1)


async def test_a_lost_answer_is_asked_for_again_after_a_restart_with_one_effect(stage: Stage) -> None:
    stage.platform.loses_answers = 1
    with pytest.raises(ConnectionResetError):
        await stage.runner().cycle()
    runner = stage.runner()
    assert runner.held_back() is None
    assert (await runner.cycle()).outcome == "judged"
    assert (len(stage.program.given), len(stage.platform.heartbeats)) == (1, 1)
    assert stage.platform.calls.count("check_in") == 2


async def test_a_turn_stays_while_the_platform_is_away(stage: Stage) -> None:
    def does(_: Work) -> Said:
        stage.platform.failing = [NO_NETWORK, Problem(503, {}, 300_000), Problem(401, {})]
        return Said(reply="x")

    stage.program.does = does
    async with stage.running():
        await stage.clock.advance_ms(20 * MINUTE_MS)
    assert [one.outcome for one in stage.reports] == ["unanswered", "unanswered", "unanswered", "judged"]
    waits = [one.next_ms - one.at_ms for one in stage.reports[:3]]
    assert waits == [MINUTE_MS, 5 * MINUTE_MS, 4 * MINUTE_MS]
    assert (len(stage.program.given), len(stage.platform.heartbeats)) == (1, 1)


async def test_what_the_platform_will_never_take_is_the_programs_failure(stage: Stage) -> None:
    def does(_: Work) -> Said:
        stage.platform.failing = [Problem(422, {"code": "validation", "errors": [{"pointer": "/claims/0"}]})]
        return Said(reply="x")

    stage.program.does = does
    runner = stage.runner()
    report = await runner.cycle()
    assert (report.outcome, report.failures) == ("failed", 1)
    assert "validation" in report.reason
    assert "/claims/0" in report.reason
    stage.program.does = lambda _: Said(reply="y")
    assert (await runner.cycle()).outcome == "judged"


async def test_an_artifact_that_changes_after_the_program_is_not_handed_in(stage: Stage) -> None:
    def does(work: Work) -> Said:
        (work.folder / "artifacts" / "a").write_text("one")
        stage.platform.failing = [NO_NETWORK]
        return Said(reply="x")

    stage.program.does = does
    runner = stage.runner()
    await runner.cycle()
    (stage.program.given[0].folder / "artifacts" / "a").write_text("two")
    report = await runner.cycle()
    assert (report.outcome, report.reason) == ("failed", "'a' was changed after the program had ended")
    assert (stage.platform.uploads, stage.platform.heartbeats) == ([], {})


async def test_a_turn_of_last_week_is_not_sent_again(stage: Stage) -> None:
    stage.platform.loses_answers = 1
    with pytest.raises(ConnectionResetError):
        await stage.runner().cycle()
    stage.clock.jump_ms(7 * 24 * HOUR_MS)
    report = await stage.runner().cycle()
    assert (report.outcome, stage.platform.calls.count("check_in")) == ("failed", 1)
    assert "days old" in report.reason


async def test_a_turn_of_last_week_that_was_taken_gets_its_verdict(stage: Stage) -> None:
    stage.platform.unjudged_looks = 40
    async with stage.running():
        await stage.clock.advance_ms(150_000)
    stage.clock.jump_ms(7 * 24 * HOUR_MS)
    stage.platform.unjudged_looks = 0
    report = await stage.runner().cycle()
    assert (stage.told(), report.outcome, stage.platform.calls.count("check_in")) == (["unjudged"], "judged", 1)


@pytest.mark.slow
async def test_a_program_that_fails_is_tried_less_and_less_and_a_success_ends_that(stage: Stage) -> None:
    stage.program.does = fails
    async with stage.running():
        await stage.clock.advance_ms(4 * HOUR_MS)
        assert [one.next_ms - one.at_ms for one in stage.reports] == [MINUTE_MS * n for n in (1, 2, 4, 8, 60, 120, 240)]
        assert [one.is_open for one in stage.reports] == [False] * 4 + [True] * 3
        assert stage.reports[-1].failures == 7
        stage.program.does = lambda _: Said(reply="done")
        await stage.clock.advance_ms(4 * HOUR_MS)
    judged = next(one for one in stage.reports if one.outcome == "judged")
    assert (judged.at_ms - START_MS, judged.failures, judged.is_open) == (435 * MINUTE_MS, 0, False)
    assert judged.next_ms - judged.at_ms == 15 * MINUTE_MS
    assert stage.platform.calls.count("check_in") == sum(one.outcome == "judged" for one in stage.reports)


async def test_a_pause_holds_after_a_restart_and_a_wake_is_a_trial(stage: Stage) -> None:
    stage.program.does = fails
    runner = stage.runner()
    for _ in range(6):
        await runner.cycle()
    async with stage.running() as again:
        assert stage.told() == ["skipped back_pressure"]
        assert stage.reports[0].next_ms == START_MS + 2 * HOUR_MS
        assert stage.reports[0].is_open
        again.wake()
        await stage.clock.advance_ms(2_000)
    assert stage.told() == ["skipped back_pressure", "failed it fell over"]


async def test_a_program_that_fails_and_writes_its_contract_does_not_wake_itself(stage: Stage) -> None:
    def does(_: Work) -> Said:
        stage.contract.write_text(stage.contract.read_text() + "\nmore\n")
        raise ProgramFailed("it fell over")

    stage.program.does = does
    async with stage.running():
        await stage.clock.advance_ms(59_000)
    assert len(stage.reports) == 1


async def test_an_edit_of_the_contract_wakes_the_runner(stage: Stage) -> None:
    async with stage.running():
        stage.contract.write_text(stage.contract.read_text() + "\nmore\n")
        await stage.clock.advance_ms(5_000)
    assert stage.told() == ["judged", "skipped nothing_to_do"]


async def test_several_wakes_while_a_cycle_runs_are_one_more(stage: Stage) -> None:
    def does(work: Work) -> Said:
        assert stage.latest is not None
        for _ in work.tasks * 5:
            stage.latest.wake()
        return Said(reply="x")

    stage.program.does = does
    async with stage.running():
        await stage.clock.advance_ms(14 * MINUTE_MS)
    assert stage.told() == ["judged", "skipped nothing_to_do"]
    assert stage.reports[1].at_ms - stage.reports[0].at_ms == 1_000


@pytest.mark.slow
async def test_where_nothing_is_due_for_long_looks_get_rarer_until_something_is(stage: Stage) -> None:
    stage.platform.due_skip = "nothing_to_do"
    stage.platform.next_wake_ms = START_MS - 1_000
    async with stage.running() as runner:
        await stage.clock.advance_ms(5 * HOUR_MS)
        waits = [(one.next_ms - one.at_ms) // MINUTE_MS for one in stage.reports]
        assert waits == [15] * 9 + [30, 60, 60, 60][: len(waits) - 9]
        assert waits[-1] == 60
        stage.platform.due_skip = None
        runner.wake()
        await stage.clock.advance_ms(2_000)
    assert (stage.reports[-1].outcome, stage.reports[-1].idle) == ("judged", 0)
    assert stage.reports[-1].next_ms - stage.reports[-1].at_ms == 15 * MINUTE_MS


@pytest.mark.slow
async def test_under_a_penalty_nobody_is_idle(stage: Stage) -> None:
    stage.platform.due_skip, stage.platform.penalty, stage.platform.interval_s = "nothing_to_do", "lockdown", 480
    stage.platform.next_wake_ms = START_MS - 1_000
    async with stage.running():
        await stage.clock.advance_ms(4 * HOUR_MS)
    assert {one.next_ms - one.at_ms for one in stage.reports} == {480_000}


async def test_a_task_with_a_shorter_pace_is_looked_for_in_time(stage: Stage) -> None:
    stage.contract.write_text("## Tasks\n- [ ] ping | Ping | required | every: 5m\n")
    async with stage.running():
        await stage.clock.advance_ms(0)
    assert stage.reports[0].next_ms - stage.reports[0].at_ms == 5 * MINUTE_MS


@pytest.mark.slow
async def test_outside_the_runners_hours_nobody_is_asked(stage: Stage) -> None:
    stage.active = ActiveHours(hours=hours_of("22:00", "06:00"), zone="Europe/Berlin")  # 22:26 there, at first
    async with stage.running():
        await stage.clock.advance_ms(24 * HOUR_MS)
    hours = {(one.at_ms - START_MS) // HOUR_MS for one in stage.reports}
    assert hours == {0, 1, 2, 3, 4, 5, 6, 7, 23}
    assert stage.told().count("judged") == len(stage.reports)
    stage.clock.jump_ms(9 * HOUR_MS)
    calls = len(stage.platform.calls)
    report = await stage.runner().cycle()
    assert (report.reason, len(stage.platform.calls) - calls) == ("outside_active_hours", 0)
    assert report.next_ms > report.at_ms


class Shifted(VirtualClock):
    """Its wall clock can be put back; the ticks go on."""

    back_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() - self.back_ms

    def ticks_ns(self) -> int:
        return super().now_ms() * 1_000_000


async def test_a_clock_that_is_put_back_delays_nothing(stage: Stage) -> None:
    clock = Shifted(START_MS)
    stage.clock = stage.platform.clock = clock
    async with stage.running():
        clock.back_ms = 24 * HOUR_MS
        await clock.advance_ms(15 * MINUTE_MS)
    assert len(stage.reports) == 2


@pytest.mark.parametrize("text", [b"\xff", b"x" * 300_000])
async def test_a_contract_that_cannot_be_read_is_a_failure_that_is_told(stage: Stage, text: bytes) -> None:
    stage.contract.write_bytes(text)
    report = await stage.runner().cycle()
    assert (report.outcome, stage.platform.calls) == ("failed", [])
    assert "HEARTBEAT.md" in report.reason


async def test_a_contract_behind_a_link_out_of_the_folder_is_not_read(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    stage.contract = (folder / "HEARTBEAT.md").resolve()
    stage.contract.symlink_to(tmp_path / "HEARTBEAT.md")
    report = await stage.runner().cycle()
    assert (report.outcome, stage.platform.calls) == ("failed", [])
    assert "leads out of" in report.reason


async def test_a_no_by_the_rules_is_nothing_to_hurry_for(stage: Stage) -> None:
    stage.platform.failing = [Problem(403, {"code": "account_suspended"})]
    report = await stage.runner().cycle()
    assert (report.outcome, report.failures) == ("unanswered", 0)
    assert report.next_ms == START_MS + 30 * MINUTE_MS


async def test_what_may_be_sent_again_is_sent_again_soon(stage: Stage) -> None:
    stage.platform.failing = [Problem(409, {"code": "idempotency_in_progress", "retryable": True})]
    assert (await stage.runner().cycle()).next_ms == START_MS + MINUTE_MS


async def test_a_runner_that_has_just_looked_waits_for_a_minute(stage: Stage) -> None:
    assert (await stage.runner().cycle()).outcome == "judged"
    held_back = stage.runner().held_back()
    assert held_back is not None
    assert (held_back.reason, held_back.next_ms) == ("back_pressure", START_MS + MINUTE_MS)
    stage.clock.jump_ms(MINUTE_MS)
    assert stage.runner().held_back() is None


async def test_the_seeds_counts_are_kept(stage: Stage) -> None:
    stage.platform.failing = [NO_NETWORK]
    runner = stage.runner()
    await runner.cycle()
    assert stage.state is not None
    assert stage.state.pace == HeartbeatState(last_heartbeat_at_ms=START_MS, consecutive_error_count=1)
    await runner.cycle()
    stage.clock.jump_ms(1_000)
    await runner.cycle()
    seen = HeartbeatState(last_heartbeat_at_ms=START_MS + 1_000, last_home_response_hash="sha256:aa")
    assert stage.state.pace == replace(seen, consecutive_no_action_count=1)


async def test_a_report_reads_as_json_and_as_lines(stage: Stage) -> None:
    report = await stage.runner().cycle()
    assert report.to_json()["outcome"] == "judged"
    assert report.to_json()["circuit"] == "closed"
    assert report.lines()[0].startswith("2026-05-28T20:26:40Z  judged")
    assert report.lines()[1:] == ["  mail: good", "  next 2026-05-28T20:41:40Z"]


async def test_each_cycle_looks_at_the_home_and_keeps_the_hash_of_what_it_saw(stage: Stage) -> None:
    async with stage.running():
        await stage.clock.advance_ms(0)
        assert stage.platform.calls[0] == "home"
        assert load_state(stage.folder).last_home_response_hash == "sha256:aa"
        stage.platform.state_hash = "sha256:bb"
        await stage.clock.advance_ms(3 * HOUR_MS)
    assert load_state(stage.folder).last_home_response_hash == "sha256:bb"
    assert stage.program.given[0].todo == ("Start clm_1.",)
