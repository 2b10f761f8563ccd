"""What a machine has and lacks for earnest to work here."""

import contextlib
import os
import platform
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

from earnest.app import places
from earnest.app.between import bus_faults
from earnest.app.home_check import DEEP, Check, look, newer_audit_faults
from earnest.app.judging_settings import JudgeSettings
from earnest.app.mcp import described
from earnest.app.model_settings import ModelSettings
from earnest.app.models import CLIENT_MISSING, ModelPool, describe
from earnest.app.readers import reading_books
from earnest.app.sandboxes import open_for
from earnest.app.settings import Settings
from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.ground.storage.driver import SQLITE_VERSION
from earnest.effects.hands.sandbox.kept import fault
from earnest.effects.outside.llm.api import CompletionLimits, Message, MessageRole
from earnest.foundation.errors import EarnestError, Refused
from earnest.runtime.layers import laying
from earnest.verification.registry import Registry

PACKAGES: Final = ("earnest", "click", "lmdb", "pydantic")
FREE_BYTES_MIN: Final = 256 * 1024 * 1024
HELLO: Final = Message(role=MessageRole.USER, text="Answer with the word yes.")
HELLO_LIMITS: Final = CompletionLimits(silence_ms=60_000, deadline_ms=60_000, answer_tokens=256, attempts=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFinding:
    """One thing that was looked at."""

    name: str
    well: bool
    detail: str


async def examine(
    settings: Settings, *, online: bool = False, only_sandbox: bool = False, deep: bool = False
) -> tuple[DoctorFinding, ...]:
    """Look at everything; the sandbox is really attacked. Only `online` is every model asked for a word.

    `deep` reads all that lies in the data directory, else only what is newer in the audit log than `journal verify`.
    """
    if only_sandbox:
        with contextlib.suppress(OSError):  # told with the result
            places.make(settings.home)
        return _findings({"sandbox": await _sandbox(settings)})
    reading: dict[str, Check] = DEEP if deep else {"audit log": newer_audit_faults}
    # Before anything opens the books.
    kept = {name: await look(check, settings.home, settings.books) for name, check in reading.items()}
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    return _findings(
        {
            "python": (True, f"{platform.python_version()} on {platform.platform()}"),
            "packages": (True, f"{versions}, sqlite {SQLITE_VERSION}"),
            "sandbox": await _sandbox(settings),
            "checks": (True, ", ".join(Registry().kinds())),
            "judge": _judge(settings.judge),
            "models": await _models(settings.models, online=online),
            "probes": (True, ", ".join(sorted(settings.probes)) or "none"),
            "web": _web(settings),
            "mcp": _mcp(settings),
            "bus": await bus_faults(settings),
            "data directory": _home(settings),
            "books": _books(settings),
            **kept,
        }
    )


def _findings(found: dict[str, tuple[bool, str]]) -> tuple[DoctorFinding, ...]:
    return tuple(DoctorFinding(name=name, well=well, detail=detail) for name, (well, detail) in found.items())


async def _sandbox(settings: Settings) -> tuple[bool, str]:
    sandbox = await open_for(settings, SystemClock())
    try:
        test = await sandbox.self_test()
        copied = await laying(sandbox)(settings.home) if test.green and settings.home.is_dir() else ""
    finally:
        await sandbox.close()
    held = sum(probe.held for probe in test.probes)
    unkept = fault(settings.home) if settings.home.exists() else ""
    kept = f"this is not kept: {unkept}" if unkept else ""
    copies = f"tool calls copy large workspaces: {copied}" if copied else ""
    detail = f"{test.provider}: held against {held} of {len(test.probes)} attacks"
    return test.green, "; ".join(filter(None, (detail, test.lack, copies, kept))) if test.green else test.reason


def _judge(judge: JudgeSettings) -> tuple[bool, str]:
    """Whether there is a judge; it is not asked. An address may hold a password, so only the host is told."""
    if not judge.model:
        return True, "none: what only a model can judge waits for a person"
    if find_spec("httpx2") is None:
        return False, CLIENT_MISSING
    return True, f"{judge.model} at {urlsplit(judge.base_url).netloc.rpartition('@')[2]}"


async def _models(models: ModelSettings, *, online: bool) -> tuple[bool, str]:
    """Who works for which role, and at what price."""
    described = "; ".join(describe(models))
    if find_spec("httpx2") is None:
        return not models.base_url, f"{described}; {CLIENT_MISSING}"
    if not online:
        return True, described
    try:
        async with ModelPool(models, clock=SystemClock(), chance=SystemChance()) as pool:
            roles = await pool.of_roles()
            for model in {priced.model.endpoint.model: priced.model for priced in roles.values()}.values():
                await model.complete([HELLO], call_id="doctor", limits=HELLO_LIMITS)
    except EarnestError as error:
        return False, f"{described}; {error}"
    return True, f"{described}; all of them answer"


def _web(settings: Settings) -> tuple[bool, str]:
    """What agents may do on the web without further leave; nothing is asked for it."""
    free = [name for name in ("search", "fetch") if getattr(settings.web, name)]
    if find_spec("bs4") is None:
        return not free, "what reads HTML is not installed: install 'earnest[web]'"
    return True, f"{settings.web.engine}; free: {', '.join(free) or 'nothing'}"


def _mcp(settings: Settings) -> tuple[bool, str]:
    """Which servers there are; none is started."""
    if settings.mcp_servers and find_spec("mcp") is None:
        return False, "the client is not installed: install 'earnest[mcp]'"
    return True, described(settings.mcp_servers) or "no servers"


def _home(settings: Settings) -> tuple[bool, str]:
    parent = next(path for path in (settings.home, *settings.home.parents) if path.exists())
    if not os.access(parent, os.W_OK):
        return False, f"{parent} cannot be written"
    free = shutil.disk_usage(parent).free
    return free >= FREE_BYTES_MIN, f"{settings.home}, {free // 2**20} MiB free"


def _books(settings: Settings) -> tuple[bool, str]:
    try:
        with reading_books(settings) as books:
            faults = books.read_sync(lambda reader: reader.faults(whole=False))
    except EarnestError as error:
        is_none = isinstance(error, Refused) and error.code == "no_database"
        return is_none, "not written yet" if is_none else str(error)
    return not faults, "; ".join(faults) or str(settings.books)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
