"""Where a key-value store may be, in a folder of LMDB or LevelDB or on a server; opened, and exchanged with another."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from earnest.effects.ground.kv.api import KeyValue

MEMORY: Final = "memory"


@dataclass(frozen=True, slots=True)
class LevelDbFolder:
    """A folder with a database of LevelDB."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class ServerRows:
    """Rows of a table in the database of books at `address`: those of one `store`."""

    address: str
    store: str = MEMORY

    def __str__(self) -> str:
        return "the database of the books"  # an address may hold a password


KeyValuePlace: TypeAlias = Path | LevelDbFolder | ServerRows
"""A folder with LMDB, one with LevelDB, or rows on a server."""


def open_store(place: KeyValuePlace, *, readonly: bool = False) -> KeyValue:
    """Raises `Refused`: `memory_in_use`, `memory_missing` where it is only to be read; `Broken` for a damaged one.

    And `Unavailable` where what it needs is not installed or does not answer.
    """
    match place:
        case LevelDbFolder(path):
            from earnest.effects.ground.kv.leveldb import LevelDbKeyValue  # noqa: PLC0415 - of an extra

            return LevelDbKeyValue(path, readonly=readonly)
        case ServerRows(address, store):
            from earnest.effects.ground.kv.postgresql import PostgresqlKeyValue  # noqa: PLC0415 - of an extra

            return PostgresqlKeyValue(address, store, readonly=readonly)
    from earnest.effects.ground.kv.lmdb import LmdbKeyValue  # noqa: PLC0415 - settings name places, and open none

    return LmdbKeyValue(place, readonly=readonly)


def beside(place: KeyValuePlace) -> KeyValuePlace:
    """An empty place of the same kind, for what is to be put in its place."""
    new: KeyValuePlace
    match place:
        case ServerRows(address, store):
            new = ServerRows(address, f"{store}.new")
        case LevelDbFolder(path):
            new = LevelDbFolder(_named(path, "new"))
        case _:
            new = _named(place, "new")
    remove(new)
    return new


def exchange(place: KeyValuePlace, new: KeyValuePlace) -> None:
    """Put the store of `new`, which is closed, in the place of that of `place`."""
    match place, new:
        case ServerRows(address, store), ServerRows(_, new_store):
            from earnest.effects.ground.kv.postgresql import exchange_rows  # noqa: PLC0415 - of an extra

            exchange_rows(address, store, new_store)
        case (LevelDbFolder(path), LevelDbFolder(new_path)) | (Path() as path, Path() as new_path):
            old = _named(path, "old")
            _remove_folder(old)
            if path.exists():
                path.rename(old)
            new_path.rename(path)
            _remove_folder(old)


def remove(place: KeyValuePlace) -> None:
    """Nothing is left of it."""
    match place:
        case ServerRows(address, store):
            from earnest.effects.ground.kv.postgresql import exchange_rows  # noqa: PLC0415 - of an extra

            exchange_rows(address, store, "")
        case LevelDbFolder(path) | (Path() as path):
            _remove_folder(path)


def _named(path: Path, what: str) -> Path:
    return path.with_name(f"{path.name}.{what}")


def _remove_folder(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
