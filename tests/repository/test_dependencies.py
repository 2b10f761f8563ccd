"""Is every dependency locked with its hashes, weighed in a decision record, and the base install small?"""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .source import ROOT, expect_none, first_cells, project

BASE = ROOT / "requirements.lock"
DEV = ROOT / "requirements-dev.lock"
BASE_DISTRIBUTIONS_MAX = 45


def _locked(lock: Path) -> dict[str, str]:
    """Name to version of every pin."""
    pins = re.findall(r"^([a-z0-9._-]+)==(\S+)", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {canonicalize_name(name): version for name, version in pins}


def _wanted(*extras: str) -> list[Requirement]:
    metadata = project()["project"]
    lines = [
        *metadata["dependencies"],
        *(line for extra in extras for line in metadata["optional-dependencies"][extra]),
    ]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize(("lock", "extras"), [(BASE, ("build",)), (DEV, ("build", "dev"))])
def test_a_lock_satisfies_what_the_project_asks_for(lock: Path, extras: tuple[str, ...]) -> None:
    pins = _locked(lock)
    unmet = [
        str(wanted)
        for wanted in _wanted(*extras)
        if not wanted.specifier.contains(pins.get(canonicalize_name(wanted.name), "0"))
    ]
    expect_none(unmet, "not in the lock: run `make lock`")


@pytest.mark.parametrize("lock", [BASE, DEV])
def test_every_pin_carries_hashes(lock: Path) -> None:
    entries = re.split(r"^(?=[a-z0-9])", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    expect_none((entry for entry in entries if "==" in entry and "--hash=sha256:" not in entry), "no hash")


def test_both_locks_agree_on_what_they_share() -> None:
    base, dev = _locked(BASE), _locked(DEV)
    assert {name: dev.get(name) for name in base} == base


def test_the_base_install_has_few_distributions() -> None:
    assert len(_locked(BASE)) + 1 <= BASE_DISTRIBUTIONS_MAX


def test_every_dependency_is_weighed_in_the_decision_record() -> None:
    rows = first_cells("adr/0002-dependencies.md")
    assert sorted(rows) == sorted(set(rows))
    expect_none(
        set(rows) ^ {wanted.name for wanted in _wanted("build", "dev")}, "in pyproject.toml or in the record only"
    )
