"""What a resident agent consists of: its platform, its files, its hands, and a mind if there is a model."""

import hashlib
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from earnest.agents.backlog import Backlog
from earnest.agents.book import JsonLinesBook
from earnest.agents.graph import Graph
from earnest.agents.loop import Control, PlainLoop
from earnest.agents.means import Means, WorkOrder, World
from earnest.agents.state import AgentRole
from earnest.app.agent_settings import AgentSettings
from earnest.app.command_words import words_of
from earnest.app.heartbeating import PATIENCE, environment_for
from earnest.client.client import AsyncClient
from earnest.client.credentials import Credentials, agent_folder
from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.ground.storage.lock import writer_lock
from earnest.foundation.errors import Refused
from earnest.runtime.agents.health import FILE_NAME, ResidentHealth
from earnest.runtime.agents.parts import Reporting, Skilled, SkilledHands, SolverTeacher
from earnest.runtime.agents.program_hands import ProgramHands
from earnest.runtime.agents.resident import ResidentRunner
from earnest.runtime.heartbeats.command import CommandProgram
from earnest.runtime.heartbeats.contract_file import ContractFile
from earnest.runtime.heartbeats.platform import PlatformOverHttp
from earnest.runtime.heartbeats.program import AgentProgram
from earnest.runtime.heartbeats.runner import HeartbeatRunner
from earnest.runtime.heartbeats.state import RunnerState

if TYPE_CHECKING:
    from earnest.agents.discovery import WebScout
    from earnest.app.settings import Settings
    from earnest.effects.outside.llm.api import ChatModel
    from earnest.runtime.agents.engine_hands import EngineHands
    from earnest.runtime.agents.parts import ModelMind
    from earnest.runtime.order import Order
    from earnest.runtime.remembering import Remembering
    from earnest.runtime.task_run import TaskRuns

VARIABLE: Final = "USE_LANGGRAPH"
RESIDENT: Final = "resident"
"""The folder of an agent's own state, beside that of its heartbeats."""
WORK: Final = "work"
FOUND: Final = "found"
PAGES: Final = "pages"
"""Folders of the agent: specifications of what was found, and the pages that they were made of."""
LOCK: Final = "agent.lock"
CONTRACT: Final = "HEARTBEAT.md"
_ULID_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Residing:
    """Who resides. `agent` is what agent.toml in `folder` says, over which the command line wins.

    `renewed_ms`: see `ResidentRunner`."""

    home: Path
    credentials: Credentials
    agent: AgentSettings
    folder: Path = field(default_factory=Path)
    passes_key: bool = False
    renewed_ms: int | None = None


def with_graph(environment: Mapping[str, str] = os.environ, *, address: str = "") -> bool:
    """Do ticks run on LangGraph? Unless `USE_LANGGRAPH` is 0, and as far as it is installed.

    `address`: the database for its checkpoints, which nothing else could use.
    """
    wanted = environment.get(VARIABLE, "").strip()
    if wanted not in {"", "0", "1"}:
        raise Refused("validation", f"{VARIABLE} is 0 or 1, not {wanted[:80]!r}")
    is_there = find_spec("langgraph") is not None
    if wanted == "1" and not is_there:
        raise Refused("langgraph_missing", f"{VARIABLE}=1, and LangGraph is not installed: install 'earnest[agents]'")
    if address and (wanted == "0" or not is_there or find_spec("langgraph.checkpoint.postgres") is None):
        raise Refused(
            "langgraph_missing",
            f"checkpoints in a database: install 'earnest[agents-postgresql]', without {VARIABLE}=0",
        )
    return is_there and wanted != "0"


@asynccontextmanager
async def opened_resident(residing: Residing) -> AsyncIterator[tuple[ResidentRunner, HeartbeatRunner | None]]:
    """An agent with its files locked, and the runner of its heartbeats if its folder holds a contract.

    Raises `Refused`: `validation`, `data_directory_in_use`, `langgraph_missing`."""
    credentials, agent = residing.credentials, residing.agent
    clock, chance = SystemClock(), SystemChance()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(AsyncClient(credentials.url, credentials.key, patience=PATIENCE))
        handle = credentials.handle or (await client.get_me())["handle"]
        folder = agent_folder(residing.home, handle)
        state = folder / RESIDENT
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        stack.callback(writer_lock(state / LOCK).close)
        book = JsonLinesBook(state)
        backlog = Backlog(agent.backlog, book)
        health = ResidentHealth(role=agent.role.value, path=state / FILE_NAME)
        own = _Own(folder)
        mind = await _mind(stack, agent, own)
        means = Means(
            client=client,
            role=agent.role,
            folder=folder / WORK,
            book=book,
            backlog=backlog,
            hands=_hands(residing, own),
            teacher=SolverTeacher(open_memory=own.memory),
            clock=clock,
            world=World(client),
            mind=mind,
            scout=_scout(agent, mind, backlog, folder=folder, book=book),
            say=health.note,
        )
        control = _control(residing, handle, state, means)
        every_ms = agent.every_s * 1_000 if agent.every_s else None
        resident = ResidentRunner(
            means,
            control,
            health,
            folder=state,
            chance=chance,
            begin=partial(_declare, client, agent),
            every_ms=every_ms,
            renewed_ms=residing.renewed_ms,
        )
        yield resident, _heartbeats(stack, residing, client, folder, book)


def _heartbeats(
    stack: AsyncExitStack, residing: Residing, client: AsyncClient, folder: Path, book: JsonLinesBook
) -> HeartbeatRunner | None:
    contract = residing.folder / CONTRACT
    if not contract.is_file():
        return None
    state = RunnerState(folder)
    stack.callback(state.release)
    program: AgentProgram = Reporting(book=book)
    if residing.agent.heartbeat:
        words = words_of(residing.agent.heartbeat, residing.folder)
        environment = environment_for(residing.credentials, passes_key=False)
        program = CommandProgram(words=words, environment=environment, timeout_s=residing.agent.timeout_s)
    platform, file = PlatformOverHttp(client), ContractFile(contract)
    return HeartbeatRunner(platform, program, state, file, clock=SystemClock(), chance=SystemChance())


def _control(residing: Residing, handle: str, folder: Path, means: Means) -> Control:
    address = residing.agent.checkpoints
    if with_graph(address=address):
        return Graph(folder, means, address=address, thread=f"{residing.credentials.url} {handle}")
    return PlainLoop(folder, means)


async def _declare(client: AsyncClient, agent: AgentSettings) -> None:
    """Declare the categories of agent.toml, so that the home shows jobs that fit; one claim at a time in each."""
    if not (agent.categories and agent.role.executes):
        return
    me = (await client.get_me())["id"]
    known = {(one["category"], one["currency"]) for one in (await client.list_capabilities())["data"]}
    for category in agent.categories:
        if (category, agent.currency) not in known:
            digest = hashlib.sha256(f"{me} {category} {agent.currency}".encode()).digest()[:25]
            able = "cap_0" + "".join(_ULID_LETTERS[byte % 32] for byte in digest)
            await client.put_capability(
                able, category=category, currency=agent.currency, availability={"max_concurrent": 1}
            )


def _hands(residing: Residing, own: "_Own") -> SkilledHands:
    """Skills in their order, then the program of the whole, then the engine with a model, as far as these are there."""
    agent = residing.agent
    environment = environment_for(residing.credentials, passes_key=residing.passes_key)

    def program(command: str) -> ProgramHands:
        return ProgramHands(
            words=words_of(command, residing.folder), environment=environment, timeout_s=agent.timeout_s
        )

    found = [
        Skilled(
            category=skill.category,
            title=skill.title,
            hands=program(skill.command) if skill.playbook is None else own.playbook_hands(skill.playbook),
        )
        for skill in agent.skills
    ]
    if agent.exec:
        found.append(Skilled(category="", title="", hands=program(agent.exec)))
    elif agent.model and own.has_model:
        found.append(Skilled(category="", title="", hands=own.model_hands()))
    return SkilledHands(found)


def _scout(
    agent: AgentSettings, mind: "ModelMind | None", backlog: Backlog, *, folder: Path, book: JsonLinesBook
) -> "WebScout | None":
    """What looks for work on the web for a proposer, as the environment allows it: a model has to read what is found.

    Raises `Refused("validation")` for an allowlist that holds what is no host.
    """
    if mind is None or not agent.role.proposes or not os.environ.get("WEB_SEARCH_ENABLED"):
        return None
    from earnest.agents.discovery import (  # noqa: PLC0415 - loads what speaks to the web
        FIVERR,
        REWARD_MICRO,
        Discovery,
        WebScout,
        read_discovery,
    )
    from earnest.effects.outside.web.fetching import FetchedPage, Web  # noqa: PLC0415

    async def keep(page: FetchedPage) -> None:
        (folder / PAGES).mkdir(mode=0o700, exist_ok=True)
        (folder / PAGES / page.digest.removeprefix("sha256:")).write_bytes(page.body)

    clock, wanted = SystemClock(), agent.discovery
    return WebScout(
        discovery=Discovery(settings=read_discovery(os.environ), web=Web(clock), drafter=mind, keep=keep),
        backlog=backlog,
        book=book,
        folder=folder / FOUND,
        clock=clock,
        topics=FIVERR.topics if wanted.topics is None else wanted.topics,
        amount_micro=REWARD_MICRO if wanted.amount_micro is None else wanted.amount_micro,
    )


async def _mind(stack: AsyncExitStack, agent: AgentSettings, own: "_Own") -> "ModelMind | None":
    if not (agent.model and own.has_model):
        return None
    from earnest.app.models import ModelPool  # noqa: PLC0415 - nobody else needs it
    from earnest.engine.messages import Role as EngineRole  # noqa: PLC0415
    from earnest.runtime.agents.parts import ModelMind  # noqa: PLC0415

    clock, chance = SystemClock(), SystemChance()
    pool = await stack.enter_async_context(ModelPool(own.settings.models, clock=clock, chance=chance))

    async def model() -> "ChatModel":
        return (await pool.of_roles())[EngineRole.R2].model

    return ModelMind(model=model, clock=clock, chance=chance)


class _Own:
    """The agent's own data directory: books and memory of an engine that nobody else writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def settings(self) -> "Settings":
        """The settings in force, with the agent's folder as the data directory."""
        from earnest.app.settings import read_settings  # noqa: PLC0415 - loads all that runs need

        return replace(read_settings(), home=self._folder)

    @property
    def has_model(self) -> bool:
        """Has somebody named an endpoint?"""
        return bool(self.settings.models.base_url)

    @asynccontextmanager
    async def runs(self) -> "AsyncIterator[TaskRuns]":
        """The engine over the agent's books."""
        from earnest.app.platform import open_platform  # noqa: PLC0415 - takes time, and only some agents need it

        async with open_platform(self.settings) as platform:
            yield platform.runs
            await platform.after_run()

    def memory(self) -> "AbstractAsyncContextManager[Remembering]":
        """What hands a word to the solver, without the rest of the engine."""
        from earnest.app.platform import open_remembering  # noqa: PLC0415 - takes time, and only some agents need it

        return open_remembering(self.settings)

    def playbook_hands(self, playbook: Path) -> "EngineHands":
        """The engine with a playbook."""
        from earnest.app.readers import order_of  # noqa: PLC0415
        from earnest.runtime.agents.engine_hands import EngineHands  # noqa: PLC0415
        from earnest.runtime.order import Grants  # noqa: PLC0415

        def order(_: WorkOrder) -> "Order":
            return order_of(playbook, Grants(), self.settings)

        return EngineHands(open_runs=self.runs, order_of=order, approach=playbook.stem)

    def model_hands(self) -> "EngineHands":
        """The engine with a model, told the job in words."""
        from earnest.app.orders import Words  # noqa: PLC0415
        from earnest.runtime.agents.engine_hands import EngineHands, words_for  # noqa: PLC0415
        from earnest.runtime.order import Grants  # noqa: PLC0415

        def order(wanted: WorkOrder) -> "Order":
            return Words(text=words_for(wanted)).order(self.settings.models, Grants())

        return EngineHands(open_runs=self.runs, order_of=order, approach="model")


def role_of(text: str) -> AgentRole:
    """Raises `Refused("validation")` for what is no role."""
    if text not in list(AgentRole):
        raise Refused("validation", f"a role is one of {', '.join(AgentRole)}, not {text[:80]!r}")
    return AgentRole(text)
