"""Where things lie in the data directory."""

from pathlib import Path

from earnest.effects.ground.faults import why
from earnest.foundation.errors import Unavailable


def make(home: Path) -> None:
    """Have the data directory there. Raises `Unavailable`."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        message = f"the data directory {home} cannot be made: {why(error)}; EARNEST_HOME names another"
        raise Unavailable(message) from error


def books(home: Path) -> Path:
    """The database of facts."""
    return home / "books.sqlite3"


def lock(home: Path, name: str) -> Path:
    """What one process at a time has: `server`, `dreamer`, `applying`; beside books in a file the offices, too."""
    return home / "locks" / name


def address(home: Path) -> Path:
    """Where the platform that is served from it can be reached: one line, while it is."""
    return home / "address"


def environments(home: Path) -> Path:
    """Built environments, by the digest of what they were built from."""
    return home / "environments"


def practice(home: Path) -> Path:
    """What marks a platform of made-up owners."""
    return home / "practice"


def memory(home: Path) -> Path:
    """The memory's key-value store."""
    return home / "memory"


def verdicts(home: Path) -> Path:
    """The kept verdicts, and the work they are about."""
    return home / "verdicts"


def audit_log(home: Path) -> Path:
    """The auditor's own log."""
    return home / "audit" / "audit.jsonl"


def behind(home: Path) -> Path:
    """A file for each run that the bus between machines may lack messages of."""
    return home / "bus"


def verified(home: Path) -> Path:
    """How far the records were found intact."""
    return home / "verified.json"


def artifacts(home: Path) -> Path:
    """What was handed in, by its hash."""
    return home / "artifacts"


def key_store(home: Path) -> Path:
    """The platform's own secret."""
    return home / "secrets" / "keys"


def log_key(home: Path) -> Path:
    """What the log signs with."""
    return home / "secrets" / "log"


def witness_key(home: Path) -> Path:
    """What a witness signs with."""
    return home / "secrets" / "witness"


def witness(home: Path) -> Path:
    """The last checkpoint that a witness saw of each log."""
    return home / "witness"
