"""What keeps memory: the table `[memory]` of the settings file, or `EARNEST_MEMORY`; and where it lies then."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from earnest.app import places
from earnest.app.judging_settings import SettingsFile
from earnest.app.tables import over, read_table
from earnest.effects.ground.kv.place import KeyValuePlace, LevelDbFolder, ServerRows
from earnest.effects.ground.storage.place import Books, home_of
from earnest.foundation.bounds import Fitting

VARIABLE: Final = "EARNEST_MEMORY"
MEMORY: Final = "memory"
STORE: Final = "store"


class MemoryStore(StrEnum):
    """What keeps memory."""

    LMDB = "lmdb"
    LEVELDB = "leveldb"
    POSTGRESQL = "postgresql"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """The table `[memory]`."""

    store: Annotated[MemoryStore | None, Fitting(lambda _: True, f"one of {', '.join(MemoryStore)}")] = None
    """What keeps memory; None: what goes with the books."""


def read_memory(file: SettingsFile, environment: Mapping[str, str], books: Books) -> MemoryStore | None:
    """The store that is set; None: the one that goes with the books. What is wrong is noted in `file`."""
    table = over(file.values.get(MEMORY, {}), {STORE: VARIABLE}, environment)
    store = read_table(table, MemorySettings(), MEMORY, file.fault_at).store
    if store is MemoryStore.POSTGRESQL and isinstance(books, Path):
        file.fault(f"[{MEMORY}] {STORE} is {store}: that goes with books on a server, EARNEST_DATABASE", key=STORE)
    return store


def memory_place(store: MemoryStore | None, books: Books) -> KeyValuePlace:
    """Where memory lies: with books on a server there, else as LMDB in the data directory, unless another is set."""
    if not isinstance(books, Path) and store in {None, MemoryStore.POSTGRESQL}:
        return ServerRows(books.address)
    folder = places.memory(home_of(books))
    return LevelDbFolder(folder) if store is MemoryStore.LEVELDB else folder
