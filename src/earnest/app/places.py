"""Where things lie in the data directory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from earnest.effects.ground.faults import why
from earnest.foundation.errors import Diagnostic, Faulty, Unavailable

HOME_VARIABLE: Final = "EARNEST_HOME"


def home_of(environment: Mapping[str, str]) -> Path:
    """The data directory. Raises `Faulty`."""
    text = environment.get(HOME_VARIABLE) or "~/.earnest"
    try:
        home = Path(text).expanduser().absolute()
        strange = home.exists() and not home.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise Faulty([Diagnostic(source=HOME_VARIABLE, line=0, message=f"{text!r}: {error}")]) from error
    if strange:
        raise Faulty([Diagnostic(source=HOME_VARIABLE, line=0, message=f"{home} is not a folder")])
    return home


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
