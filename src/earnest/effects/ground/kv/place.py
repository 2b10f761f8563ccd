"""Where a key-value store may be: in a folder, as LMDB or LevelDB keeps it, or in a table on a server."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

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
