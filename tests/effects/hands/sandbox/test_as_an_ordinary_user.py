"""Does an ordinary user get the same answers as root? The hostile programs again, in a child with another uid."""

import os
from pathlib import Path

import pytest

from ordinary_user import ORDINARY, run_as

ESSENTIALS = Path(__file__).with_name("sandbox_as_user.py")


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="the whole suite runs as an ordinary user already")
def test_an_ordinary_user_gets_the_same_verdicts() -> None:
    assert run_as(ORDINARY, ESSENTIALS).splitlines()[-1] == "all kept"
