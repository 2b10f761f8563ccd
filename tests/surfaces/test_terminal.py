"""Is a person at a real terminal asked, believed only for a clear yes, and left with a prompt after Ctrl+C?"""

import asyncio
import os
import pty
import select
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from unittest.mock import Mock

import pytest

from earnest.engine.messages import ConfirmationAsked, PlanReady
from earnest.surfaces.cli.asking import LATER, Terminal, TypedLine
from earnest.testing.model_server import ReceivedRequest, ScriptedReply, WireFault, answers

from .endpoint import DONE, GREETED, GREETS, SPEC, Script, calling, environment_of, plan, serving

CLI = "from earnest.surfaces.cli.main import main; main()"
WAIT_S = 60
ASKED = ConfirmationAsked(
    action="sha256:1",
    tool="shell",
    args={"command": "rm -rf /srv/thing/x"},
    wording="shell rm -rf /srv/thing/x needs leave to write to /srv/thing",
    paths=("/srv/thing",),
    network=False,
    expires_at_ms=0,
)


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """What is written here is typed at the stdin of this process."""
    keys, screen = pty.openpty()
    with os.fdopen(screen) as stdin, os.fdopen(keys, "wb"):
        monkeypatch.setattr(sys, "stdin", stdin)
        yield keys


async def _until_shown(capsys: pytest.CaptureFixture[str], words: str) -> str:
    shown = ""
    deadline = time.monotonic() + WAIT_S
    while words not in shown and time.monotonic() < deadline:
        await asyncio.sleep(0)
        shown += capsys.readouterr().out
    return shown


@pytest.mark.parametrize(
    ("line", "allowed"), [("y\n", True), ("Yes\n", True), ("\n", False), ("yeah\n", False), ("no\n", False)]
)
async def test_only_a_clear_yes_is_one(
    line: str, allowed: bool, keyboard: int, capsys: pytest.CaptureFixture[str]
) -> None:
    os.write(keyboard, b"y\n")  # typed before the question
    asking = asyncio.create_task(Terminal().allows(ASKED))
    shown = await _until_shown(capsys, "allow it? [y]es, [s]how, [N]o ")
    assert "shell rm -rf /srv/thing/x needs leave" in shown
    assert "  write  /srv/thing  (nothing is there)\n" in shown
    assert not asking.done()
    os.write(keyboard, line.encode())
    assert await asyncio.wait_for(asking, WAIT_S) is allowed


async def test_show_is_no_answer_and_the_question_stays(keyboard: int, capsys: pytest.CaptureFixture[str]) -> None:
    asking = asyncio.create_task(Terminal().allows(ASKED))
    await _until_shown(capsys, "[N]o ")
    os.write(keyboard, b"s\n")
    assert "  command: rm -rf /srv/thing/x\n" in await _until_shown(capsys, "[N]o ")
    os.write(keyboard, b"y\n")
    assert await asyncio.wait_for(asking, WAIT_S)


async def test_a_question_that_is_withdrawn_leaves_the_keyboard_alone(
    keyboard: int, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    asking = asyncio.create_task(terminal.allows(ASKED))
    await _until_shown(capsys, "[N]o")
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    again = asyncio.create_task(terminal.ask(["Which one?", "How many?"]))
    for answer in (b"that\n", b"\n"):
        await _until_shown(capsys, "> ")
        os.write(keyboard, answer)
    assert await asyncio.wait_for(again, WAIT_S) == ["that", ""]


@pytest.mark.parametrize(("typed", "amendment"), [(b"\n", ""), (b"in b.txt\n", "in b.txt"), (b"\x04", None)])
async def test_a_promise_may_begin_by_enter_and_not_by_leaving(
    typed: bytes,
    amendment: str | None,
    keyboard: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("earnest.surfaces.cli.asking.is_terminal", lambda: True)
    asking = asyncio.create_task(Terminal().amends(cast("PlanReady", None)))
    await _until_shown(capsys, "to begin")
    os.write(keyboard, typed)
    assert await asyncio.wait_for(asking, WAIT_S) == amendment


async def test_a_terminal_that_goes_away_neither_speaks_nor_keeps_anybody_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys, screen = pty.openpty()
    said = list[str]()
    monkeypatch.setattr("earnest.surfaces.cli.asking.is_foreground", lambda: True)
    with os.fdopen(screen) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with TypedLine(said.append) as typed:
            read = Mock(wraps=os.read)
            monkeypatch.setattr(os, "read", read)
            os.close(keys)
            for _ in range(9):
                await asyncio.sleep(0)
    assert (said, typed.text, read.call_count) == ([], "", 1)


class Talk:
    """`earnest` alone, on a terminal of its own."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process, self._terminal = pty.fork()
        if self.process == 0:
            os.execve(sys.executable, [sys.executable, "-c", CLI], environment)
        self._shown = b""

    def type(self, keys: str) -> None:
        self._shown = b""
        os.write(self._terminal, keys.encode())

    def shows(self, words: str) -> bool:
        """True as soon as it has shown the words since the last keys, after the words that were looked for before."""
        deadline = time.monotonic() + WAIT_S
        while words.encode() not in self._shown and time.monotonic() < deadline:
            if select.select([self._terminal], [], [], 0.1)[0]:
                try:
                    self._shown += os.read(self._terminal, 65_536)
                except OSError:  # nobody is left at the other end
                    break
        before, found, after = self._shown.partition(words.encode())
        self._shown = after if found else before
        return bool(found)

    def ended(self) -> int:
        assert not self.shows("\0")  # until nobody is left at the other end
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@pytest.mark.slow  # a process with a terminal of its own
def test_ctrl_c_ends_a_model_call_and_a_tool_call_and_the_prompt_stays(home: Path) -> None:
    asked = threading.Event()

    def hang(_: ReceivedRequest) -> ScriptedReply:
        asked.set()
        return ScriptedReply(fault=WireFault.HANG_BEFORE_HEADERS)

    script: Script = {
        **GREETS,
        "perceiver": [hang, answers(SPEC)],
        "executor": [
            calling("shell", command="sleep 86399"),
            calling("write_file", path="a.txt", content=GREETED),
            DONE,
        ],
    }
    with serving(script) as server:
        environment = {**os.environ, **environment_of(server), "EARNEST_HOME": str(home), "PROMPT_TOOLKIT_NO_CPR": "1"}
        talk = Talk({**environment, "TERM": "xterm", "COLUMNS": "150"})
        assert talk.shows("earnest>")
        for busy in ("R1: asking its model", "s1: working"):
            talk.type("greet\r")
            if busy.startswith("s1"):
                assert talk.shows("[Enter] to begin")
                talk.type("\r")
            assert talk.shows(busy)
            assert asked.wait(WAIT_S)  # the first call of a model is under way
            talk.type("\x03")
            assert talk.shows("The user ended the run.")
            assert talk.shows("earnest>")
        talk.type("greet\r")
        assert talk.shows("[Enter] to begin")
        talk.type("\r")
        assert talk.shows("ACCEPTED")
        assert talk.shows("earnest>")
        talk.type("/cost\r")
        assert talk.shows("3 runs: ")
        assert talk.shows("earnest>")
        talk.type("\x04")
        assert talk.ended() == 0


@pytest.mark.slow  # processes with terminals of their own
def test_what_is_typed_before_everything_is_loaded_is_answered(home: Path) -> None:
    for _ in range(3):
        talk = Talk({**os.environ, "EARNEST_HOME": str(home), "PROMPT_TOOLKIT_NO_CPR": "1", "TERM": "xterm"})
        assert talk.shows("earnest>")
        talk.type("/runs\r")
        assert talk.shows("no runs yet")
        assert talk.shows("earnest>")
        talk.type("\x04")
        assert talk.ended() == 0
    assert (home / "chat_history").read_text().count("+/runs") == 3


@pytest.mark.slow  # a process with a terminal of its own
@pytest.mark.parametrize(("word", "ending"), [("y", "ACCEPTED"), ("n", "Law 1")])
def test_what_is_not_granted_is_done_once_somebody_says_yes(word: str, ending: str, home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    command = f"cp a.txt {outside}/b.txt"
    leave = answers({"calls": [{"tool": "shell", "args": {"command": command}, "writes": [str(outside)]}]})
    script: Script = {**GREETS, "executor": [calling("write_file", path="a.txt", content=GREETED), leave, DONE]}
    with serving(script) as server:
        environment = {**os.environ, **environment_of(server), "EARNEST_HOME": str(home), "PROMPT_TOOLKIT_NO_CPR": "1"}
        talk = Talk({**environment, "TERM": "xterm", "COLUMNS": "250"})
        assert talk.shows("earnest>")
        talk.type("greet\r")
        assert talk.shows("[Enter] to begin")
        talk.type("\r")
        assert talk.shows(command)
        assert talk.shows("allow it? [y]es, [s]how, [N]o ")
        assert not (outside / "b.txt").exists()
        talk.type(f"{word}\r")
        assert talk.shows(ending)
        assert (outside / "b.txt").exists() is (word == "y")
        assert talk.shows("earnest>")
        talk.type("\x04")
        assert talk.ended() == 0


@pytest.mark.slow  # a process with a terminal of its own
def test_a_promise_is_amended_and_what_is_typed_meanwhile_comes_next(home: Path) -> None:
    told: list[str] = []
    release = threading.Event()

    def plans(request: ReceivedRequest) -> ScriptedReply:
        told.append(request.prompt)
        return plan()

    def works(_: ReceivedRequest) -> ScriptedReply:
        release.wait(WAIT_S)
        return calling("write_file", path="a.txt", content=GREETED)

    script: Script = {**GREETS, "planner": plans, "executor": [works, DONE, DONE]}
    with serving(script) as server:
        environment = {**os.environ, **environment_of(server), "EARNEST_HOME": str(home), "PROMPT_TOOLKIT_NO_CPR": "1"}
        talk = Talk({**environment, "TERM": "xterm", "COLUMNS": "150"})
        assert talk.shows("earnest>")
        talk.type("greet\r")
        assert talk.shows("a.txt holds the greeting  [files")
        assert talk.shows("[Enter] to begin")
        talk.type("/runs\r")
        assert talk.shows(LATER)
        assert talk.shows("[Enter] to begin")
        assert len(told) == 1
        talk.type("strike nothing, be quick\r")
        assert talk.shows("[Enter] to begin")
        assert "strike nothing, be quick" in told[1]
        talk.type("\r")
        assert talk.shows("asking its model")
        talk.type("and to the \x7fpilot\r")
        assert talk.shows("you: and to thepilot")
        talk.type("/quit\r")
        assert talk.shows(LATER)
        release.set()
        assert talk.shows("this comes next:")
        assert talk.shows("[Enter] to begin")
        assert "and to thepilot" in told[2]
        assert "/quit" not in told[2]
        talk.type("\x04")
        assert talk.shows("nobody has said yet that it may begin")
        assert talk.shows("earnest>")
        talk.type("\x04")
        assert talk.ended() == 0
