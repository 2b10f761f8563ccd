"""What an operator can set: from the environment, then `settings.toml` in the data directory, then the defaults."""

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from earnest.app.judges import JudgeSettings, read_judge
from earnest.app.mail_settings import MailSettings, read_mail
from earnest.app.market_settings import read_terms
from earnest.app.mcp import read_servers
from earnest.app.model_settings import ModelSettings, read_models
from earnest.app.server_settings import ServerSettings, read_server
from earnest.app.web import WebSettings, read_web
from earnest.effects.mcp.api import ServerSpec
from earnest.effects.probes.spec import ProbeSpec, read_probe
from earnest.engine.gradient.constants import Constants, Signal, Tuning
from earnest.foundation.errors import Diagnostic, Faulty
from earnest.foundation.names import is_slug
from earnest.market.terms import Terms

HOME_VARIABLE: Final = "EARNEST_HOME"
FILE_NAME: Final = "settings.toml"
SOLVER: Final = "solver"
TASKS: Final = "tasks"
TUNABLE: Final = ("rho", "time_s")
TABLES: Final = (SOLVER, "probes", "judge", "mail", "market", "models", "server", "web")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, documented in docs/settings.md. Each number is also read from `EARNEST_<NAME>`."""

    home: Path
    """The data directory: books, memory, audit log, workspaces."""
    parallel_subtasks: int = 4
    """How many subtasks of one group run at once; 1 to 32."""
    silence_s: int = 120
    """A run that says nothing for so long, with nothing in flight, is ended; 5 to 3600."""
    sandbox_slots: int = 8
    """How many sandboxes run at once; 1 to 64."""
    audit_report_s: int = 300
    """How often the auditor reports; 10 to 86400."""
    verdicts_mb: int = 1024
    """How much content of judged work is kept for a replay, in MiB; 0 to 1048576."""
    probes: Mapping[str, ProbeSpec] = field(default_factory=dict)
    """What measures the world, by name; tables `[probes.NAME]` of the file only (docs/checks/probe.md)."""
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    """The model that judges; table `[judge]` of the file, or `VERIFY_LLM_BASE_URL` and the like."""
    models: ModelSettings = field(default_factory=ModelSettings)
    """The models that work; table `[models]` of the file, or `EARNEST_BASE_URL` and the like."""
    web: WebSettings = field(default_factory=WebSettings)
    """What agents may do on the web; table `[web]` of the file."""
    mail: MailSettings = field(default_factory=MailSettings)
    """The server that takes the platform's mail; table `[mail]` of the file."""
    server: ServerSettings = field(default_factory=ServerSettings)
    """Where the platform is served, and its limits; table `[server]` of the file."""
    market: Terms = field(default_factory=Terms)
    """The numbers that the market goes by; table `[market]` of the file."""
    mcp_servers: tuple[ServerSpec, ...] = ()
    """The servers of `mcp.json` in the data directory (docs/mcp.md)."""
    solver: Constants = field(default_factory=Constants)
    """The solver's constants; table `[solver]` of the file only."""
    tuning: Mapping[str, Tuning] = field(default_factory=dict)
    """What differs for a class of tasks; tables `[solver.tasks.CLASS]` of the file only."""


LIMITS: Final = {
    "parallel_subtasks": (1, 32),
    "silence_s": (5, 3_600),
    "sandbox_slots": (1, 64),
    "audit_report_s": (10, 86_400),
    "verdicts_mb": (0, 1_048_576),
}
PER_RUN: Final = frozenset({"time_budget_ms", "max_replans", "tolerance"})
"""Constants that a task sets for itself, or nobody does."""
CONSTANTS: Final = {
    constant.name.rstrip("_"): constant.name for constant in fields(Constants) if constant.name not in PER_RUN
}
"""The fields of `Constants` that can be set, by their names in the file."""


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings in force. Raises `Faulty` with everything that is wrong in the file and the environment."""
    home = _home(environment.get(HOME_VARIABLE) or "~/.earnest")
    source = _File(home / FILE_NAME)
    constants = _constants(source)
    tuning = _tuning(source)
    probes = _probes(source)
    judge = _judge(source, environment)
    models = _models(source, environment)
    web = read_web(source.values.get("web", {}), environment, source.fault_at)
    mail = read_mail(source.values.get("mail", {}), environment, source.fault_at)
    server = read_server(source.values.get("server", {}), source.fault_at)
    market = read_terms(source.values.get("market", {}), source.fault_at)
    servers = read_servers(home, environment, source.faults)
    numbers = _file_numbers(source) | _environment_numbers(environment, source.faults)
    if source.faults:
        raise Faulty(source.faults)
    settings = Settings(
        home=home,
        solver=constants,
        tuning=tuning,
        probes=probes,
        judge=judge,
        models=models,
        web=web,
        mail=mail,
        server=server,
        market=market,
        mcp_servers=servers,
    )
    return replace(settings, **numbers)  # type: ignore[arg-type]  # all of these are int


class _File:
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
        found = re.search(rf"^[ \t]*\[?[ \t]*{re.escape(key)}\b", self._text, re.MULTILINE) if key else None
        if found:
            line = self._text.count("\n", 0, found.start()) + 1
        self.faults.append(Diagnostic(source=str(self.path), line=line, message=message))


def _home(text: str) -> Path:
    try:
        home = Path(text).expanduser().absolute()
        strange = home.exists() and not home.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise Faulty([Diagnostic(source=HOME_VARIABLE, line=0, message=f"{text!r}: {error}")]) from error
    if strange:
        raise Faulty([Diagnostic(source=HOME_VARIABLE, line=0, message=f"{home} is not a folder")])
    return home


def _file_numbers(file: _File) -> dict[str, int]:
    good: dict[str, int] = {}
    for name, value in file.values.items():
        if name in TABLES:
            continue
        if name not in LIMITS:
            file.fault(f"unknown setting {name!r}; {_hint(name, (*LIMITS, *TABLES))}", key=name)
        elif message := _number_fault(name, value):
            file.fault(message, key=name)
        else:
            good[name] = value
    return good


def _probes(file: _File) -> dict[str, ProbeSpec]:
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


def _judge(file: _File, environment: Mapping[str, str]) -> JudgeSettings:
    return read_judge(file.values.get("judge", {}), environment, str(file.path), file.faults)


def _models(file: _File, environment: Mapping[str, str]) -> ModelSettings:
    return read_models(file.values.get("models", {}), environment, file.fault_at, file.faults)


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


def _constants(file: _File) -> Constants:
    given = file.values.get(SOLVER, {})
    if not isinstance(given, dict):
        file.fault("solver must be a table, [solver]", key=SOLVER)
        return Constants()
    good: dict[str, Any] = {}
    for name, value in given.items():
        if name == TASKS:
            continue
        if name not in CONSTANTS:
            file.fault(f"[solver] has no constant {name!r}; {_hint(name, tuple(CONSTANTS))}", key=name)
        elif name == "signal":
            if value in list(Signal):
                good[name] = Signal(value)
            else:
                file.fault(f"[solver] signal is {value!r}: it must be one of {', '.join(Signal)}", key=name)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            file.fault(f"[solver] {name} is {value!r}: it must be a number", key=name)
        else:
            good[CONSTANTS[name]] = value
    constants = Constants(**good)
    for fault in constants.faults():
        file.fault(f"[solver] {fault}", key=fault.partition(" ")[0].rstrip("_"))
    return constants


def _tuning(file: _File) -> dict[str, Tuning]:
    solver = file.values.get(SOLVER)
    tables = solver.get(TASKS, {}) if isinstance(solver, dict) else {}
    good: dict[str, Tuning] = {}
    for name, table in tables.items() if isinstance(tables, dict) else ():
        rho, time_s = (table.get(key) for key in TUNABLE) if isinstance(table, dict) else (None, None)
        known = isinstance(table, dict) and set(table) <= set(TUNABLE) and is_slug(name)
        if not known or not _is_share(rho) or not (time_s is None or (type(time_s) is int and 0 < time_s <= 86_400)):
            file.fault(
                f"[solver.tasks.{name}] must be named by a slug and may hold rho (0 to 1) and time_s (1 to 86400)",
                key=f"solver.tasks.{name}",
            )
        else:
            good[name] = Tuning(rho=rho, time_budget_ms=None if time_s is None else time_s * 1000)
    return good


def _is_share(value: object) -> bool:
    return value is None or (type(value) in {int, float} and 0 <= value <= 1)  # type: ignore[operator]


def _hint(name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
