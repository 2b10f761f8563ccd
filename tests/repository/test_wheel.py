"""Does the wheel hold the whole package, its types, its licence, and nothing else?"""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from .source import ROOT, SRC, expect_none


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_file_of_the_package(names: set[str]) -> None:
    kept = {path for path in SRC.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    expect_none({path.relative_to(ROOT / "src").as_posix() for path in kept} - names, "missing in the wheel")
    assert "earnest/py.typed" in names


def test_the_wheel_holds_its_licence_and_no_tests(names: set[str]) -> None:
    outside = {Path(name).parts[0] for name in names} - {"earnest"}
    assert [Path(name).suffix for name in outside] == [".dist-info"]
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
