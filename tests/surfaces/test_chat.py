"""Does a conversation take what is typed and pasted, answer every command, and go on whatever goes wrong?"""

import asyncio
import os
import signal
import stat
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from earnest.app.settings import Settings, read_settings
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.foundation.errors import Unavailable
from earnest.surfaces.cli.asking import Terminal
from earnest.surfaces.cli.conversation import COMMANDS, Conversation
from earnest.surfaces.cli.prompt import HISTORY_BYTES_MAX, HISTORY_NAME, LinePrompt
from earnest.surfaces.cli.task import _stoppable

from .endpoint import no_model

PAGE = Path(__file__).resolve().parents[2] / "docs" / "chat.md"

CTRL_C, CTRL_D, ALT_ENTER = "\x03", "\x04", "\x1b\r"


@pytest.fixture
def typing() -> Iterator[PipeInput]:
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        yield pipe


async def typed(pipe: PipeInput, home: Path, text: str, on_shown: Callable[[], None] = lambda: None) -> str:
    pipe.send_text(text)
    prompt = LinePrompt(lambda: home, [f"/{name}" for name in COMMANDS], on_shown)
    read = await asyncio.wait_for(prompt.read(), 10)
    prompt.keep()
    return read


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("count the files\r", "count the files"),
        ("\x1b[200~one\r\ntwo\nthree\x1b[201~\r", "one\ntwo\nthree"),
        (f"one{ALT_ENTER}two\r", "one\ntwo"),
        (f"rm -rf{CTRL_C}ls\r", "ls"),
    ],
)
async def test_what_is_typed_is_handed_in(keys: str, text: str, typing: PipeInput, tmp_path: Path) -> None:
    assert await typed(typing, tmp_path, keys) == text


async def test_it_is_told_when_the_prompt_stands_even_to_who_typed_before(typing: PipeInput, tmp_path: Path) -> None:
    shown: list[bool] = []
    assert await typed(typing, tmp_path, "ls\r", lambda: shown.append(True)) == "ls"
    assert shown


async def test_ctrl_d_leaves(typing: PipeInput, tmp_path: Path) -> None:
    with pytest.raises(EOFError):
        await typed(typing, tmp_path, CTRL_D)


async def test_the_history_is_kept_bounded_and_private(typing: PipeInput, tmp_path: Path) -> None:
    history = tmp_path / HISTORY_NAME
    history.write_text("\n# then\n+an old one\n" * (HISTORY_BYTES_MAX // 18))
    history.chmod(0o644)
    await typed(typing, tmp_path, "a new one\r")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert history.stat().st_size < HISTORY_BYTES_MAX
    assert history.read_text().endswith("+a new one\n")


async def test_without_a_data_directory_there_is_a_prompt_all_the_same(typing: PipeInput, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert await typed(typing, tmp_path / "file", "hello\r") == "hello"


async def test_enter_does_not_wait_until_it_is_known_where_the_history_is(typing: PipeInput, tmp_path: Path) -> None:
    known = threading.Event()

    def home() -> Path:
        known.wait()
        return tmp_path

    typing.send_text("ls\r")
    prompt = LinePrompt(home, [], lambda: None)
    try:
        assert await asyncio.wait_for(prompt.read(), 10) == "ls"
    finally:
        known.set()
    prompt.keep()
    assert (tmp_path / HISTORY_NAME).read_text().endswith("+ls\n")


@pytest.fixture
async def conversation(home: Path) -> AsyncIterator[Conversation]:
    async with Conversation(read_settings, Terminal()) as conversation:
        yield conversation


async def test_commands_answer_before_anything_was_run(
    conversation: Conversation, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in ("", "/runs", "/memory", "/memory intent:nothing", "/cost", "/help"):
        assert await conversation.answer(line)
    told = capsys.readouterr()
    assert told.out.startswith("no runs yet\nnothing is remembered yet\nnothing is remembered under intent:nothing\n")
    assert "0 runs: no model" in told.out
    assert all(command.usage in told.out for command in COMMANDS.values())
    assert told.err == ""
    assert not home.exists()  # noqa: ASYNC240 - of a test


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/dance", "there is no command /dance"),
        ("/audit", "there is no audit log"),
        ("/Audit", "there is no audit log"),
        ("/audit 5x", "5x"),
        ("/run", "/run PLAYBOOK"),
        ("/remember ", "/remember TEXT"),
        ("/run nowhere.yaml", "nowhere.yaml: No such file"),
        ("/forget nothing", "there is no entry nothing"),
        ("/etc/hosts: count its lines", "EARNEST_BASE_URL"),
    ],
)
async def test_what_goes_wrong_is_told_and_the_conversation_goes_on(
    line: str,
    words: str,
    conversation: Conversation,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    no_model(monkeypatch)
    assert await conversation.answer(line)
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("error", [Unavailable("the disk is gone"), ValueError("surprise"), OSError("no space")])
async def test_a_fault_does_not_end_the_conversation(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    async with Conversation(fail, Terminal()) as conversation:  # type: ignore[arg-type]  # it never gives anything
        assert await conversation.answer("do this")
        assert str(error) in capsys.readouterr().err
        assert not await conversation.answer("/quit")


async def test_ctrl_c_while_everything_is_still_loaded_gives_the_line_up(
    conversation: Conversation, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded: Future[Settings] = Future()
    answering = asyncio.create_task(conversation.answer("count the files", loaded))
    await asyncio.sleep(0)
    conversation.interrupt()
    assert await answering
    loaded.set_exception(Unavailable("the settings are wrong"))
    assert capsys.readouterr().out == "stopped\n"
    assert await conversation.answer("/cost", loaded)
    assert capsys.readouterr().err == ""


@pytest.mark.slow
async def test_ctrl_c_while_a_run_is_still_got_ready_gives_it_up(
    conversation: Conversation, playbook: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def never(_toolbox: Toolbox, _tools: object) -> None:
        conversation.interrupt()
        await asyncio.Event().wait()

    monkeypatch.setattr(Toolbox, "open", never)
    assert await asyncio.wait_for(conversation.answer(f"/run {playbook}"), 30)
    assert capsys.readouterr().out.endswith("stopped\n")


def test_ctrl_c_while_a_run_is_still_got_ready_does_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = SimpleNamespace(runs=SimpleNamespace(stop=lambda _run_id, _detail: False))

    monkeypatch.setattr("earnest.surfaces.cli.task.is_foreground", lambda: True)

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(_stoppable(platform, "run", work()))  # type: ignore[arg-type]  # of which only this is used


@pytest.mark.slow
async def test_a_playbook_is_worked_remembered_and_audited(
    conversation: Conversation, playbook: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in (f"/run {playbook}", "/runs", "/memory", "/audit", "/audit 10m", "/audit soon", "/remember Be brief."):
        assert await conversation.answer(line)
    told = capsys.readouterr()
    for words in ("ACCEPTED", "accept ", "intent:write_a_file", "runs observed: 1\n", "remembered: "):
        assert words in told.out, words
    assert told.out.count("runs observed: 1\n") == 2
    assert "'soon' is no time such as" in told.err
    note = told.out.rpartition("remembered: ")[2].strip()
    await conversation.answer(f"/forget {note}")
    assert capsys.readouterr().out == f"forgotten: {note}\n"


def test_every_command_stands_in_its_page() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert [line.split("`")[1] for line in lines if line.startswith("| `/")] == [
        command.usage for command in COMMANDS.values()
    ]
