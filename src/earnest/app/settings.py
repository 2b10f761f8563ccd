"""What an operator can set: from the environment, then `settings.toml` in the data directory, then the defaults."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from earnest.app.judges import JudgeSettings, read_judge
from earnest.effects.probes.spec import ProbeSpec, read_probe
from earnest.engine.gradient.constants import Constants, Signal
from earnest.foundation.errors import Diagnostic, Faulty
from earnest.foundation.names import is_slug

HOME_VARIABLE: Final = "EARNEST_HOME"
FILE_NAME: Final = "settings.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, documented in docs/settings.md. Each is also read from `EARNEST_<NAME>`."""

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
    solver: Constants = field(default_factory=Constants)
    """The solver's constants; table `[solver]` of the file only."""


LIMITS: Final = {
    "parallel_subtasks": (1, 32),
    "silence_s": (5, 3_600),
    "sandbox_slots": (1, 64),
    "audit_report_s": (10, 86_400),
    "verdicts_mb": (0, 1_048_576),
}
PER_RUN: Final = frozenset({"time_budget_ms", "max_replans", "tolerance"})
"""Constants that a task sets for itself, or nobody does."""


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings in force. Raises `Faulty` with everything that is wrong in the file and the environment."""
    home = Path(environment.get(HOME_VARIABLE) or Path.home() / ".earnest").expanduser().absolute()
    file = home / FILE_NAME
    faults: list[Diagnostic] = []
    values = _file_values(file, faults)
    solver = _solver(values.pop("solver", {}), str(file), faults)
    probes = _probes(values.pop("probes", {}), str(file), faults)
    judge = read_judge(values.pop("judge", {}), environment, str(file), faults)
    for name in LIMITS:
        variable = f"EARNEST_{name.upper()}"
        if variable in environment:
            values[name] = _number(environment[variable], variable, faults)
    settings = _checked(Settings(home=home, probes=probes, judge=judge, solver=solver), values, str(file), faults)
    if faults:
        raise Faulty(faults)
    return settings


def _file_values(file: Path, faults: list[Diagnostic]) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        faults.append(Diagnostic(source=str(file), line=0, message=str(error)))
        return {}


def _checked(settings: Settings, values: Mapping[str, Any], source: str, faults: list[Diagnostic]) -> Settings:
    good: dict[str, int] = {}
    for name, value in values.items():
        if name not in LIMITS:
            known = ", ".join(sorted((*LIMITS, "judge", "probes", "solver")))
            faults.append(Diagnostic(source=source, line=0, message=f"unknown setting {name!r}; there are {known}"))
            continue
        low, high = LIMITS[name]
        if type(value) is not int or not low <= value <= high:
            message = f"{name} is {value!r}: it must be a whole number from {low} to {high}"
            faults.append(Diagnostic(source=source, line=0, message=message))
        else:
            good[name] = value
    return replace(settings, **good)  # type: ignore[arg-type]  # every checked setting is an int


def _probes(tables: Any, source: str, faults: list[Diagnostic]) -> dict[str, ProbeSpec]:
    good: dict[str, ProbeSpec] = {}
    if not isinstance(tables, dict):
        faults.append(Diagnostic(source=source, line=0, message="probes must be tables [probes.NAME]"))
        return good
    for name, table in tables.items():
        wrong: list[str] = [] if is_slug(name) else ["a name is 1 to 64 of a-z, 0-9 and _"]
        probe = read_probe(table, wrong) if isinstance(table, dict) else None
        if probe is not None and not wrong:
            good[name] = probe
        faults.extend(Diagnostic(source=source, line=0, message=f"[probes.{name}] {fault}") for fault in wrong)
    return good


def _solver(values: Any, source: str, faults: list[Diagnostic]) -> Constants:
    names = {constant.name.rstrip("_"): constant.name for constant in fields(Constants)}
    good: dict[str, Any] = {}
    for name, value in values.items() if isinstance(values, dict) else ():
        if name not in names or names[name] in PER_RUN:
            faults.append(Diagnostic(source=source, line=0, message=f"[solver] has no constant {name!r}"))
        elif name == "signal" and value in list(Signal):
            good["signal"] = Signal(value)
        elif name == "signal" or isinstance(value, bool) or not isinstance(value, int | float):
            faults.append(Diagnostic(source=source, line=0, message=f"[solver] {name} cannot be {value!r}"))
        else:
            good[names[name]] = value
    constants = Constants(**good)
    faults.extend(Diagnostic(source=source, line=0, message=f"[solver] {fault}") for fault in constants.faults())
    return constants


def _number(text: str, variable: str, faults: list[Diagnostic]) -> int | str:
    try:
        return int(text)
    except ValueError:
        faults.append(Diagnostic(source=variable, line=0, message=f"{text!r} is not a whole number"))
        return text
