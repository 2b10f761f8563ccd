"""The store of a place: opened, and put in the place of another one."""

import shutil
from pathlib import Path

from earnest.effects.ground.kv.api import KeyValue
from earnest.effects.ground.kv.lmdb import LmdbKeyValue
from earnest.effects.ground.kv.place import KeyValuePlace, LevelDbFolder, ServerRows


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
