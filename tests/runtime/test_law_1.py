"""Is a yes good for exactly one action, once, and no longer than it was given for?"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.hands.sandbox.api import Execution, ExecutionReport, ExecutionStatus, SelfTest
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.effects.hands.tools.shell import Shell
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.engine.messages import ConfirmationAsked
from earnest.engine.ports import EffectUnknown, NeedsConfirmation
from earnest.foundation.errors import Refused
from earnest.runtime.approvals import QUESTION_MS
from earnest.runtime.hands import wanted_paths
from earnest.runtime.leave import LOOK_MS, LeaveQuestion, open_questions, say
from earnest.runtime.order import Grants

from .hands_stage import Life, Says, begin, shell

KEY = "r1/one/a1/c1"


class Box:
    """A sandbox in which everything ends well, or as `ends` says; it may be made to wait."""

    description = "fake"

    def __init__(self) -> None:
        self.executions: list[Execution] = []
        self.held = asyncio.Event()
        self.held.set()
        self.began = asyncio.Event()
        self.ends: Callable[[Execution], ExecutionReport] = lambda _: ExecutionReport(
            status=ExecutionStatus.DONE, exit_code=0
        )

    async def run(self, execution: Execution) -> ExecutionReport:
        self.executions.append(execution)
        self.began.set()
        await self.held.wait()
        return self.ends(execution)

    async def self_test(self, max_age_ms: int = 0, /) -> SelfTest:
        raise NotImplementedError

    async def close(self) -> None:
        """There is nothing to close."""

    @property
    def commands(self) -> list[str]:
        return [execution.argv[-1] for execution in self.executions]

    @property
    def writable(self) -> list[str]:
        return [mount.target for execution in self.executions for mount in execution.mounts if mount.writable]


class House:
    """A home with documents, and runs beside it."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder = folder
        self.database = database
        self.clock = VirtualClock()
        self.box = Box()
        self.home = folder / "home"
        self.old = self.home / "old"
        self.precious = self.home / "precious"
        for place in (self.old, self.precious):
            place.mkdir(parents=True)

    async def begin(
        self,
        person: Says | None = None,
        *,
        grants: Grants | None = None,
        toolbox: Toolbox | None = None,
        run_id: str = "run",
    ) -> Life:
        return await begin(
            self.folder,
            self.database,
            clock=self.clock,
            sandbox=self.box,
            person=person,
            grants=grants,
            home=self.home,
            toolbox=toolbox,
            run_id=run_id,
        )


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    database = Database.open(tmp_path / "books.sqlite3", VirtualClock())
    yield House(tmp_path, database)
    database.close()


async def _needs(life: Life, call: ToolCall, key: str = KEY) -> NeedsConfirmation:
    with pytest.raises(NeedsConfirmation) as caught:
        await life.hands.call(key, call)
    return caught.value


# What a yes is good for


async def test_what_was_confirmed_is_performed_with_exactly_those_paths_writable(house: House) -> None:
    person = Says(True)
    life = await house.begin(person)
    record = await life.call(KEY, shell("rm -rf old/*", writes=[house.old]))
    assert record.ok
    assert house.box.writable == [str(house.old)]
    (asked,) = person.asked
    assert (asked.paths, asked.network, asked.args) == ((str(house.old),), False, {"command": "rm -rf old/*"})
    assert asked.expires_at_ms == house.clock.now_ms() + QUESTION_MS


@pytest.mark.parametrize("person", [None, Says(False)])
async def test_without_a_yes_nothing_begins(house: House, person: Says | None) -> None:
    life = await house.begin(person)
    with pytest.raises(NeedsConfirmation):
        await life.call(KEY, shell("rm -rf old/*", writes=[house.old]))
    assert house.box.executions == []


async def test_a_yes_is_for_one_call_and_the_same_action_is_asked_for_again(house: House) -> None:
    person = Says(True)
    life = await house.begin(person)
    for number in (1, 2):
        await life.call(f"r1/one/a1/c{number}", shell("rm -rf old/*", writes=[house.old]))
    assert len(person.asked) == 2


def _other_actions() -> dict[str, Callable[[House], ToolCall]]:
    return {
        "amount": lambda h: shell("pay 100 --from old", writes=[h.old]),
        "path in the command": lambda h: shell("pay 10 --from older", writes=[h.old]),
        "host": lambda h: shell("pay 10 --from old --to evil.example", writes=[h.old]),
        "argument order": lambda h: shell("pay --from old 10", writes=[h.old]),
        "extra flag": lambda h: shell("pay 10 --from old --yes", writes=[h.old]),
        "white space": lambda h: shell("pay 10  --from old", writes=[h.old]),
        "another path": lambda h: shell("pay 10 --from old", writes=[h.precious]),
        "one path more": lambda h: shell("pay 10 --from old", writes=[h.old, h.precious]),
        "the folder above": lambda h: shell("pay 10 --from old", writes=[h.home]),
        "other case": lambda h: shell("pay 10 --from old", writes=[h.home / "Old"]),
        "dots": lambda h: shell("pay 10 --from old", writes=[f"{h.old}/../precious"]),
        "the network too": lambda h: shell("pay 10 --from old", writes=[h.old], network=True),
        "another tool": lambda h: ToolCall(
            tool="write_file", args={"path": "pay", "content": "10"}, writes=(str(h.old),)
        ),
    }


@pytest.mark.parametrize("change", _other_actions())
async def test_a_yes_to_one_action_is_none_to_another(house: House, change: str) -> None:
    life = await house.begin(Says(True))
    needs = await _needs(life, shell("pay 10 --from old", writes=[house.old]))
    assert (await life.answer(needs)).approved
    other = await _needs(life, _other_actions()[change](house))
    assert other.asked.action != needs.asked.action
    assert house.box.executions == []
    assert (await life.hands.call(needs.key, needs.call)).ok


@pytest.mark.parametrize("spelling", ["{0}/", "{0}/.", "{0}/../old", "//{0}", "{0}/x/.."])
async def test_two_spellings_of_a_path_are_one_action(house: House, spelling: str) -> None:
    life = await house.begin(Says(True))
    needs = await _needs(life, shell("x", writes=[house.old]))
    spelt = spelling.format(str(house.old).lstrip("/") if spelling.startswith("//") else house.old)
    assert (await _needs(life, shell("x", writes=[spelt]))).asked == needs.asked


async def test_the_question_names_what_a_link_leads_to(house: House) -> None:
    (house.old / "link").symlink_to(house.precious)
    person = Says(False)
    needs = await _needs(await house.begin(person), shell("x", writes=[house.old / "link"]))
    assert needs.asked.paths == (str(house.precious),)
    assert str(house.precious) in needs.asked.wording


async def test_a_link_that_is_turned_elsewhere_after_the_yes_leads_nowhere(house: House) -> None:
    link = house.home / "link"
    link.symlink_to(house.old)
    life = await house.begin(Says(True))
    needs = await _needs(life, shell("rm -rf link/*", writes=[link]))
    await life.answer(needs)
    link.unlink()
    link.symlink_to(house.precious)
    again = await _needs(life, needs.call)
    assert again.asked.paths == (str(house.precious),)
    assert house.box.executions == []


async def test_a_grant_does_not_reach_through_a_link_or_dots(house: House) -> None:
    (house.old / "link").symlink_to(house.precious)
    life = await house.begin(grants=Grants(write=(house.old,)))
    for number, path in enumerate((house.old / "link", f"{house.old}/../precious", f"{house.old}er")):
        await _needs(life, shell("x", writes=[path]), f"r1/one/a1/c{number}")
    assert (await life.hands.call(KEY, shell("x", writes=[house.old]))).ok


async def test_a_yes_to_what_an_older_version_of_the_tool_does_is_none(house: House) -> None:
    class Newer(Shell):
        version = "2"

    needs = await _needs(await house.begin(Says(True)), shell("x", writes=[house.old]))
    life = await house.begin(grants=Grants(approved=(needs.asked.action,)), toolbox=Toolbox(house.clock, [Newer()]))
    with pytest.raises(NeedsConfirmation):
        await life.call(KEY, shell("x", writes=[house.old]))


async def test_a_yes_that_was_not_used_in_time_is_none(house: House) -> None:
    life = await house.begin(Says(True))
    needs = await _needs(life, shell("x", writes=[house.old]))
    await life.answer(needs)
    await house.clock.advance_ms(QUESTION_MS)
    with pytest.raises(NeedsConfirmation):
        await life.hands.call(needs.key, needs.call)
    assert house.box.executions == []


async def test_a_yes_in_one_run_is_none_in_another(house: House) -> None:
    await (await house.begin(Says(True))).call(KEY, shell("x", writes=[house.old]))
    other = await house.begin(Says(False), run_id="other")
    with pytest.raises(NeedsConfirmation):
        await other.call(KEY, shell("x", writes=[house.old]))


class Silent(Says):
    """Never says anything."""

    async def allows(self, asked: ConfirmationAsked) -> bool:
        await asyncio.get_running_loop().create_future()
        raise AssertionError


async def test_no_answer_in_time_is_a_no(house: House) -> None:
    life = await house.begin(Silent(True))
    needs = await _needs(life, shell("x", writes=[house.old]))
    answering = asyncio.create_task(life.answer(needs))
    await house.clock.advance_ms(QUESTION_MS - 1)
    assert not answering.done()
    await house.clock.advance_ms(1)
    assert not (await asyncio.wait_for(answering, 5)).approved


class OneByOne(Says):
    """Notices when it is asked two things at once."""

    at_once = 0
    most = 0

    async def allows(self, asked: ConfirmationAsked) -> bool:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        return await super().allows(asked)


async def test_a_person_is_asked_one_question_at_a_time(house: House) -> None:
    person = OneByOne(True)
    life = await house.begin(person)
    calls = [life.call(f"r1/s{n}/a1/c1", shell(f"x {n}", writes=[house.old])) for n in range(3)]
    await asyncio.gather(*calls)
    assert (len(person.asked), person.most) == (3, 1)


# Said by somebody who has the books


async def _asked_elsewhere(house: House, call: ToolCall) -> tuple[asyncio.Task[ToolRecord], LeaveQuestion]:
    life = await house.begin(Silent(True))
    calling = asyncio.create_task(life.call(KEY, call))
    found: list[LeaveQuestion] = []
    while not found:
        found = await house.database.read(lambda reader: open_questions(reader, "run", house.clock.now_ms()))
    return calling, found[0]


@pytest.mark.parametrize("approved", [True, False])
async def test_an_answer_in_the_books_is_as_good_as_one_at_the_terminal(house: House, approved: bool) -> None:
    calling, question = await _asked_elsewhere(house, shell("rm -rf old/*", writes=[house.old]))
    assert (question.key, question.asked.paths) == (KEY, (str(house.old),))
    said = (house.database, house.clock, "run", question.key, question.asked.action)
    await say(*said, approved=approved, by="olga")
    with pytest.raises(Refused, match="does not wait"):
        await say(*said, approved=True, by="olga")
    while not calling.done():
        await house.clock.advance_ms(LOOK_MS)
    assert isinstance(calling.exception(), NeedsConfirmation) is not approved
    assert house.box.writable == ([str(house.old)] if approved else [])


async def test_an_answer_in_the_books_is_to_exactly_this_action_and_in_time(house: House) -> None:
    calling, question = await _asked_elsewhere(house, shell("rm -rf old/*", writes=[house.old]))
    for key, action in ((question.key, "0" * 64), ("r1/one/a1/c2", question.asked.action)):
        with pytest.raises(Refused, match="does not wait"):
            await say(house.database, house.clock, "run", key, action, approved=True, by="olga")
    await house.clock.advance_ms(QUESTION_MS)
    with pytest.raises(Refused, match="does not wait"):
        await say(house.database, house.clock, "run", question.key, question.asked.action, approved=True, by="olga")
    with pytest.raises(NeedsConfirmation):
        await calling


async def test_what_was_answered_at_the_terminal_is_asked_nowhere_any_more(house: House) -> None:
    life = await house.begin(Says(True))
    await life.call(KEY, shell("x", writes=[house.old]))
    assert await house.database.read(lambda reader: open_questions(reader, "run", house.clock.now_ms())) == []


# Confirmed beforehand


async def test_an_action_confirmed_beforehand_by_its_digest_is_performed_once(house: House) -> None:
    call = shell("make clean", writes=[house.old], network=True)
    action = (await _needs(await house.begin(), call)).asked.action
    life = await house.begin(grants=Grants(approved=(action,)))
    assert (await life.call(KEY, call)).ok
    with pytest.raises(NeedsConfirmation):
        await life.call("r1/one/a1/c2", call)
    resumed = await house.begin(grants=Grants(approved=(action,)))
    with pytest.raises(NeedsConfirmation):
        await resumed.call("r1/one/a2/c1", call)
    assert len(house.box.executions) == 1


async def test_what_is_confirmed_twice_beforehand_is_performed_twice(house: House) -> None:
    call = shell(f"rm -rf {house.old}", writes=[house.old])
    life = await house.begin(grants=Grants(approved=(f"rm -rf {house.old}",) * 2))
    for number in (1, 2):
        assert (await life.call(f"r1/one/a1/c{number}", call)).ok
    with pytest.raises(NeedsConfirmation):
        await life.call("r1/one/a1/c3", call)


async def test_a_command_line_confirmed_beforehand_opens_only_the_paths_it_names(house: House) -> None:
    line = f"rm -rf {house.old}/"
    life = await house.begin(grants=Grants(approved=(line,)))
    refused = (
        shell(line, writes=[house.precious]),
        shell(line, writes=[house.home]),
        shell(line, writes=[house.old], network=True),
        shell(f"{line} ", writes=[house.old]),
        shell(f"{line} {house.precious}", writes=[house.old]),
    )
    for number, call in enumerate(refused):
        with pytest.raises(NeedsConfirmation):
            await life.call(f"r1/one/a1/c{number}", call)
    assert (await life.call("r1/one/a2/c1", shell(line, writes=[house.old]))).ok
    assert len(house.box.executions) == 1


# Crashes


async def test_a_resumed_run_does_not_ask_again(house: House) -> None:
    call = shell("x", writes=[house.old])
    person = Says(True)
    first = await house.begin(person)
    await first.answer(await _needs(first, call))
    resumed = await house.begin(Says(False))
    assert (await resumed.call(KEY, call)).ok
    assert (await (await house.begin()).call(KEY, call)).ok
    assert (len(person.asked), len(house.box.executions)) == (1, 1)


async def test_a_no_stays_a_no(house: House) -> None:
    first = await house.begin(Says(False))
    await first.answer(await _needs(first, shell("x", writes=[house.old])))
    with pytest.raises(NeedsConfirmation):
        await (await house.begin(Says(True))).call(KEY, shell("x", writes=[house.old]))


async def _crash(house: House, call: ToolCall) -> None:
    life = await house.begin(Says(True))
    house.box.held.clear()
    calling = asyncio.create_task(life.call(KEY, call))
    await asyncio.wait_for(house.box.began.wait(), 5)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    house.box.held.set()
    house.box.executions.clear()


async def test_a_confirmed_effect_that_a_crash_left_open_is_not_repeated_blindly(house: House) -> None:
    await _crash(house, shell("x", writes=[house.old]))
    with pytest.raises(EffectUnknown):
        await (await house.begin(Says(True))).call(KEY, shell("x", writes=[house.old]))
    assert house.box.executions == []


async def test_a_confirmed_effect_that_is_found_not_done_is_made_under_the_same_yes(house: House) -> None:
    await _crash(house, shell("x", writes=[house.old]))
    house.box.ends = lambda execution: ExecutionReport(
        status=ExecutionStatus.DONE, exit_code=int(execution.argv[-1] == "look")
    )
    assert (await (await house.begin(Says(False))).call(KEY, shell("x", writes=[house.old]), "look")).ok
    assert house.box.commands[-1] == "x"


async def test_a_look_is_not_given_the_network_that_was_confirmed_for_the_call(house: House) -> None:
    await _crash(house, shell("x", network=True))
    await (await house.begin(Says(True))).call(KEY, shell("x", network=True), "look")
    assert [(e.argv[-1], e.network) for e in house.box.executions] == [("look", False)]


# Refused by the kernel


def _read_only(path: object) -> Callable[[Execution], ExecutionReport]:
    """Fails for want of leave to write to `path`, and leaves a file in the workspace."""

    def ends(execution: Execution) -> ExecutionReport:
        assert isinstance(execution.work, Path)
        if any(mount.writable for mount in execution.mounts):
            return ExecutionReport(status=ExecutionStatus.DONE, exit_code=0)
        (execution.work / "half").write_text("x")
        stderr = f"rm: cannot remove '{path}': Read-only file system\n".encode()
        return ExecutionReport(status=ExecutionStatus.DONE, exit_code=1, stderr=stderr)

    return ends


async def test_a_call_that_the_kernel_refused_is_asked_for_and_made_anew(house: House) -> None:
    house.box.ends = _read_only(house.old / "a")
    person = Says(True)
    life = await house.begin(person)
    record = await life.call(KEY, shell("cd; rm -rf old"))
    assert record.ok
    assert person.asked[0].paths == (str(house.old),)
    assert house.box.writable == [str(house.old)]
    assert list(life.workspace.folder.iterdir()) == []


async def test_after_a_crash_the_question_is_the_same_although_the_path_is_gone(house: House) -> None:
    house.box.ends = _read_only(house.old / "a")
    person = Says(True)
    await (await house.begin(person)).call(KEY, shell("rm -rf old"))
    house.old.rmdir()
    assert (await (await house.begin(person)).call(KEY, shell("rm -rf old"))).ok
    assert (len(person.asked), len(house.box.executions)) == (1, 2)


async def test_what_was_granted_is_not_asked_for_though_the_call_did_not_name_it(house: House) -> None:
    house.box.ends = _read_only(house.old / "a")
    life = await house.begin(grants=Grants(write=(house.old,)))
    assert (await life.hands.call(KEY, shell("rm -rf old"))).ok


async def test_a_call_that_may_have_left_the_sandbox_is_never_made_anew(house: House) -> None:
    house.box.ends = lambda _: ExecutionReport(
        status=ExecutionStatus.DONE, exit_code=1, stderr=f"cp: '{house.old}/a': Read-only file system".encode()
    )
    life = await house.begin(Says(True), grants=Grants(network=True))
    record = await life.call(KEY, shell("curl -d x https://example.org; cp y ~/old/a", network=True))
    assert record.failure is not None
    assert (record.failure.code, len(house.box.executions)) == ("erofs", 1)


@pytest.mark.parametrize("path", ["/usr/bin/ls", "/etc/hosts", "/work/source/x", "old/a", "/"])
async def test_only_the_users_own_files_are_asked_for(house: House, path: str) -> None:
    house.box.ends = _read_only(path)
    record = await (await house.begin(Says(True))).call(KEY, shell("x"))
    assert record.failure is not None
    assert (record.failure.code, len(house.box.executions)) == ("erofs", 1)


def test_the_least_that_helps_is_asked_for(house: House) -> None:
    deep = house.old / "deep"
    deep.mkdir()
    (house.home / "notes").touch()
    told = {
        f"{house.old}/a": (house.old,),
        f"{house.old}": (house.old,),
        f"{house.home}/notes": (house.home / "notes",),
        f"{house.home}/nothing": (),
        f"{house.home}": (),
        f"{house.old}/../precious/x": (house.precious,),
        f"{house.home}er/x": (),
    }
    assert {path: wanted_paths([path], house.home) for path in told} == told
    both = [f"{deep}/a", f"{house.old}/b", f"{house.precious}/c"]
    assert wanted_paths(both, house.home) == (house.old, house.precious)


async def test_the_question_shows_all_of_the_command_and_steers_no_terminal(house: House) -> None:
    command = "echo fine # \n rm -rf old \x1b[2K\u202e" + "x" * 5_000
    asked = (await _needs(await house.begin(), shell(command, writes=[house.old]))).asked
    assert asked.args == {"command": command}
    assert asked.wording.isprintable()
    assert "# \\x0a rm -rf old \\x1b[2K\\x202e" in asked.wording
    assert "x" * 5_000 in asked.wording


async def test_a_longer_timeout_is_no_other_action(house: House) -> None:
    life = await house.begin()
    call = shell("x", writes=[house.old])
    assert (await _needs(life, replace(call, timeout_ms=1))).asked == (await _needs(life, call)).asked
