"""Are a user's files found, and nothing else, whatever lies about and whatever is asked?"""

import os
from pathlib import Path

import pytest

from earnest.effects.ground.clock import SystemClock, VirtualClock
from earnest.effects.hands.sandbox.api import SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.tools import home_walk
from earnest.effects.hands.tools.api import ToolPlace
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.effects.hands.tools.search_files import SearchFiles
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.foundation.canonical import JsonObject

HOME = Path("/users/ada")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "Documents/tax").mkdir(parents=True)
    (home / "Documents/tax/Return 2025.pdf").write_bytes(b"%PDF\0secret sum")
    (home / "Documents/letter.txt").write_text("Dear Ada,\n  the Sum is 12\n")
    (home / "notes.txt").write_text("nothing here\n")
    (home / ".hidden.txt").write_text("the sum\n")
    return home


def found(capsys: pytest.CaptureFixture[str], home: Path, *, name: str = "", text: str = "") -> tuple[list[str], str]:
    """The lines of a walk over the home, and what is on stderr."""
    assert home_walk.main([str(home), str(home), name, text]) == 0
    said = capsys.readouterr()
    return [line.removeprefix(f"{home}/") for line in said.out.splitlines()], said.err


def test_files_are_found_by_part_of_a_name_by_pattern_and_by_content(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert found(capsys, home, name="RETURN") == (["Documents/tax/Return 2025.pdf"], "")
    assert found(capsys, home, name="*.txt") == (["notes.txt", "Documents/letter.txt"], "")
    assert found(capsys, home, text=r"sum is \d+") == (["Documents/letter.txt:2: the Sum is 12"], "")
    assert found(capsys, home, name="note", text="sum") == (["no file matches"], "")


def test_links_pipes_hidden_and_binary_files_are_passed_over(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside = home.parent / "outside"
    outside.mkdir()
    (outside / "out.txt").write_text("the sum\n")
    (home / "link.txt").symlink_to(outside / "out.txt")
    (home / "away").symlink_to(outside)
    (home / "round").symlink_to(home)
    os.mkfifo(home / "pipe.txt")
    assert found(capsys, home, text="sum") == (["Documents/letter.txt:2: the Sum is 12"], "")
    assert found(capsys, home, name="*.txt")[0] == ["notes.txt", "Documents/letter.txt"]


def test_a_folder_behind_a_link_that_leads_out_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "away").symlink_to(home.parent)
    assert home_walk.main([str(home), str(home / "away"), "*", ""]) == 1
    assert "away is no folder of the home" in capsys.readouterr().err


def test_what_is_left_out_because_of_a_limit_is_told(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with (home / "huge.txt").open("wb") as file:
        file.write(b"the sum\n")
        file.truncate(1024 * home_walk.FILE_BYTES_MAX)  # sparse
    lines, note = found(capsys, home, text="sum")
    assert lines == ["Documents/letter.txt:2: the Sum is 12"]
    assert note == f"not looked into: 1 files of more than {home_walk.FILE_BYTES_MAX} bytes\n"
    for limit, value, listed in (("RESULTS_MAX", 1, 1), ("VISITED_MAX", 4, 2), ("DEPTH_MAX", 0, 2)):
        with monkeypatch.context() as patch:
            patch.setattr(home_walk, limit, value)
            lines, note = found(capsys, home, name="*.txt")
            assert (len(lines), "not complete" in note) == (listed, True), limit
    monkeypatch.setattr(home_walk, "READ_BYTES_MAX", 1)
    assert "not complete" in found(capsys, home, text="sum")[1]


def test_a_name_cannot_pass_for_several_nor_steer_a_terminal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "a\nnotes.txt\x1b[2J.txt").write_text("\x1b[31m here\n")
    lines, _ = found(capsys, home, name="*.txt", text="here")
    assert lines == [f'"{home}/a\\nnotes.txt\\u001b[2J.txt":1: "\\u001b[31m here"', "notes.txt:1: nothing here"]


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ({}, "give a name or a text"),
        ({"name": "", "text": ""}, "give a name or a text"),
        ({"name": 1}, "name must be a text"),
        ({"name": "a", "path": "b"}, "unknown argument 'path'"),
        ({"name": "a/b"}, "a name holds no /"),
        ({"name": "a\0"}, "NUL"),
        ({"name": "a" * 257}, "over 256 bytes"),
        ({"text": "\ud800"}, "holds characters that are none"),
        ({"name": "a", "folder": "/etc"}, "folder leads out"),
        ({"name": "a", "folder": "~/../other"}, "folder leads out"),
        ({"name": "a", "folder": "~root"}, ""),
        ({"name": "a", "folder": "~/Documents/../notes"}, ""),
    ],
)
def test_arguments_that_lead_out_or_say_nothing_are_refused(args: JsonObject, fault: str) -> None:
    faults = "; ".join(SearchFiles(HOME).args_faults(args))
    assert fault in faults
    assert bool(faults) == bool(fault)


def test_two_spellings_of_a_folder_are_one_target() -> None:
    tool = SearchFiles(HOME)
    spellings = ("~/Documents", f"{HOME}/Documents/", "~//Documents/.", "Documents", f"/{HOME}/x/../Documents")
    targets = {tool.target({"name": "a", "folder": folder}) for folder in spellings}
    assert targets == {f'{{"folder":"{HOME}/Documents","name":"a"}}'}
    assert tool.target({"name": "a"}) == f'{{"folder":"{HOME}","name":"a"}}'


@pytest.mark.slow
async def test_in_the_sandbox_private_places_are_not_there_and_an_endless_pattern_is_ended(
    home: Path, tmp_path: Path
) -> None:
    for private in (".ssh", "earnest-data"):
        (home / private).mkdir()
        (home / private / "visible.txt").write_text("the sum\n")
    (home / "bait.txt").write_text("a" * 60 + "!\n")
    work = tmp_path / "work"
    work.mkdir()
    settings = SandboxSettings(pool=0, home=home, masked=(home / "earnest-data",))
    sandbox = await open_sandbox(settings, SystemClock())
    toolbox = Toolbox(VirtualClock(), (SearchFiles(home),))

    async def search(timeout_ms: int = 20_000, **args: str) -> ToolRecord:
        call = ToolCall(tool="search_files", args=args, timeout_ms=timeout_ms)
        return await toolbox.perform(call, ToolPlace(folder=work, sandbox=sandbox))

    try:
        if not (tested := await sandbox.self_test()).green:
            pytest.skip(tested.reason)
        record = await search(text="the sum")
        assert (record.ok, record.output_excerpt) == (True, f"{home}/Documents/letter.txt:2: the Sum is 12\n")
        for folder in ("~/.ssh", "~/earnest-data"):
            record = await search(name="*", folder=folder)
            assert (record.ok, record.output_excerpt) == (True, "no file matches\n")

        endless = await search(600, text="^(a+)+$")
        assert endless.failure is not None
        assert endless.failure.code in {"timeout", "cpu_limit"}

        faulty = await search(text="(")
        assert faulty.failure is not None
        assert (faulty.failure.code, faulty.exit_code) == ("exit_code", 1)
        assert "text is no regular expression" in faulty.output_excerpt
        assert list(work.iterdir()) == []
    finally:
        await sandbox.close()
