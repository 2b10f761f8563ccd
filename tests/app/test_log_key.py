"""The log's key is made once, kept to itself, and taken anew only when somebody asks for that."""

import contextlib
from pathlib import Path

import pytest

from earnest.app import places
from earnest.app.log_key import new_log_key, open_log_key
from earnest.effects.ground.clock import SystemChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.foundation.errors import Refused
from earnest.journal.notary import Notary

CLOCK = VirtualClock(1_000)


def opened(home: Path, *, new: str | None = None) -> Notary:
    with contextlib.closing(Database.open(home / "books.sqlite3", CLOCK)) as database:
        if new is not None:
            return new_log_key(home, database, CLOCK, SystemChance(), new)
        return open_log_key(home, database, CLOCK, SystemChance())


def test_it_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    made = opened(tmp_path)
    assert opened(tmp_path) == made
    assert places.log_key(tmp_path).stat().st_mode & 0o777 == 0o600
    assert made.key.name.startswith("earnest-")


def test_another_key_keeps_the_origin_and_the_keys_before_it_are_known(tmp_path: Path) -> None:
    first = opened(tmp_path)
    second = opened(tmp_path, new="")
    third = opened(tmp_path, new="example.org/log")
    assert first.key.name == second.key.name
    assert first.key.seed != second.key.seed
    assert third.key.name == "example.org/log"
    assert third.former == (first.key.public, second.key.public)
    assert opened(tmp_path) == third
    assert [key.name for key in third.former] == [first.key.name] * 2


def test_a_first_key_that_no_fact_names_is_taken(tmp_path: Path) -> None:
    elsewhere = opened(tmp_path / "elsewhere")
    places.log_key(tmp_path / "here").parent.mkdir(mode=0o700, parents=True)
    places.log_key(tmp_path / "elsewhere").rename(places.log_key(tmp_path / "here"))
    assert opened(tmp_path / "here") == elsewhere
    assert opened(tmp_path / "here", new="").former == (elsewhere.key.public,)


@pytest.mark.parametrize("damage", ["missing", "open", "other", "garbage"])
def test_a_key_that_is_not_the_logs_signs_nothing(tmp_path: Path, damage: str) -> None:
    opened(tmp_path)
    path = places.log_key(tmp_path)
    match damage:
        case "missing":
            path.unlink()
        case "open":
            path.chmod(0o640)
        case "other":
            (tmp_path / "b").mkdir()
            opened(tmp_path / "b")
            path.write_bytes(places.log_key(tmp_path / "b").read_bytes())
        case _:
            path.write_text("PRIVATE+KEY+x")
    with pytest.raises(Refused) as refused:
        opened(tmp_path)
    assert refused.value.code == "log_key_damaged"
    assert opened(tmp_path, new="").former
