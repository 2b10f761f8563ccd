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
from earnest.app.sandboxes import open_for
from earnest.app.settings import Settings
from earnest.effects.ground.clock import SystemChance, SystemClock
from earnest.effects.ground.storage.driver import SQLITE_VERSION
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.hands.sandbox.kept import fault
from earnest.effects.outside.llm.api import CompletionLimits, Message, MessageRole
from earnest.foundation.errors import EarnestError, Refused
from earnest.runtime.layers import laying
from earnest.verification.registry import Registry

PACKAGES: Final = ("earnest", "lmdb", "pydantic", "typer")
AUDIT: Final = "audit log"
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
        return (await _sandbox(settings),)
    reading = DEEP if deep else {AUDIT: newer_audit_faults}
    kept = [await _read(name, check, settings) for name, check in reading.items()]  # before anything opens the books
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    return (
        DoctorFinding(name="python", well=True, detail=f"{platform.python_version()} on {platform.platform()}"),
        DoctorFinding(name="packages", well=True, detail=f"{versions}, sqlite {SQLITE_VERSION}"),
        await _sandbox(settings),
        DoctorFinding(name="checks", well=True, detail=", ".join(Registry().kinds())),
        _judge(settings.judge),
        await _models(settings.models, online=online),
        DoctorFinding(name="probes", well=True, detail=", ".join(sorted(settings.probes)) or "none"),
        _web(settings),
        _mcp(settings),
        await _bus(settings),
        _home(settings),
        _books(settings),
        *kept,
    )


async def _read(name: str, check: Check, settings: Settings) -> DoctorFinding:
    well, detail = await look(check, settings.home, settings.books)
    return DoctorFinding(name=name, well=well, detail=detail)


async def _sandbox(settings: Settings) -> DoctorFinding:
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
    return DoctorFinding(
        name="sandbox",
        well=test.green,
        detail="; ".join(filter(None, (detail, test.lack, copies, kept))) if test.green else test.reason,
    )


def _judge(judge: JudgeSettings) -> DoctorFinding:
    """Whether there is a judge; it is not asked. An address may hold a password, so only the host is told."""
    if not judge.model:
        return DoctorFinding(name="judge", well=True, detail="none: what only a model can judge waits for a person")
    if find_spec("httpx2") is None:
        return DoctorFinding(name="judge", well=False, detail=CLIENT_MISSING)
    return DoctorFinding(
        name="judge", well=True, detail=f"{judge.model} at {urlsplit(judge.base_url).netloc.rpartition('@')[2]}"
    )


async def _models(models: ModelSettings, *, online: bool) -> DoctorFinding:
    """Who works for which role, and at what price."""
    described = "; ".join(describe(models))
    if find_spec("httpx2") is None:
        return DoctorFinding(name="models", well=not models.base_url, detail=f"{described}; {CLIENT_MISSING}")
    if not online:
        return DoctorFinding(name="models", well=True, detail=described)
    try:
        async with ModelPool(models, clock=SystemClock(), chance=SystemChance()) as pool:
            roles = await pool.of_roles()
            for model in {priced.model.endpoint.model: priced.model for priced in roles.values()}.values():
                await model.complete([HELLO], call_id="doctor", limits=HELLO_LIMITS)
    except EarnestError as error:
        return DoctorFinding(name="models", well=False, detail=f"{described}; {error}")
    return DoctorFinding(name="models", well=True, detail=f"{described}; all of them answer")


def _web(settings: Settings) -> DoctorFinding:
    """What agents may do on the web without further leave; nothing is asked for it."""
    free = [name for name in ("search", "fetch") if getattr(settings.web, name)]
    if find_spec("bs4") is None:
        detail = "what reads HTML is not installed: install 'earnest[web]'"
        return DoctorFinding(name="web", well=not free, detail=detail)
    return DoctorFinding(name="web", well=True, detail=f"{settings.web.engine}; free: {', '.join(free) or 'nothing'}")


def _mcp(settings: Settings) -> DoctorFinding:
    """Which servers there are; none is started."""
    if settings.mcp_servers and find_spec("mcp") is None:
        return DoctorFinding(name="mcp", well=False, detail="the client is not installed: install 'earnest[mcp]'")
    return DoctorFinding(name="mcp", well=True, detail=described(settings.mcp_servers) or "no servers")


async def _bus(settings: Settings) -> DoctorFinding:
    well, detail = await bus_faults(settings)
    return DoctorFinding(name="bus", well=well, detail=detail)


def _home(settings: Settings) -> DoctorFinding:
    parent = next(path for path in (settings.home, *settings.home.parents) if path.exists())
    if not os.access(parent, os.W_OK):
        return DoctorFinding(name="data directory", well=False, detail=f"{parent} cannot be written")
    free = shutil.disk_usage(parent).free
    detail = f"{settings.home}, {free // 2**20} MiB free"
    return DoctorFinding(name="data directory", well=free >= FREE_BYTES_MIN, detail=detail)


def _books(settings: Settings) -> DoctorFinding:
    try:
        books = ReadPool.open_reader(settings.books)
        try:
            faults = books.read_sync(lambda reader: reader.faults(whole=False))
        finally:
            books.close()
    except EarnestError as error:
        is_none = isinstance(error, Refused) and error.code == "no_database"
        return DoctorFinding(name="books", well=is_none, detail="not written yet" if is_none else str(error))
    return DoctorFinding(name="books", well=not faults, detail="; ".join(faults) or str(settings.books))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
