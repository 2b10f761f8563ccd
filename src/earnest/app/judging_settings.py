"""What an operator can set for judging alone.

Whoever judges one submission is not to load what runs, models, mail and the market need.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Final

from earnest.app import places
from earnest.app.places import home_of
from earnest.app.tables import ADDRESS, Fault, SettingsFile, as_told, over, read_table
from earnest.contracts.environment import EnvironmentSpec, read_environment
from earnest.contracts.node import node_of
from earnest.contracts.reader import NodeReader
from earnest.effects.ground.storage.place import Books, ServerBooks
from earnest.effects.outside.probes.spec import ProbeSpec, read_probe
from earnest.foundation.bounds import Fitting, Whole
from earnest.foundation.errors import Diagnostic, Faulty
from earnest.foundation.names import is_slug

ADDRESSES: Final = {
    "database": ("postgresql://", "postgres://"),
    "bus": ("nats://", "tls://"),
    "artifacts": ("s3://",),
    "artifacts_endpoint": ("https://", "http://"),
}
"""Settings that are addresses, and how each begins."""
FILE_NAME: Final = "settings.toml"
TABLES: Final = ("environment", "solver", "probes", "judge", "mail", "market", "memory", "models", "server", "web")
JUDGE_VARIABLES: Final = {
    "base_url": "VERIFY_LLM_BASE_URL",
    "model": "VERIFY_LLM_MODEL",
    "api_key": "VERIFY_LLM_API_KEY",
    "may_judge_itself": "VERIFY_LLM_MAY_JUDGE_ITSELF",
}
_DAYS: Final = Whole(1, 36_500)


def _beginning(schemes: tuple[str, ...]) -> Fitting:
    return Fitting(lambda text: not text or text.startswith(schemes), f"text that begins with {' or '.join(schemes)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainSettings:
    """What stands outside of any table. Each is also read from `EARNEST_<NAME>`."""

    database: Annotated[str, _beginning(ADDRESSES["database"])] = ""
    """The address of a server of PostgreSQL that has the books; empty: they are a file of the data directory."""
    artifacts: Annotated[str, _beginning(ADDRESSES["artifacts"])] = ""
    """Where artifacts lie, `s3://BUCKET[/PREFIX]`; empty: in the data directory."""
    artifacts_endpoint: Annotated[str, _beginning(ADDRESSES["artifacts_endpoint"])] = ""
    """Who answers for that bucket, `https://HOST[:PORT]`; empty: AWS, by its region."""
    bus: Annotated[str, _beginning(ADDRESSES["bus"])] = ""
    """The address of a server of NATS that auditors on other machines read; empty: messages stay in this one."""
    parallel_subtasks: Annotated[int, Whole(1, 32)] = 4
    """How many subtasks of one group run at once."""
    calls_per_execution: Annotated[int, Whole(1, 200)] = 40
    """How many tool calls an execution may make."""
    silence_s: Annotated[int, Whole(5, 3_600)] = 120
    """Seconds after which a run that says nothing, with nothing in flight, is ended."""
    sandbox_slots: Annotated[int, Whole(1, 64)] = 8
    """How many sandboxes run at once."""
    audit_report_s: Annotated[int, Whole(10, 86_400)] = 300
    """Seconds between the auditor's reports."""
    verdicts_mb: Annotated[int, Whole(0, 1_048_576)] = 1024
    """MiB of judged work that are kept for a replay; the oldest goes first."""
    runs_days: Annotated[int, _DAYS] = 90
    """Days after its last fact for which `earnest gc` leaves a run's files."""
    stages_days: Annotated[int, _DAYS] = 7
    """The same for the checkpoints of a run that was given nothing to edit."""
    verdicts_days: Annotated[int, _DAYS] = 365
    """Days for which it leaves kept verdicts."""
    artifacts_days: Annotated[int, _DAYS] = 365
    """Days for which it leaves artifacts after the last thing that uses them has ended."""
    audit_file_mb: Annotated[int, Whole(1, 1_024)] = 64
    """At how many MiB a file of the audit log is full, and the next one is begun."""
    audit_days: Annotated[int, _DAYS] = 3650
    """Days for which it leaves full files of the audit log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The model that judges what no machine can; without `base_url` and `model` such criteria wait for a person."""

    base_url: Annotated[str, ADDRESS] = ""
    """An OpenAI-compatible endpoint, as `http://127.0.0.1:11434/v1`."""
    model: str = ""
    """The model's name there."""
    api_key: str = field(default="", repr=False)
    """Sent as a bearer token if given."""
    may_judge_itself: bool = False
    """Let it judge work that the same model did."""

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """What does not go together, each in words and with its key."""
        if bool(self.base_url) != bool(self.model):
            given, missing = ("base_url", "model") if self.base_url else ("model", "base_url")
            yield f"{given} is given without {missing}", given


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingSettings(PlainSettings):
    """What judging goes by."""

    home: Path
    """The data directory: books, memory, audit log, workspaces."""
    probes: Mapping[str, ProbeSpec] = field(default_factory=dict)
    """What measures the world, by name; tables `[probes.NAME]` of the file only (docs/checks/probe.md)."""
    environment: EnvironmentSpec | None = None
    """What sandboxes hold where nothing asks for another; table `[environment]` of the file only."""
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    """The model that judges; table `[judge]` of the file, or `VERIFY_LLM_BASE_URL` and the like."""

    @property
    def books(self) -> Books:
        """Where the books are."""
        return books_at(self.database, self.home)


def read_judging_settings(environment: Mapping[str, str] = os.environ) -> JudgingSettings:
    """The settings in force for judging. Raises `Faulty` with everything that is wrong in their part."""
    home = home_of(environment)
    source = SettingsFile(home / FILE_NAME)
    settings = JudgingSettings(home=home, **judging_parts(source, environment))
    if source.faults:
        raise Faulty(source.faults)
    return settings


def judging_parts(file: SettingsFile, environment: Mapping[str, str]) -> dict[str, Any]:
    """What is set outside of tables, the probes and the judge, by their fields; what is wrong is noted in `file`."""
    plain = _plain(file, environment)
    return {one.name: getattr(plain, one.name) for one in fields(PlainSettings)} | {
        "probes": _probes(file),
        "judge": read_judge(file.values.get("judge", {}), environment, file.fault),
        "environment": _environment(file),
    }


def read_judge(table: object, environment: Mapping[str, str], fault: Fault) -> JudgeSettings:
    """The table `[judge]`, over which the environment wins; what is wrong goes to `fault`."""
    return read_table(over(table, JudgeSettings, JUDGE_VARIABLES, environment), JudgeSettings(), "judge", fault)


def books_of(home: Path, environment: Mapping[str, str]) -> Books:
    """Where the books of a data directory are, for who needs no other setting."""
    return books_at(_plain(SettingsFile(home / FILE_NAME), environment).database, home)


def books_at(address: str, home: Path) -> Books:
    """The books of a data directory: at this address, or, if it is empty, in a file."""
    return ServerBooks(address, home) if address else places.books(home)


def artifacts_in(file: SettingsFile, environment: Mapping[str, str]) -> tuple[str, str]:
    """Where artifacts lie, and who answers for it; both empty: in the data directory."""
    plain = _plain(file, environment)
    return plain.artifacts, plain.artifacts_endpoint


def _plain(file: SettingsFile, environment: Mapping[str, str]) -> PlainSettings:
    """What is set outside of tables, the environment over the file."""

    def in_environment(words: str, name: str) -> None:
        file.faults.append(Diagnostic(source=f"EARNEST_{name.upper()}", line=0, message=words))

    found = read_table(file.values, PlainSettings(), "", file.fault, beside=TABLES)
    texts = {one.name: environment.get(f"EARNEST_{one.name.upper()}") for one in fields(PlainSettings)}
    said = {name: text for name, text in texts.items() if text or (text is not None and name not in ADDRESSES)}
    return read_table(as_told(PlainSettings, said), found, "", in_environment)


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
