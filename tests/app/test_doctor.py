"""Does the doctor find what is missing?"""

import asyncio
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from earnest.app.doctor import DoctorFinding, examine
from earnest.app.judging_settings import JudgeSettings
from earnest.app.settings import Settings
from earnest.effects.hands.sandbox import selftest
from earnest.effects.outside.probes.spec import read_probe

Usage = namedtuple("Usage", ["total", "used", "free"])


@pytest.fixture(scope="module", autouse=True)
def _one_attack() -> Iterator[None]:
    """The sandbox is attacked once, and each doctor is told what came of it."""
    outcomes: list[Any] = []
    attack = selftest.attack

    async def attack_once(*given: Any) -> Any:
        if not outcomes:
            outcomes.append(await attack(*given))
        return outcomes[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selftest, "attack", attack_once)
        yield


def _ill(home: Path) -> list[DoctorFinding]:
    return [finding for finding in asyncio.run(examine(Settings(home=home))) if not finding.well]


@pytest.mark.slow
def test_a_machine_on_which_all_is_well_is_told_so_and_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert _ill(home) == []
    assert not home.exists()


def test_a_disk_that_is_nearly_full_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(10**9, 10**9 - 1, 1))
    assert [finding.name for finding in _ill(tmp_path)] == ["data directory"]


def test_a_home_that_cannot_be_written_is_told() -> None:
    assert [finding.name for finding in _ill(Path("/proc/earnest"))] == ["data directory"]


def test_books_of_somebody_else_are_told(tmp_path: Path) -> None:
    (tmp_path / "books.sqlite3").write_bytes(b"somebody else's" * 100)
    (finding,) = _ill(tmp_path)
    assert (finding.name, "no database of earnest" in finding.detail) == ("books", True)


def test_a_judge_is_named_without_its_password_and_probes_by_name(tmp_path: Path) -> None:
    probe = read_probe({"kind": "file", "path": "/backup", "at_most": 1}, [])
    assert probe is not None
    judge = JudgeSettings(base_url="https://me:secret@models.example:8443/v1", model="large")
    settings = Settings(home=tmp_path, judge=judge, probes={"backup": probe, "a": probe})
    told = {finding.name: finding.detail for finding in asyncio.run(examine(settings))}
    assert (told["judge"], told["probes"]) == ("large at models.example:8443", "a, backup")
    assert _ill(tmp_path) == []  # without either


def test_a_judge_without_its_client_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("earnest.app.doctor.find_spec", lambda _: None)
    judge = JudgeSettings(base_url="http://127.0.0.1/v1", model="m")
    findings = asyncio.run(examine(Settings(home=tmp_path, judge=judge)))
    assert [finding.name for finding in findings if not finding.well] == ["judge"]
