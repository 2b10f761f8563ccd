"""What an operator can set for judging alone, and the file and the environment in which settings stand.

Whoever judges one submission is not to load what runs, models, mail and the market need.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from earnest.app import places
from earnest.app.judges import JudgeSettings, read_judge
from earnest.contracts.environment import EnvironmentSpec, read_environment
from earnest.contracts.node import node_of
from earnest.contracts.reader import NodeReader
from earnest.effects.ground.storage.place import Books, ServerBooks
from earnest.effects.outside.probes.spec import ProbeSpec, read_probe
from earnest.foundation.errors import Diagnostic, Faulty, Refused
from earnest.foundation.names import is_slug

HOME_VARIABLE: Final = "EARNEST_HOME"
DATABASE_VARIABLE: Final = "EARNEST_DATABASE"
DATABASE: Final = "database"
SCHEMES: Final = ("postgresql://", "postgres://")
FILE_NAME: Final = "settings.toml"
TABLES: Final = ("environment", "solver", "probes", "judge", "mail", "market", "models", "server", "web")
LIMITS: Final = {
    "parallel_subtasks": (1, 32),
    "calls_per_execution": (1, 200),
    "silence_s": (5, 3_600),
    "sandbox_slots": (1, 64),
    "audit_report_s": (10, 86_400),
    "verdicts_mb": (0, 1_048_576),
    "runs_days": (1, 36_500),
    "stages_days": (1, 36_500),
    "verdicts_days": (1, 36_500),
    "audit_file_mb": (1, 1_024),
    "audit_days": (1, 36_500),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingSettings:
    """What judging goes by. Each number is also read from `EARNEST_<NAME>`."""

    home: Path
    """The data directory: books, memory, audit log, workspaces."""
    database: str = ""
    """The address of a server of PostgreSQL that has the books; empty: they are a file of the data directory."""
    sandbox_slots: int = 8
    """How many sandboxes run at once; 1 to 64."""
    verdicts_mb: int = 1024
    """How much content of judged work is kept for a replay, in MiB; 0 to 1048576."""
    probes: Mapping[str, ProbeSpec] = field(default_factory=dict)
    """What measures the world, by name; tables `[probes.NAME]` of the file only (docs/checks/probe.md)."""
    environment: EnvironmentSpec | None = None
    """What sandboxes hold where nothing asks for another; table `[environment]` of the file only."""
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    """The model that judges; table `[judge]` of the file, or `VERIFY_LLM_BASE_URL` and the like."""

    @property
    def books(self) -> Books:
        """Where the books are."""
        return ServerBooks(self.database, self.home) if self.database else places.books(self.home)


class SettingsFile:
    """The settings file: what it says (nothing, if it cannot be read), and what is wrong with it so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._text = ""
        self.values: dict[str, Any] = {}
        self.faults: list[Diagnostic] = []
        try:
            self._text = path.read_text(encoding="utf-8")
            self.values = tomllib.loads(self._text)
        except FileNotFoundError:
            pass
        except OSError as error:
            self.fault(error.strerror or str(error))
        except UnicodeDecodeError:
            self.fault("the file must be UTF-8 text")
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"at line (\d+)", str(error))
            self.fault(f"not TOML: {error}", line=int(line[1]) if line else 0)

    def fault_at(self, message: str, key: str) -> None:
        """Note a fault on the first line that begins with `key`."""
        self.fault(message, key=key)

    def fault(self, message: str, *, key: str = "", line: int = 0) -> None:
        """Note a fault, on the first line that begins with `key` if one is given."""
        line = self.line_of(key) if key and self.line_of(key) else line
        self.faults.append(Diagnostic(source=str(self.path), line=line, message=message))

    def line_of(self, key: str) -> int:
        """The first line that begins with `key`, or 0."""
        found = re.search(rf"^[ \t]*\[?[ \t]*{re.escape(key)}\b", self._text, re.MULTILINE)
        return self._text.count("\n", 0, found.start()) + 1 if found else 0


def read_judging_settings(environment: Mapping[str, str] = os.environ) -> JudgingSettings:
    """The settings in force for judging. Raises `Faulty` with everything that is wrong in their part."""
    home = home_of(environment)
    source = SettingsFile(home / FILE_NAME)
    given = judging_parts(source, environment)
    if source.faults:
        raise Faulty(source.faults)
    names = {one.name for one in fields(JudgingSettings)}
    return JudgingSettings(home=home, **{name: value for name, value in given.items() if name in names})


def judging_parts(file: SettingsFile, environment: Mapping[str, str]) -> dict[str, Any]:
    """The numbers, probes and judge that are set, by their fields; what is wrong is noted in `file`."""
    probes = _probes(file)
    judge = read_judge(file.values.get("judge", {}), environment, str(file.path), file.faults)
    numbers = {**_file_numbers(file), **_environment_numbers(environment, file.faults)}
    return {
        **numbers,
        "database": _database(file, environment),
        "probes": probes,
        "judge": judge,
        "environment": _environment(file),
    }


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


def _database(file: SettingsFile, environment: Mapping[str, str]) -> str:
    given = environment.get(DATABASE_VARIABLE) or file.values.get(DATABASE, "")
    if isinstance(given, str) and (not given or given.startswith(SCHEMES)):
        return given
    file.fault(f"{DATABASE} must begin with {' or '.join(SCHEMES)}", key=DATABASE)  # not told: it may hold a password
    return ""


def books_of(home: Path, environment: Mapping[str, str]) -> Books:
    """Where the books of a data directory are, for who needs no other setting."""
    address = _database(SettingsFile(home / FILE_NAME), environment)
    return ServerBooks(address, home) if address else places.books(home)


def home_with_books(home: Path | None, environment: Mapping[str, str]) -> Path:
    """The data directory, by default the one in force, whose books lie in it. Raises `Refused("books_on_server")`."""
    place = home or home_of(environment)
    books = books_of(place, environment)
    if not isinstance(books, Path):
        raise Refused("books_on_server", f"the books are on {books}: its own tools copy and keep them, as pg_dump does")
    return place


def _file_numbers(file: SettingsFile) -> dict[str, int]:
    good: dict[str, int] = {}
    for name, value in file.values.items():
        if name in TABLES or name == DATABASE:
            continue
        if name not in LIMITS:
            file.fault(f"unknown setting {name!r}; {hint(name, (DATABASE, *LIMITS, *TABLES))}", key=name)
        elif message := _number_fault(name, value):
            file.fault(message, key=name)
        else:
            good[name] = value
    return good


def _environment(file: SettingsFile) -> EnvironmentSpec | None:
    table = file.values.get("environment")
    if table is None:
        return None
    reader = NodeReader()
    wanted = read_environment(reader, node_of(table, "environment"), str(file.path))
    for fault in reader.faults:
        file.fault(fault.message, key=fault.path.rpartition(".")[2])
    return wanted and replace(wanted, lines={key: file.line_of(key) for key in table if isinstance(table, dict)})


def _probes(file: SettingsFile) -> dict[str, ProbeSpec]:
    good: dict[str, ProbeSpec] = {}
    tables = file.values.get("probes", {})
    if not isinstance(tables, dict):
        file.fault("probes must be tables, [probes.NAME]", key="probes")
        return good
    for name, table in tables.items():
        wrong: list[str] = [] if is_slug(name) else ["a name is 1 to 64 of a-z, 0-9 and _"]
        probe = read_probe(table, wrong) if isinstance(table, dict) else None
        if probe is not None and not wrong:
            good[name] = probe
        for fault in wrong:
            file.fault(f"[probes.{name}] {fault}", key=f"probes.{name}")
    return good


def _environment_numbers(environment: Mapping[str, str], faults: list[Diagnostic]) -> dict[str, int]:
    good: dict[str, int] = {}
    for name in LIMITS:
        variable = f"EARNEST_{name.upper()}"
        text = environment.get(variable)
        if text is None:
            continue
        value = int(text) if re.fullmatch("[0-9]{1,9}", text) else text[:40]
        if message := _number_fault(name, value):
            faults.append(Diagnostic(source=variable, line=0, message=message))
        else:
            good[name] = int(value)
    return good


def _number_fault(name: str, value: object) -> str:
    low, high = LIMITS[name]
    if type(value) is int and low <= value <= high:
        return ""
    return f"{name} is {value!r}: it must be a whole number from {low} to {high}"


def hint(name: str, known: tuple[str, ...]) -> str:
    """What may have been meant by a name that is unknown."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
