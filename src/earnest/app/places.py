"""Where things lie in the data directory."""

from collections.abc import Callable, Mapping
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


def lock(home: Path, name: str) -> Path:
    """What one process at a time has: `server`, `dreamer`, `applying`; beside books in a file the offices, too."""
    return home / "locks" / name


def _below(path: str) -> Callable[[Path], Path]:
    return lambda home: home / path


books: Final = _below("books.sqlite3")
"""The database of facts."""
address: Final = _below("address")
"""Where the platform that is served from it can be reached: one line, while it is."""
environments: Final = _below("environments")
"""Built environments, by the digest of what they were built from."""
practice: Final = _below("practice")
"""What marks a platform of made-up owners."""
memory: Final = _below("memory")
"""The memory's key-value store."""
verdicts: Final = _below("verdicts")
"""The kept verdicts, and the work they are about."""
audit_log: Final = _below("audit/audit.jsonl")
"""The auditor's own log."""
behind: Final = _below("bus")
"""A file for each run that the bus between machines may lack messages of."""
verified: Final = _below("verified.json")
"""How far the records were found intact."""
artifacts: Final = _below("artifacts")
"""What was handed in, by its hash."""
key_store: Final = _below("secrets/keys")
"""The platform's own secret."""
log_key: Final = _below("secrets/log")
"""What the log signs with."""
witness_key: Final = _below("secrets/witness")
"""What a witness signs with."""
witness: Final = _below("witness")
"""The last checkpoint that a witness saw of each log."""
