"""The folder of a resident agent: the file agent.toml that tells it what to do, and a new folder for a new agent."""

import re
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final

from earnest.agents.backlog import Backlogged
from earnest.agents.job_files import micro_of
from earnest.agents.state import AgentRole
from earnest.app.command_words import words_of
from earnest.app.tables import SettingsFile, read_table
from earnest.client.credentials import agent_folder
from earnest.foundation.bounds import Fitting, Whole
from earnest.foundation.errors import Faulty, Refused

FILE_NAME: Final = "agent.toml"
FILES: Final = ("HEARTBEAT.md", FILE_NAME, "work.py", "backlog/sum.yaml")
"""Of a new folder."""
TIMEOUT_S: Final = 600
_COMMAND: Final = Fitting(lambda text: bool(words_of(text)), "a command line")
_CURRENCY: Final = Fitting(lambda text: re.fullmatch("[A-Z]{3}", text) is not None, "three capital letters")
_POSTGRESQL: Final = Fitting(lambda text: text.startswith(("postgresql://", "postgres://")), "postgresql://…")
_SECONDS: Final = Whole(1, 86_400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A way to do some jobs: `command` or `playbook`. Empty `category` and `title` (a pattern) mean any."""

    category: str = ""
    title: str = ""
    command: str = ""
    playbook: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Searching:
    """What a proposer searches the web for, where the environment lets it; None: as the source and we have it."""

    topics: tuple[str, ...] | None = None
    amount_micro: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """agent.toml. Paths are relative to its folder; `every_s` None: at the pace that the platform advises.

    `checkpoints`: the database of LangGraph's; empty: a file."""

    role: AgentRole = AgentRole.EXECUTOR
    exec: Annotated[str, _COMMAND] = ""
    heartbeat: Annotated[str, _COMMAND] = ""
    model: bool = True
    categories: tuple[str, ...] = ()
    currency: Annotated[str, _CURRENCY] = "AID"
    every_s: Annotated[int | None, _SECONDS] = None
    timeout_s: Annotated[int, _SECONDS] = TIMEOUT_S
    checkpoints: Annotated[str, _POSTGRESQL] = ""
    skills: tuple[Skill, ...] = ()
    backlog: tuple[Backlogged, ...] = ()
    discovery: Searching = Searching()


_TABLES: Final = ("skills", "backlog", "discovery")
_TOPIC: Final = re.compile(r"[\w ,.-]{1,80}")
_SKILL: Final = frozenset({"category", "title", "exec", "playbook"})
_BACKLOG: Final = frozenset({"name", "path", "category", "amount", "currency", "hand_in", "hours", "times"})


def read_agent_settings(folder: Path) -> AgentSettings:
    """What the folder's file says; the defaults without one. Raises `Faulty` with everything that is wrong."""
    file = SettingsFile(folder / FILE_NAME)
    given: dict[str, Any] = {}
    for name, value in file.values.items():
        if name == "skills":
            given[name] = tuple(_skill(one, folder, file) for one in _tables(name, value, _SKILL, file))
        elif name == "backlog":
            tables = _tables(name, value, _BACKLOG, file)
            given[name] = tuple(entry for one in tables for entry in _entries(one, folder, file))
        elif name == "discovery":
            given[name] = _searching(value, file)
    names = [entry.name for entry in given.get("backlog", ())]
    if len(set(names)) != len(names):
        file.fault("two entries of the backlog have one name", key="backlog")
    settings = read_table(file.values, AgentSettings(**given), "", file.fault, beside=_TABLES)
    if file.faults:
        raise Faulty(file.faults)
    return settings


def _tables(name: str, value: Any, known: frozenset[str], file: SettingsFile) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        file.fault(f"{name} must be tables, [[{name}]]", key=name)
        return []
    for one in value:
        if unknown := sorted(one.keys() - known):
            file.fault(f"[[{name}]] {unknown[0]} is not one of {', '.join(sorted(known))}", key=unknown[0])
            return []
    return value


def _skill(table: dict[str, Any], folder: Path, file: SettingsFile) -> Skill:
    command, playbook = table.get("exec", ""), table.get("playbook", "")
    if not all(isinstance(value, str) for value in table.values()) or bool(command) == bool(playbook):
        file.fault("a skill has texts, and exec or playbook", key="skills")
        return Skill()
    try:
        re.compile(table.get("title", ""))
    except re.error as error:
        file.fault(f"title is no pattern: {error}", key="title")
    path = folder / playbook if playbook else None
    if path is not None and not path.is_file():
        file.fault(f"there is no playbook {path}", key="playbook")
    return Skill(category=table.get("category", ""), title=table.get("title", ""), command=command, playbook=path)


def _searching(table: Any, file: SettingsFile) -> Searching:
    amount, topics = (table.get("amount"), table.get("topics")) if isinstance(table, dict) else (None, None)
    is_list = isinstance(topics, list) and all(isinstance(one, str) and _TOPIC.fullmatch(one) for one in topics)
    if not isinstance(table, dict) or table.keys() - {"amount", "topics"} or not (topics is None or is_list):
        file.fault("[discovery] has amount and topics, a list of a few words each", key="discovery")
        return Searching()
    amount_micro = None if amount is None else _micro(str(amount), file)
    return Searching(topics=None if topics is None else tuple(topics), amount_micro=amount_micro)


def _micro(amount: str, file: SettingsFile) -> int:
    try:
        return micro_of(amount)
    except Refused as refused:
        file.fault(str(refused), key="amount")
        return 0


def _entries(table: dict[str, Any], folder: Path, file: SettingsFile) -> list[Backlogged]:
    """One entry; of a folder, one for each YAML file in it, by name."""
    entry = _entry(table, folder, file)
    if not entry.path.is_dir() or not entry.category:
        return [entry]
    found = sorted(entry.path.glob("*.yaml"))
    if not found:
        file.fault(f"there is no specification or playbook (*.yaml) in {entry.path}", key="path")
    return [replace(entry, name=f"{entry.name}/{path.name}", path=path) for path in found]


def _entry(table: dict[str, Any], folder: Path, file: SettingsFile) -> Backlogged:
    amount, path, hand_in = table.get("amount", ""), table.get("path", ""), table.get("hand_in", [])
    texts = {name: table.get(name, "") for name in ("name", "path", "category", "amount", "currency")}
    numbers = {name: table.get(name, 1) for name in ("hours", "times")}
    right = all(isinstance(one, str) for one in [*texts.values(), *(hand_in if isinstance(hand_in, list) else [0])])
    if not (right and path and table.get("category")) or not all(
        type(one) is int and 1 <= one <= 2_160 for one in numbers.values()
    ):
        file.fault("an entry of the backlog has path, category and amount; hours and times from 1", key="backlog")
        return Backlogged(name="", path=folder, category="", amount_micro=0)
    amount_micro = _micro(amount, file)
    if not (folder / path).exists():
        file.fault(f"there is no specification {folder / path}", key="path")
    return Backlogged(
        name=table.get("name", path),
        path=folder / path,
        category=table["category"],
        amount_micro=amount_micro,
        currency=table.get("currency", "AID"),
        hand_in=tuple(hand_in),
        work_s=table.get("hours", 24) * 3_600,
        times=table.get("times", 1),
    )


def init_agent(folder: Path) -> list[Path]:
    """Make the files in a new or empty folder. Raises `Refused`: `validation` for a name that is no handle, and
    `agent_folder_taken` where something lies there."""
    agent_folder(folder.parent, folder.name)
    if folder.exists() and any(folder.iterdir()):
        raise Refused("agent_folder_taken", f"{folder} is not empty")
    made = []
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        template = files("earnest.app").joinpath("agent_template", f"{name}.template").read_text(encoding="utf-8")
        path.write_text(template.replace("NAME", folder.name), encoding="utf-8")
        made.append(path)
    return made
