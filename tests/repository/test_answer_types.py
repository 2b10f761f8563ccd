"""Members of answers that mypy misses where a view or a story forgets them, or where the client does not know them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .source import ROOT

VIEW, PAYLOADS = "src/earnest/views/jobs.py", "src/earnest/client/payloads.py"
STORY = "src/earnest/runtime/market/claiming.py"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What mypy has read before."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.slow  # mypy reads a few hundred files
@pytest.mark.parametrize(
    ("changed", "member", "found"),
    [
        pytest.param(
            VIEW, r'        "fee_micro": .*\n', 'Missing key "fee_micro" for TypedDict "JobSummary"', id="view"
        ),
        pytest.param(
            PAYLOADS, r"    fee_micro: int\n", 'Extra key "fee_micro" for TypedDict "JobSummary"', id="client"
        ),
        pytest.param(
            STORY, r', "state": claim\.state\.value', 'Missing key "state" for TypedDict "ClaimMoved"', id="story"
        ),
    ],
)
def test_a_member_that_is_forgotten_is_found(
    cache: Path, tmp_path: Path, changed: str, member: str, found: str
) -> None:
    without, count = re.subn(member, "", (ROOT / changed).read_text(encoding="utf-8"), count=1)
    assert count == 1
    copy = tmp_path / "changed.py"
    copy.write_text(without, encoding="utf-8")
    options = ("--cache-dir", str(cache), "--shadow-file", changed, str(copy))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, VIEW, STORY], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert found in done.stdout
