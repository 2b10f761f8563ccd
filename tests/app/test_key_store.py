"""The platform's own secret: made once, kept, and never done without."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from earnest.app import places
from earnest.app.secrets_file import open_key_store, read_key_store
from earnest.effects.ground.clock import SystemChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.foundation.errors import Refused
from earnest.identity.key import KeyedHash

CLOCK = VirtualClock()


@contextlib.contextmanager
def books(home: Path) -> Iterator[Database]:
    with contextlib.closing(Database.open(places.books(home), CLOCK)) as database:
        yield database


def opened(home: Path) -> KeyedHash:
    with books(home) as database:
        return open_key_store(home, database, CLOCK, SystemChance())


def test_the_first_start_makes_a_secret_that_only_its_owner_reads(tmp_path: Path) -> None:
    hashing = opened(tmp_path)
    path = places.key_store(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert opened(tmp_path) == hashing == read_key_store(tmp_path)
    assert [file.name for file in path.parent.iterdir()] == ["keys"]


def test_two_platforms_have_two_secrets(tmp_path: Path) -> None:
    assert opened(tmp_path / "one") != opened(tmp_path / "two")


def test_a_start_that_was_killed_before_its_fact_goes_on_with_the_same_secret(tmp_path: Path) -> None:
    hashing = opened(tmp_path)
    for file in tmp_path.glob("books.sqlite3*"):
        file.unlink()
    assert opened(tmp_path) == hashing


def _missing(path: Path) -> None:
    path.unlink()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def _one_digit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[20] = ord("0") if data[20] != ord("0") else ord("1")
    path.write_bytes(bytes(data))


def _not_text(path: Path) -> None:
    path.write_bytes(b"\xff" * 97)


def _exchanged(path: Path) -> None:
    other = path.parent.parent / "other"
    opened(other)
    path.write_bytes(places.key_store(other).read_bytes())


def _readable_by_others(path: Path) -> None:
    path.chmod(0o640)


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _dangling_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir(mode=0o700)


@pytest.mark.parametrize(
    "damage",
    [
        _missing,
        _empty,
        _cut,
        _one_digit,
        _not_text,
        _exchanged,
        _readable_by_others,
        _link,
        _dangling_link,
        _folder,
    ],
)
def test_a_key_store_that_is_missing_or_damaged_stops_the_start(tmp_path: Path, damage: object) -> None:
    opened(tmp_path)
    damage(places.key_store(tmp_path))  # type: ignore[operator]
    with books(tmp_path) as database:
        before = database.last_seq
        with pytest.raises(Refused) as refused:
            open_key_store(tmp_path, database, CLOCK, SystemChance())
        assert database.last_seq == before
    assert refused.value.code == "key_store_damaged"


def test_beside_a_platform_that_never_began_there_is_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        read_key_store(tmp_path)
    assert refused.value.code == "key_store_missing"
