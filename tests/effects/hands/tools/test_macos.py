"""Do the tools of macOS say to its programs what was meant? Programs of the same names stand in for them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from earnest.app.settings import read_settings
from earnest.app.toolboxes import toolbox_for
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.sandbox.available import UnavailableSandbox
from earnest.effects.hands.tools.api import Leave, Tool, ToolPlace
from earnest.effects.hands.tools.macos import FOUND_MAX, AppleScript, Mdfind, Shortcuts, tools_of
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.effects.hands.workspace.staging import Workspace
from earnest.foundation.canonical import JsonObject
from earnest.verification.records.proofs import only_lists

ECHO = 'for word in "$@"; do echo "word $word"; done\n'


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put a program of that name and shell text before all others."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def put(name: str, text: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{text}")
        (folder / name).chmod(0o755)

    return put


async def perform(tool: Tool, tmp_path: Path, args: JsonObject, timeout_ms: int = 20_000) -> ToolRecord:
    stage = await Workspace(tmp_path / "workspace", tmp_path / "stages").stage("1")
    place = ToolPlace(folder=stage.folder, stage=stage, sandbox=UnavailableSandbox("none", VirtualClock()))
    call = ToolCall(tool=tool.name, args=args, timeout_ms=timeout_ms)
    return await Toolbox(VirtualClock(), (tool,)).perform(call, place)


def test_they_are_offered_on_macos_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tools_of("linux") == ()
    assert [(tool.name, tool.leave, tool.reads_only) for tool in tools_of("darwin")] == [
        ("mdfind", Leave.NONE, True),
        ("applescript", Leave.OUTSIDE, False),
        ("shortcuts", Leave.OUTSIDE, False),
    ]
    settings = read_settings({"EARNEST_HOME": str(tmp_path)})
    assert not {"mdfind", "applescript", "shortcuts"} & set(toolbox_for(settings, VirtualClock()))
    monkeypatch.setattr("earnest.app.toolboxes.tools_of", lambda: tools_of("darwin"))
    assert next(iter(toolbox_for(settings, VirtualClock()))) == "mdfind"


async def test_spotlight_is_asked_below_the_home_and_hidden_paths_are_left_out(
    tmp_path: Path, stand_in: Callable[[str, str], None]
) -> None:
    words = tmp_path / "words"
    stand_in("mdfind", f'printf "%s\\n" "$@" > {words}; printf "$2/%s\\n" .ssh/id a/.git/b a/c\n')
    home = tmp_path / ".home"  # what is above it is not looked at
    (home / "Docs").mkdir(parents=True)
    record = await perform(Mdfind(home), tmp_path, {"name": "letter", "folder": "~/Docs"})
    assert words.read_text().splitlines() == ["-onlyin", f"{home}/Docs", "-name", "letter"]
    assert record.output_excerpt == f"{home}/Docs/a/c\n"
    assert only_lists(record)
    await perform(Mdfind(home), tmp_path, {"query": "kMDItemAuthor == 'A'"})
    assert words.read_text().splitlines() == ["-onlyin", str(home), "kMDItemAuthor == 'A'"]


async def test_what_spotlight_finds_too_much_is_counted(tmp_path: Path, stand_in: Callable[[str, str], None]) -> None:
    stand_in("mdfind", f"seq {FOUND_MAX + 7}\n")
    record = await perform(Mdfind(tmp_path), tmp_path, {"query": "x"})
    assert "7 more were found" in record.output_excerpt
    assert str(FOUND_MAX + 1) not in record.output_excerpt.split()


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ({}, "give a query or a name"),
        ({"query": "a", "name": "b"}, "not both"),
        ({"query": "-onlyin /"}, "begins with -"),
        ({"name": "x", "folder": "/etc"}, "leads out of"),
        ({"name": "x", "folder": "link"}, "leads out of"),
        ({"name": "x", "folder": "../.."}, "leads out of"),
        ({"limit": "1"}, "unknown argument"),
    ],
)
def test_a_search_that_cannot_be_meant_is_refused(tmp_path: Path, args: dict[str, str], fault: str) -> None:
    (tmp_path / "link").symlink_to("/etc")
    assert fault in "; ".join(Mdfind(tmp_path).args_faults({**args}))


async def test_a_script_goes_in_by_stdin_and_its_complaint_comes_back(
    tmp_path: Path, stand_in: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EARNEST_KEY", "very-secret")
    stand_in("osascript", f'{ECHO}cat; echo "key $EARNEST_KEY"\n')
    record = await perform(AppleScript(), tmp_path, {"script": "-e\nreturn 1"})
    assert record.output_excerpt == "word -\n-e\nreturn 1key \n"
    stand_in("osascript", "echo 'execution error: no such app (-1728)' >&2; exit 1\n")
    record = await perform(AppleScript(), tmp_path, {"script": "tell app"})
    assert record.failure is not None
    assert "no such app" in record.failure.message
    assert AppleScript().args_faults({"script": " "}) == ["the script is empty"]


async def test_a_shortcut_gets_its_input_and_its_output_is_printed(
    tmp_path: Path, stand_in: Callable[[str, str], None]
) -> None:
    stand_in("shortcuts", 'test "$1" = run && printf "%s: " "$2" > "$4" && tr a-z A-Z < "$6" >> "$4"\n')
    record = await perform(Shortcuts(), tmp_path, {"name": "Make loud", "input": "hello"})
    assert (record.ok, record.output_excerpt) == (True, "Make loud: HELLO")
    assert Shortcuts().args_faults({"name": "--help"}) == ["name begins with -, or holds a NUL"]


async def test_one_that_does_not_end_is_ended(tmp_path: Path, stand_in: Callable[[str, str], None]) -> None:
    stand_in("shortcuts", "sleep 60\n")
    record = await perform(Shortcuts(), tmp_path, {"name": "x"}, timeout_ms=200)
    assert record.failure is not None
    assert "not done within" in record.failure.message
