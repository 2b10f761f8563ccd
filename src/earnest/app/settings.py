"""What an operator can set: from the environment, then `settings.toml` in the data directory, then the defaults."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from earnest.app import places
from earnest.app.judging_settings import FILE_NAME, JudgingSettings, books_at, judging_parts
from earnest.app.mail_settings import MailSettings, read_mail
from earnest.app.mcp import read_servers
from earnest.app.model_settings import ModelSettings, read_models
from earnest.app.places import home_of
from earnest.app.server_settings import ServerSettings
from earnest.app.tables import Fault, SettingsFile, hint, over, read_table
from earnest.effects.ground.kv.place import KeyValuePlace, LevelDbFolder, ServerRows
from earnest.effects.ground.storage.place import Books
from earnest.effects.ground.storage.place import home_of as books_home
from earnest.effects.hands.mcp.api import ServerSpec
from earnest.effects.outside.web.searching import SearchEngine
from earnest.engine.gradient.constants import Constants, SolverSignal, Tuning
from earnest.foundation.bounds import Fitting
from earnest.foundation.errors import Faulty
from earnest.foundation.names import is_slug
from earnest.market.terms import BPS, MICRO, OWN, SMALL_MICRO_MAX, CurrencyTerms, Terms

SOLVER: Final = "solver"
TASKS: Final = "tasks"
TUNABLE: Final = ("rho", "time_s")
CURRENCIES: Final = "currencies"
NOTHING: Final[Mapping[str, str]] = {}
_PENALTY: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?", re.ASCII)
SEARCH_KEY: Final = "EARNEST_SEARCH_API_KEY"
_TEXT: Final = Fitting(lambda text: len(text) <= 1_000, "a text")


class MemoryStore(StrEnum):
    """What keeps memory."""

    LMDB = "lmdb"
    LEVELDB = "leveldb"
    POSTGRESQL = "postgresql"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """The table `[memory]`."""

    store: Annotated[MemoryStore | None, Fitting(lambda _: True, f"one of {', '.join(MemoryStore)}")] = None
    """What keeps memory; None: what goes with the books."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """The table `[web]`. `search` and `fetch`: the tool needs no further leave."""

    search: bool = False
    fetch: bool = False
    engine: SearchEngine = SearchEngine.DUCKDUCKGO
    api_key: Annotated[str, _TEXT] = field(default="", repr=False)
    cx: Annotated[str, _TEXT] = ""
    """Google's number of the search engine to be used."""

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """What does not go together, each in words and with its key."""
        if self.engine is not SearchEngine.DUCKDUCKGO and not (self.api_key.isascii() and self.api_key.isprintable()):
            yield f"api_key ({SEARCH_KEY}) must be printable ASCII", "engine"
        if self.engine is not SearchEngine.DUCKDUCKGO and not self.api_key:
            yield f"the engine {self.engine} needs api_key ({SEARCH_KEY})", "engine"
        if self.engine is SearchEngine.GOOGLE and not self.cx:
            yield "the engine google needs cx", "engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(JudgingSettings):
    """Every setting, documented in docs/settings.md."""

    memory_store: MemoryStore | None = None
    """What keeps memory; None: what goes with the books. Table `[memory]` of the file, or `EARNEST_MEMORY`."""
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

    @property
    def memory(self) -> KeyValuePlace:
        """Where memory lies."""
        return memory_place(self.memory_store, self.books)


PER_RUN: Final = frozenset({"time_budget_ms", "max_replans", "tolerance"})
"""Constants that a task sets for itself, or nobody does."""
CONSTANTS: Final = {
    constant.name.rstrip("_"): constant.name for constant in fields(Constants) if constant.name not in PER_RUN
}
"""The fields of `Constants` that can be set, by their names in the file."""


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings in force. Raises `Faulty` with everything that is wrong in the file and the environment."""
    home = home_of(environment)
    source = SettingsFile(home / FILE_NAME)

    def table(name: str) -> object:
        return source.values.get(name, {})

    constants, tuning = _constants(source), _tuning(source)
    given = judging_parts(source, environment)
    settings = Settings(
        home=home,
        solver=constants,
        tuning=tuning,
        memory_store=read_memory(source, environment, books_at(given["database"], home)),
        models=read_models(table("models"), environment, source.fault, source.faults),
        web=read_web(table("web"), environment, source.fault),
        mail=read_mail(table("mail"), environment, source.fault),
        server=read_table(table("server"), ServerSettings(), "server", source.fault),
        market=read_terms(table("market"), source.fault, environment),
        mcp_servers=read_servers(home, environment, source.faults),
        **given,
    )
    if source.faults:
        raise Faulty(source.faults)
    return settings


def read_web(given: object, environment: Mapping[str, str], fault: Fault) -> WebSettings:
    """The table `[web]`, over whose `api_key` the environment wins."""
    web = read_table(over(given, WebSettings, {"api_key": SEARCH_KEY}, environment), WebSettings(), "web", fault)
    return replace(web, api_key=web.api_key.strip(), cx=web.cx.strip())


def read_terms(table: object, fault: Fault, environment: Mapping[str, str] = NOTHING) -> Terms:
    """The table `[market]`; what it leaves out is as the rulings have it. What is wrong in it goes to `fault`.

    `PROPOSER_REJECT_PENALTY` and `TASK_FAIL_PENALTY` of the environment come first, as in the seed: an amount of ai$
    such as `2.5`, a share of the reward such as `10%`, or `0` for no penalty.
    """
    terms = read_table(table, Terms(), "market", fault, beside=(CURRENCIES,))
    penalties = _penalty("TASK_FAIL_PENALTY", "fail_penalty", environment, fault)
    penalties |= _penalty("PROPOSER_REJECT_PENALTY", "proposer_penalty", environment, fault)
    return replace(
        terms,
        currencies=_currencies(table.get(CURRENCIES, {}) if isinstance(table, dict) else {}, terms.currencies, fault),
        **penalties,
    )


def _penalty(variable: str, prefix: str, environment: Mapping[str, str], fault: Fault) -> dict[str, Any]:
    """What a variable sets: the amount or the share, and the other to nothing. Unset or empty, it sets neither."""
    text = environment.get(variable, "").strip()
    if not text:
        return {}
    is_share, number = text.endswith("%"), text.removesuffix("%").strip()
    whole = _PENALTY.fullmatch(number)
    value = Decimal(number) * (BPS // 100 if is_share else MICRO) if whole else Decimal(-1)
    most = BPS if is_share else SMALL_MICRO_MAX
    if not 0 <= value <= most or value != int(value):
        fault(
            f"{variable} is {text[:40]!r}: it must be an amount of ai$ such as 2.5, a share such as 10%, or 0", variable
        )
        return {}
    amount, share = (0, int(value)) if is_share else (int(value), 0)
    return {f"{prefix}_aid_micro": amount, f"{prefix}_bps": share}


def _currencies(table: object, defaults: Mapping[str, CurrencyTerms], fault: Fault) -> Mapping[str, CurrencyTerms]:
    if not isinstance(table, dict):
        fault(f"[market] {CURRENCIES} must be tables, [market.{CURRENCIES}.CODE]", CURRENCIES)
        return defaults
    found = dict(defaults)
    for code, given in table.items():
        place = f"market.{CURRENCIES}.{code}"
        at_place = partial(_fault_at, fault, place)
        if code not in defaults:
            at_place(f"[{place}] there is no such currency; {hint(code, defaults)}")
        else:
            found[code] = read_table(given, defaults[code], place, at_place)
            if code == OWN and found[code].can_pay_out:
                at_place(f"[{place}] can_pay_out must be false: ai$ neither come from outside nor leave")
    return found


def _fault_at(fault: Fault, place: str, words: str, _key: str = "") -> None:
    """A fault of one currency stands at its table: its keys are those of other currencies too."""
    fault(words, place)


def read_memory(file: SettingsFile, environment: Mapping[str, str], books: Books) -> MemoryStore | None:
    """The store that is set; None: the one that goes with the books. What is wrong is noted in `file`."""
    table = over(file.values.get("memory", {}), MemorySettings, {"store": "EARNEST_MEMORY"}, environment)
    store = read_table(table, MemorySettings(), "memory", file.fault).store
    if store is MemoryStore.POSTGRESQL and isinstance(books, Path):
        file.fault(f"[memory] store is {store}: that goes with books on a server, EARNEST_DATABASE", "store")
    return store


def memory_place(store: MemoryStore | None, books: Books) -> KeyValuePlace:
    """Where memory lies: with books on a server there, else as LMDB in the data directory, unless another is set."""
    if not isinstance(books, Path) and store in {None, MemoryStore.POSTGRESQL}:
        return ServerRows(books.address)
    folder = places.memory(books_home(books))
    return LevelDbFolder(folder) if store is MemoryStore.LEVELDB else folder


def _constants(file: SettingsFile) -> Constants:
    given = file.values.get(SOLVER, {})
    if not isinstance(given, dict):
        file.fault("solver must be a table, [solver]", key=SOLVER)
        return Constants()
    good: dict[str, Any] = {}
    for name, value in given.items():
        if name == TASKS:
            continue
        if name not in CONSTANTS:
            file.fault(f"[solver] has no constant {name!r}; {hint(name, tuple(CONSTANTS))}", key=name)
        elif name == "signal":
            if value in list(SolverSignal):
                good[name] = SolverSignal(value)
            else:
                file.fault(f"[solver] signal is {value!r}: it must be one of {', '.join(SolverSignal)}", key=name)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            file.fault(f"[solver] {name} is {value!r}: it must be a number", key=name)
        else:
            good[CONSTANTS[name]] = value
    constants = Constants(**good)
    for fault in constants.faults():
        file.fault(f"[solver] {fault}", key=fault.partition(" ")[0].rstrip("_"))
    return constants


def _tuning(file: SettingsFile) -> dict[str, Tuning]:
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
