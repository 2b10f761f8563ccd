"""Does a platform without its own secret begin? What each damage is told as: tests/app/test_key_store.py."""

from collections.abc import Callable
from pathlib import Path

import pytest

from earnest.app import places
from earnest.app.secrets_file import open_key_store
from earnest.app.server import open_server
from earnest.app.settings import Settings, read_settings
from earnest.effects.ground.clock import SystemChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.foundation.errors import Refused


def _begun(home: Path) -> Settings:
    """A data directory in which a platform has begun once."""
    database = Database.open(places.books(home), VirtualClock())
    try:
        open_key_store(home, database, VirtualClock(), SystemChance())
    finally:
        database.close()
    return read_settings({"EARNEST_HOME": str(home)})


def _longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"00")


def _unreadable(path: Path) -> None:
    path.chmod(0o000)
    if path.stat().st_uid == 0:  # who may read everything is told by the mode
        path.chmod(0o044)


@pytest.mark.parametrize(
    "damage",
    [
        Path.unlink,
        _longer,
        _unreadable,
        lambda path: path.write_bytes(b""),
        lambda path: path.chmod(0o644),
        lambda path: path.write_bytes(path.read_bytes()[::-1]),
    ],
    ids=["missing", "too long", "unreadable", "empty", "open to all", "scrambled"],
)
async def test_a_platform_without_its_secret_does_not_begin(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    settings = _begun(tmp_path)
    damage(places.key_store(tmp_path))
    with pytest.raises(Refused) as refused:
        async with open_server(settings):
            raise AssertionError("it has begun")
    assert refused.value.code == "key_store_damaged"
    assert not (tmp_path / "artifacts").exists(), "nothing was opened after it"
