"""Does a command in a layer do what it would do in a copy, as root and as an ordinary user?"""

import os
import tempfile
from pathlib import Path

import pytest

from ordinary_user import ORDINARY, run_as

PROGRAM = Path(__file__).with_name("layer_programs.py")


@pytest.mark.slow
@pytest.mark.parametrize("uid", [0, ORDINARY], ids=["root", "ordinary user"])
def test_a_command_in_a_layer_changes_what_it_would_change_in_a_copy(uid: int) -> None:
    if os.geteuid() != 0 and uid == 0:
        pytest.skip("only root can be root")
    with tempfile.TemporaryDirectory() as place:
        os.chown(place, uid, uid)
        assert run_as(uid, PROGRAM, place).splitlines()[-1] == "all kept"
