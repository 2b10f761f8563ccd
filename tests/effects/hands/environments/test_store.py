"""Environments that are built, kept and removed."""

import subprocess
import sys
from pathlib import Path

import pytest

from earnest.effects.hands.environments.recipe import of_requirements
from earnest.effects.hands.environments.store import TARGET, Built, Environments, installer
from earnest.foundation.errors import Refused, Unavailable
from local_wheels import only_wheels

BASE = str(Path(sys.base_prefix) / "bin" / "python3")
PIP = (BASE, "-m", "pip", "--python", TARGET, "install", "--quiet", "--no-input", "--disable-pip-version-check")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environments:
    only_wheels(tmp_path / "wheels", monkeypatch)
    return Environments(tmp_path / "kept")


def build(kept: Environments, text: bytes = b"greetings\n") -> Built:
    return kept.build(of_requirements(text, "r.txt"), installer())


def test_what_was_built_is_found_by_the_same_recipe_alone(kept: Environments) -> None:
    recipe = of_requirements(b"greetings==1.0\n", "r.txt")
    assert kept.find(recipe) is None
    built = kept.build(recipe, installer())
    assert built.packages == ("greetings==1.0",)
    assert kept.find(recipe) == built
    assert kept.find(of_requirements(b"greetings\n", "r.txt")) is None
    assert list(kept.all()) == [built]


@pytest.mark.slow
def test_two_recipes_that_come_to_the_same_packages_are_told_apart(kept: Environments) -> None:
    assert build(kept).digest != build(kept, b"greetings>=1\n").digest


def test_scripts_name_the_interpreter_where_it_will_be_shown(kept: Environments) -> None:
    script = build(kept).folder / "bin" / "greet"
    assert "/opt/earnest/bin/python" in script.read_text(encoding="utf-8")
    assert str(script.parent) not in script.read_text(encoding="utf-8")


@pytest.mark.slow  # pip is started
def test_pip_builds_the_same_as_uv(kept: Environments, tmp_path: Path) -> None:
    if subprocess.run([BASE, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("this Python has no pip")
    recipe = of_requirements(b"greetings\n", "r.txt")
    by_pip = Environments(tmp_path / "by-pip").build(recipe, PIP)
    assert (by_pip.packages, by_pip.digest) == (build(kept).packages, build(kept).digest)
    assert "/opt/earnest/bin/python" in (by_pip.folder / "bin" / "greet").read_text(encoding="utf-8")


def test_what_cannot_be_built_says_why_and_leaves_nothing(kept: Environments, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"no.such.package"):
        build(kept, b"no_such_package==1\n")
    assert not list((tmp_path / "kept").iterdir())


def test_source_is_never_built(kept: Environments, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    source = tmp_path / "wheels" / "loud-1.0"
    source.mkdir()
    (source / "setup.py").write_text(f"open({str(ran)!r}, 'w')\n", encoding="utf-8")
    subprocess.run(
        ["/bin/tar", "-czf", source.with_name("loud-1.0.tar.gz"), "-C", source.parent, "loud-1.0"], check=True
    )
    with pytest.raises(Unavailable):
        build(kept, b"loud\n")
    assert not ran.exists()


def test_one_is_removed_by_the_beginning_of_its_id(kept: Environments) -> None:
    built = build(kept)
    with pytest.raises(Refused):
        kept.remove("nothing")
    assert kept.remove(built.id[:8]) == built
    assert not list(kept.all())
