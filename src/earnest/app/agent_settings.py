"""What a resident agent is told in its folder, by the file agent.toml."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from earnest.agents.backlog import Backlogged
from earnest.agents.job_files import micro_of
from earnest.agents.state import AgentRole
from earnest.app.command_words import words_of
from earnest.app.judging_settings import SettingsFile
from earnest.foundation.errors import Faulty, Refused

FILE_NAME: Final = "agent.toml"
TIMEOUT_S: Final = 600


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
    """agent.toml. Paths are relative to its folder; `every_s` None: at the pace that the platform advises."""

    role: AgentRole = AgentRole.EXECUTOR
    exec: str = ""
    heartbeat: str = ""
    model: bool = True
    categories: tuple[str, ...] = ()
    currency: str = "AID"
    every_s: int | None = None
    timeout_s: int = TIMEOUT_S
    skills: tuple[Skill, ...] = ()
    backlog: tuple[Backlogged, ...] = ()
    discovery: Searching = Searching()


_WHOLE: Final[Mapping[str, Callable[[Any], bool]]] = {
    "exec": lambda value: isinstance(value, str) and bool(words_of(value)),
    "heartbeat": lambda value: isinstance(value, str) and bool(words_of(value)),
    "role": lambda value: value in list(AgentRole),
    "model": lambda value: isinstance(value, bool),
    "categories": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "currency": lambda value: isinstance(value, str) and re.fullmatch("[A-Z]{3}", value) is not None,
    "every_s": lambda value: type(value) is int and 1 <= value <= 86_400,
    "timeout_s": lambda value: type(value) is int and 1 <= value <= 86_400,
}
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
        elif name not in _WHOLE:
            file.fault(f"{name} is not one of {', '.join([*_WHOLE, 'skills', 'backlog', 'discovery'])}", key=name)
        elif not _WHOLE[name](value):
            file.fault(f"{name} is {value!r}: see docs/resident.md", key=name)
        else:
            given[name] = tuple(value) if name == "categories" else value
    names = [entry.name for entry in given.get("backlog", ())]
    if len(set(names)) != len(names):
        file.fault("two entries of the backlog have one name", key="backlog")
    if file.faults:
        raise Faulty(file.faults)
    settings = AgentSettings(**given)
    return replace(settings, role=AgentRole(settings.role))


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
    try:
        amount_micro = None if amount is None else micro_of(str(amount))
    except Refused as refused:
        file.fault(str(refused), key="amount")
        amount_micro = None
    return Searching(topics=None if topics is None else tuple(topics), amount_micro=amount_micro)


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
    try:
        amount_micro = micro_of(amount)
    except Refused as refused:
        file.fault(str(refused), key="amount")
        amount_micro = 0
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
