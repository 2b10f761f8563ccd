"""Does the operator's page tell the truth? Every command in it is run, in order, beside a platform that serves."""

import re
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from earnest.testing.served import served
from old_books import take_back

from .test_serve_faults import environment_in

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "operating.md"
COMMAND = (sys.executable, "-c", "from earnest.surfaces.cli.main import main; main()")
BESIDE_NOBODY = {"migrate"}
"""What takes the data directory for itself."""


def lines() -> list[list[str]]:
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return [shlex.split(line[2:]) for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def run(words: list[str], folder: Path, environment: dict[str, str]) -> None:
    moved = [word.replace("/var/lib/earnest", str(folder / "home")).replace("/srv", str(folder)) for word in words]
    done = subprocess.run([*COMMAND, *moved[1:]], env=environment, capture_output=True, text=True, check=False)
    # A machine without bubblewrap is told so by the doctor, and by nobody else here.
    assert done.returncode == 0 or (words[1] == "doctor" and done.returncode == 1), (words, done)


@pytest.mark.slow  # a platform, and some twenty commands beside it
@pytest.mark.timeout(900)
def test_every_command_of_the_page_does_what_it_says_in_order(tmp_path: Path) -> None:
    asked = [words for words in lines() if words[0] == "earnest"]
    assert len(asked) > 15
    environment = {**environment_in(tmp_path), "EARNEST_HOME": str(tmp_path / "home")}
    with served(tmp_path / "home", environment) as platform:
        platform.become_operator()
        platform.agent("somebody", 1_000_000)
        for words in asked:
            if words[1] not in BESIDE_NOBODY:
                run(words, tmp_path, environment)
    make_older(tmp_path / "home")
    for words in asked:
        if words[1] in BESIDE_NOBODY:
            run(words, tmp_path, environment)


def make_older(home: Path) -> None:
    with closing(sqlite3.connect(home / "books.sqlite3", isolation_level=None)) as driver:
        take_back(driver)


def test_the_units_that_the_page_names_are_there() -> None:
    (enabled,) = [words for words in lines() if words[:2] == ["systemctl", "enable"]]
    units = {path.name for path in (ROOT / "deploy").iterdir()}
    assert {unit if "." in unit else f"{unit}.service" for unit in enabled[3:]} <= units
    assert {f"{unit.removesuffix('.timer')}.service" for unit in units if unit.endswith(".timer")} <= units
