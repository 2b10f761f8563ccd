"""Does it matter who runs the verifier, and what happens where no sandbox can be had?"""

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from earnest.effects.hands.sandbox.api import SandboxSettings
from earnest.verification.verdict import Answer
from ordinary_user import ORDINARY, run_as

from ..harm.markers import markers
from . import as_user
from .case import Case, honest
from .judging import judge_all


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(os.geteuid() != 0, reason="the whole corpus is judged as an ordinary user already")
def test_root_and_an_ordinary_user_give_the_same_verdicts() -> None:
    said = run_as(ORDINARY, Path(as_user.__file__), timeout_s=300)
    assert json.loads(said) == as_user.answers()


POWERLESS = """#!/bin/sh
[ "$1" = --version ] && echo bubblewrap 0.11.0 && exit
echo 'bwrap: No permissions to create new namespace' >&2
exit 1
"""
"""What bubblewrap does where user namespaces are switched off."""

CODE_CASES = {"sum_of_lines": "sum.py", "digit_sum_plain": "solution.py", "stack_list": "solution.py"}
"""Honest cases of kinds that run code, with the file that is run."""


def harmful(folder: Path) -> list[Case]:
    """These cases with a program instead that makes a file outside, wherever it runs."""
    program = f"open({str(folder / 'made')!r}, 'w').close()\n"
    return [replace(case, files={CODE_CASES[case.name]: program}) for case in honest() if case.name in CODE_CASES]


@pytest.mark.parametrize("is_there", [False, True], ids=["no bubblewrap", "user namespaces switched off"])
def test_without_a_sandbox_code_checks_are_unclear_and_nothing_runs(tmp_path: Path, is_there: bool) -> None:
    binary = tmp_path / "bwrap"
    binary.write_text(POWERLESS)
    binary.chmod(0o755)
    settings = SandboxSettings(binaries=(binary,) if is_there else ())
    with markers() as put_up:
        outcomes = asyncio.run(judge_all(harmful(put_up.folder), settings, is_sandboxed=False))
        assert put_up.tripped() == []
    assert set(outcomes) == set(CODE_CASES)
    for name, outcome in outcomes.items():
        assert outcome.answer is Answer.UNCLEAR, (name, outcome.reason)
        assert "install bubblewrap" in outcome.reason, (name, outcome.reason)


def test_the_program_that_must_not_run_would_be_noticed() -> None:
    with markers() as put_up:
        for case in harmful(put_up.folder):
            (program,) = case.files.values()
            subprocess.run([sys.executable, "-c", str(program)], check=True)
            assert put_up.tripped() == ["file made"]
