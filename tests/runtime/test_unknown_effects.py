"""Effects of which a crash left open whether they happened: each way in which a person is asked, and each answer."""

import os
import pty
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from earnest.app.settings import read_settings
from earnest.surfaces.cli.asking import Terminal
from earnest.surfaces.cli.conversation import Conversation

from .lives import Nursery, World
from .playbooks import BLIND

CLI = "from earnest.surfaces.cli.main import main; main()"
pytestmark = pytest.mark.slow  # each test is some three processes
WAIT_S = 60
HELD = BLIND.replace("touch done", "touch done OUTSIDE/made; while test -e OUTSIDE/held; do sleep 0.01; done")
"""An effect that was made, and does not end while it is held: whoever is killed then knows no outcome."""
TOLD = HELD.replace("writes: [OUTSIDE]", "writes: [OUTSIDE], look: 'exit CODE'")


def effects(world: World) -> int:
    ledger = world.folder / "outside" / "ledger"
    return len(ledger.read_text().splitlines()) if ledger.exists() else 0


def killed(folder: Path, playbook: str, nursery: Nursery) -> World:
    """A world whose run was killed between its effect and the effect's outcome."""
    world = World.made(folder, playbook, nursery)
    outside = folder / "outside"
    (outside / "held").touch()
    ending = world.run(kill_when=outside / "made")
    assert (ending.was_killed, effects(world)) == (True, 1), ending
    (outside / "held").unlink()
    return world


def asks(world: World) -> tuple[World, str]:
    ended = world.run()
    assert (ended.code, ended.result["asks"]) == (4, True), ended.output
    return world, str(ended.result["run"])


@pytest.fixture
def asking(tmp_path: Path, nursery: Nursery) -> tuple[World, str]:
    """A world whose run waits for a person, and that run."""
    return asks(killed(tmp_path / "world", HELD, nursery))


@pytest.mark.parametrize(("word", "made"), [("happened", 1), ("absent", 2)])
def test_what_a_person_says_of_an_effect_is_what_the_run_goes_on_with(
    word: str, made: int, asking: tuple[World, str]
) -> None:
    world, run_id = asking
    ended = world.resume(run_id, "--effect", word)
    assert (ended.code, ended.result["directive"], effects(world)) == (0, "accept", made), ended.output
    assert (world.home / "runs" / run_id / "workspace" / "done").exists(), "its files are not lost with its outcome"


@pytest.mark.parametrize(("code", "made"), [(0, 1), (1, 2)])
def test_a_look_that_can_tell_asks_nobody(code: int, made: int, tmp_path: Path, nursery: Nursery) -> None:
    world = killed(tmp_path / "world", TOLD.replace("CODE", str(code)), nursery)
    ended = world.run()
    assert (ended.code, effects(world)) == (0, made), ended.output


@pytest.mark.parametrize("code", [2, 127])
def test_a_look_that_ends_otherwise_cannot_tell_and_is_said_to(code: int, tmp_path: Path, nursery: Nursery) -> None:
    world, run_id = asks(killed(tmp_path / "world", TOLD.replace("CODE", str(code)), nursery))
    again = world.resume(run_id)
    assert (again.code, effects(world)) == (4, 1)
    assert f"its look cannot tell: it ended with exit code {code}" in again.output


def test_a_person_who_gives_up_ends_the_run_and_nothing_is_made_again(asking: tuple[World, str]) -> None:
    world, run_id = asking
    ended = world.resume(run_id, "--effect", "give-up")
    assert (ended.code, ended.result["directive"], ended.result["cause"]) == (1, "abandon", "unknown_effect")
    assert (effects(world), world.has_ended(run_id)) == (1, True)
    again = world.resume(run_id, "--effect", "absent")
    assert (again.code, effects(world)) == (3, 1), "its end was told, and is the end"


def test_what_is_not_asked_cannot_be_answered(tmp_path: Path, nursery: Nursery) -> None:
    world = killed(tmp_path / "world", HELD, nursery)
    (run_id,) = world.started()
    refused = world.resume(run_id, "--effect", "happened")
    assert (refused.code, "does not wait for a word" in refused.output) == (3, True), refused.output
    assert effects(world) == 1


@pytest.mark.parametrize(("key", "code", "made"), [("h", 0, 1), ("n", 0, 2), ("g", 1, 1), ("", 4, 1)])
def test_at_a_terminal_the_effect_is_shown_and_the_answer_taken(
    key: str, code: int, made: int, asking: tuple[World, str]
) -> None:
    world, run_id = asking
    pid, keys = pty.fork()
    if pid == 0:
        environment = {**os.environ, "EARNEST_HOME": str(world.home), "TERM": "xterm", "COLUMNS": "250"}
        os.execve(sys.executable, [sys.executable, "-c", CLI, "resume", run_id], environment)
    shown = b"".join(_until(keys, b"leave it open > "))
    assert f"echo x >> {world.folder}/outside/ledger;".encode() in shown
    assert b"the step has no look command" in shown
    os.write(keys, f"{key}\r".encode())
    shown = b"".join(_until(keys, b"\0"))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code, shown
    assert effects(world) == made
    os.close(keys)


def _until(screen: int, words: bytes) -> Iterator[bytes]:
    """What a terminal shows, until these words or the end."""
    deadline, seen = time.monotonic() + WAIT_S, b""
    while words not in seen and time.monotonic() < deadline:
        if select.select([screen], [], [], 0.1)[0]:
            try:
                part = os.read(screen, 65_536)
            except OSError:  # nobody is left at the other end
                return
            seen += part
            yield part


async def test_the_chat_goes_on_with_a_run_that_waits_and_asks_in_it(
    asking: tuple[World, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world, run_id = asking
    answers = iter(["", "h"])

    async def answer(self: Terminal, question: object, prompt: str) -> str:
        return next(answers)

    monkeypatch.setattr(Terminal, "_answer", answer)
    monkeypatch.setenv("EARNEST_HOME", str(world.home))
    async with Conversation(read_settings, Terminal()) as conversation:
        assert await conversation.answer(f"/resume {run_id}")
        told = capsys.readouterr()
        assert f"to go on: /resume {run_id}" in told.err, "who does not know leaves it waiting"
        assert not world.has_ended(run_id)
        assert await conversation.answer(f"/resume {run_id}")
        assert "ACCEPTED" in capsys.readouterr().out
        assert await conversation.answer(f"/resume {run_id}")
        assert "has ended" in capsys.readouterr().err
    assert effects(world) == 1
