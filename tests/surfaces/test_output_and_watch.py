"""Where what was delivered goes, and a playbook that is worked anew."""

from collections.abc import Callable
from pathlib import Path

import click
import pytest

from earnest.foundation.errors import Refused
from earnest.surfaces.cli import repeating

from .conftest import PLAYBOOK, Earnest


def test_what_was_delivered_is_copied(earnest: Earnest, playbook: Path, tmp_path: Path) -> None:
    ended = earnest("run", "--quiet", "--output", tmp_path / "out", playbook)
    assert ended.code == 0
    assert (tmp_path / "out" / "a.txt").read_text(encoding="utf-8") == "done"
    assert "--output" in earnest("run", "--quiet", "--output", tmp_path / "out", playbook).err


def test_nothing_is_copied_of_what_was_abandoned(earnest: Earnest, playbook: Path, tmp_path: Path) -> None:
    playbook.write_text(PLAYBOOK.replace("required: [a.txt]", "required: [b.txt]"), encoding="utf-8")
    assert earnest("run", "--quiet", "--output", tmp_path / "out", playbook).code == 1
    assert not (tmp_path / "out").exists()


def test_nothing_is_mixed_with_what_is_there(earnest: Earnest, playbook: Path, tmp_path: Path, home: Path) -> None:
    ended = earnest("run", "--output", tmp_path, playbook)
    assert (ended.code, "is there already" in ended.err) == (3, True)
    assert not home.exists()


def test_only_a_playbook_is_watched(earnest: Earnest) -> None:
    assert "--watch is for a playbook" in earnest("run", "--watch", "tidy up").err


def test_a_change_of_a_playbook_or_its_inputs_works_it_anew(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
) -> None:
    playbook, data = tmp_path / "p.yaml", tmp_path / "data"
    data.mkdir()
    playbook.write_text(PLAYBOOK.replace("subtasks:", "inputs: {data: data}\nsubtasks:"), encoding="utf-8")
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: (data / "new").write_text("1"),
        lambda: playbook.write_text("no playbook"),
    ]

    def nap(waiting: object) -> None:
        waiting.close()  # type: ignore[attr-defined]
        if not changes:
            raise KeyboardInterrupt
        changes.pop(0)()

    monkeypatch.setattr("asyncio.run", nap)
    worked: list[int] = []

    def work_once() -> None:
        worked.append(len(changes))
        if len(worked) == 2:
            raise Refused("not_found", "told, and gone on")
        raise click.exceptions.Exit(0)

    with pytest.raises(KeyboardInterrupt):
        repeating.repeat(playbook, work_once)
    assert worked == [3, 1, 0]


@pytest.mark.parametrize("is_wanted", [True, False])
def test_what_a_command_puts_out_is_shown_on_request_and_steers_nothing(
    is_wanted: bool, earnest: Earnest, playbook: Path
) -> None:
    command = r"echo first; (yes z | head -c 500000; printf 'a\\033[2Jb\\n') >&2; touch a.txt"
    step = f'{{tool: shell, args: {{command: "{command}"}}}}'
    text = PLAYBOOK.replace("{tool: write_file, args: {path: a.txt, content: done}}", step)
    playbook.write_text(text, encoding="utf-8")
    ended = earnest("run", *["-v"] * is_wanted, playbook)
    assert ended.code == 0, ended.out
    assert ("│ first" in ended.out) == (r"│ a\x1b[2Jb" in ended.out) == is_wanted
    assert ("bytes left out" in ended.out) == is_wanted
    assert len(ended.out) < 10_000
    assert "\x1b[2J" not in ended.out
