"""Temporary folders: they go with their process, or when the next one begins, and never while somebody uses them."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from earnest.effects.hands.scratch import scratch, sweep

HOLDER = """
import sys
from earnest.effects.hands.scratch import scratch
with scratch("verify") as folder:
    (folder / "work").write_text("mine")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path
    tempfile.tempdir = None


def holder() -> tuple["subprocess.Popen[str]", Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=-1, stdout=-1, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_uses_is_not() -> None:
    killed, left = holder()
    living, used = holder()
    killed.kill()
    killed.communicate()
    assert left.is_dir()
    sweep()
    assert (left.exists(), (used / "work").read_text()) == (False, "mine")
    living.communicate("")
    assert not used.exists()


def test_ones_own_folder_is_spared_and_gone_at_the_end() -> None:
    with scratch("verify") as folder:
        sweep()
        assert folder.is_dir()
    assert not folder.exists()


def test_what_a_user_named_alike_is_left_alone(place: Path) -> None:
    (place / "earnest-home").mkdir()
    (place / "elsewhere").mkdir()
    (place / "earnest-link-00000000.scratch").symlink_to(place / "elsewhere")
    (place / "earnest-file-00000000.scratch").touch()
    sweep()
    assert len(list(place.iterdir())) == 4
