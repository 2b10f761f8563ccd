"""Runs that wait: of whom nobody was told, and whose change somebody wants too early."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from earnest.verification.service import Verifier

from .conftest import Earnest
from .test_edit_commands import playbook as edits_playbook
from .test_edit_commands import project as project  # noqa: PLC0414 - a fixture

CLI = "from earnest.surfaces.cli.main import main; main()"


def starts(earnest: Earnest) -> int:
    return len(earnest("runs", "--json").out.splitlines())


@pytest.mark.slow  # four processes
def test_a_result_that_a_full_disk_swallowed_is_told_once(earnest: Earnest, home: Path, playbook: Path) -> None:
    words = [sys.executable, "-c", CLI, "run", str(playbook), "--json"]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            words, stdout=full, stderr=-1, env={**os.environ, "EARNEST_HOME": str(home)}, check=False
        )
    assert (ended.returncode, b"earnest resume run_" in ended.stderr) == (4, True), ended.stderr
    told = earnest("run", playbook, "--json")
    assert (told.code, told.json["directive"], starts(earnest)) == (0, "accept", 1)
    assert earnest("resume", told.json["run"]).code == 3, "it has been told"
    assert earnest("run", playbook, "--json").code == 0
    assert starts(earnest) == 2, "and then the same command means a new run"


@pytest.mark.slow
def test_whoever_wants_it_anew_is_not_told_of_the_old_one(earnest: Earnest, home: Path, playbook: Path) -> None:
    words = [sys.executable, "-c", CLI, "run", str(playbook), "--json"]
    with Path("/dev/full").open("wb") as full:
        subprocess.run(words, stdout=full, stderr=-1, env={**os.environ, "EARNEST_HOME": str(home)}, check=False)
    assert (earnest("run", playbook, "--new", "--json").code, starts(earnest)) == (0, 2)


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_the_change_of_a_run_that_waits_is_not_applied_and_that_of_its_end_is(
    earnest: Earnest, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as failing:
        failing.setattr(Verifier, "verify", fail)
        waits = earnest("run", edits_playbook(tmp_path), "--json")
    assert (waits.code, waits.json["asks"]) == (4, False), waits.err
    run_id = waits.json["run"]
    for words in (("apply",), ("apply", run_id, "--unverified", "--yes")):
        early = earnest(*words)
        assert (early.code, f"earnest resume {run_id}" in early.err) == (3, True), early.err
    assert "a - b" in (project / "calc.py").read_text()
    assert earnest("resume", run_id).code == 0
    assert earnest("apply").code == 0
    assert "a + b" in (project / "calc.py").read_text()
