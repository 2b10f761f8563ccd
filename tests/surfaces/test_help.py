"""Help: examples that can be typed, the same text by `help` and `--help`, completion, and a manual page."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from earnest.surfaces.cli.commands import Program, program
from earnest.surfaces.cli.examples import EXAMPLES
from earnest.surfaces.cli.helping import as_plain_text, commands_in, notes


def leaves(context: click.Context) -> Iterator[str]:
    if not isinstance(context.command, click.Group):
        yield context.command_path.removeprefix("earnest ")
    for _, inner in commands_in(context):
        yield from leaves(inner)


PROGRAM = program.make_context("earnest", [], resilient_parsing=True)
COMMANDS = sorted({*leaves(PROGRAM)} - {"help"})


def earnest(*words: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "earnest", *words],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not done.stderr, done.stderr
    return done.stdout


def test_every_command_has_examples_and_no_example_is_of_another() -> None:
    assert sorted(EXAMPLES) == COMMANDS


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line, _ in lines])
def test_an_example_is_a_line_that_the_command_takes(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work").mkdir()
    name, *words = shlex.split(line)
    assert name == "earnest"
    context = PROGRAM
    while isinstance(context.command, click.Group):
        name, *words = words
        context = dict(commands_in(context))[name]
    context.command.make_context(name, words)


@pytest.mark.parametrize("path", [["run"], ["jobs", "post"], ["jobs"], []])
def test_help_says_what_the_option_says(path: list[str]) -> None:
    helped, told = (earnest(*words).splitlines()[2:] for words in (["help", *path], [*path, "-h"]))
    assert helped[: len(told)] == told
    assert bool(helped[len(told) :]) == (" ".join(path) in notes()), "notes follow where there are some"


def test_the_list_says_of_each_command_what_it_says_when_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = PROGRAM.get_help()
    assert all(f"\n  {name} " in listed for name in program.list_commands(PROGRAM))
    monkeypatch.setattr(Program, "format_commands", click.Group.format_commands)
    assert PROGRAM.get_help() == listed


def test_every_note_is_of_a_command() -> None:
    assert set(notes()) <= {*COMMANDS, "help", "agent"}
    assert not re.search(r"\]\(", "".join(as_plain_text(note) for note in notes().values()))


def test_an_unknown_command_is_named() -> None:
    with pytest.raises(AssertionError, match="earnest jobs has no command 'nix'"):
        earnest("help", "jobs", "nix")


def test_the_manual_page_holds_every_command() -> None:
    page = earnest("help", "--man").replace("\\-", "-")
    assert all(f"earnest {path}" in page for path in COMMANDS)
    assert page.startswith('.TH EARNEST 1 "" "earnest ')


@pytest.mark.parametrize(
    ("shell", "variables"),
    [
        ("bash", {"COMP_WORDS": "earnest jobs p", "COMP_CWORD": "2"}),
        ("zsh", {"COMP_WORDS": "earnest jobs p", "COMP_CWORD": "2"}),
        ("fish", {"COMP_WORDS": "earnest jobs p", "COMP_CWORD": "p"}),
    ],
)
def test_a_word_is_completed(shell: str, variables: dict[str, str]) -> None:
    program = "import sys; sys.argv[0] = 'earnest'; from earnest.surfaces.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables, "_EARNEST_COMPLETE": f"{shell}_complete"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "post" in done.stdout
    assert "list" not in done.stdout


@pytest.mark.parametrize(
    ("shell", "files"),
    [
        ("bash", {".bashrc", ".earnest-complete.bash"}),
        ("zsh", {".zshrc", ".earnest-complete.zsh"}),
        ("fish", {"earnest.fish"}),
    ],
)
def test_completion_is_installed_once_for_the_shell_of_the_user(shell: str, files: set[str], tmp_path: Path) -> None:
    variables = {"HOME": str(tmp_path), "SHELL": f"/bin/{shell}"}
    assert "installed in" in earnest("--install-completion", **variables)
    kept = {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert kept.keys() == files
    assert earnest("--show-completion", **variables).strip() in "".join(kept.values())
    earnest("--install-completion", **variables)
    assert {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == kept


def test_a_shell_that_completes_nothing_is_told() -> None:
    with pytest.raises(AssertionError, match="bash, zsh and fish"):
        earnest("--install-completion", SHELL="/bin/dash")
