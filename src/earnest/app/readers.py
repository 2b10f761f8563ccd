"""What surfaces may ask without taking the data directory: books, memory and verification, beside any writer."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from earnest.app import places
from earnest.app.sandboxes import equipment_for
from earnest.app.settings import Settings, read_settings
from earnest.app.toolboxes import toolbox_for
from earnest.app.verifiers import bare_verifier
from earnest.audit.files import has_log
from earnest.contracts.environment import EnvironmentSpec
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.reader import ReadPool
from earnest.effects.hands.sandbox.equipped import Equipment
from earnest.foundation.errors import Refused
from earnest.memory.megram import Level
from earnest.memory.service import MemoryReader, OpenReader, open_memory_reader
from earnest.memory.thinking import proposal
from earnest.runtime.order import Grants, Order, read_order
from earnest.runtime.task_log import Judgement, LoggedExchange, read_task_log

if TYPE_CHECKING:
    from earnest.runtime.edits.change import RunChange
    from earnest.runtime.edits.outside import EditPart

RULES_READ_MAX = 1_000


def reading_books(settings: Settings) -> contextlib.closing[ReadPool]:
    """The books, read-only. Raises `Refused("no_database")` before the first run."""
    return contextlib.closing(ReadPool.open_reader(settings.books))


def proposed_persona(memory: MemoryReader, now_ms: int) -> str:
    """The persona that memory's rules propose now; empty if none."""
    rules = memory.entries(level=Level.C, limit=RULES_READ_MAX)
    return proposal((rule, memory.query_mk(rule.space, rule.entity, now_ms)) for rule in rules)


def reading_memory(settings: Settings) -> contextlib.closing[OpenReader]:
    """The memory, read-only. Raises `Refused("memory_missing")` before the first run."""
    return contextlib.closing(open_memory_reader(settings.memory))


def audit_log(settings: Settings) -> Path:
    """Where the auditor's log is. Raises `Refused("audit_log_missing")` before the first run."""
    path = places.audit_log(settings.home)
    if not has_log(path):
        raise Refused("audit_log_missing", f"there is no audit log at {path} yet")
    return path


def task_log(settings: Settings, run_id: str) -> Iterator[LoggedExchange | Judgement | None]:
    """What the models of a run were told and answered, in order; None for what cannot be read. Raises `OSError`."""
    from earnest.runtime.task_run import RUNS_FOLDER  # noqa: PLC0415 - loads all that runs need

    return read_task_log(settings.home / RUNS_FOLDER / run_id)


def order_of(
    playbook: Path,
    grants: Grants,
    settings: Settings | None = None,
    inputs: Mapping[str, Path] = MappingProxyType({}),
) -> Order:
    """The order that a playbook makes, by default under the settings in force; nothing is opened. Raises `Faulty`.

    `inputs` take the place of the playbook's own of these names.
    """
    clock = SystemClock()
    settings = settings or read_settings()

    def equip(wanted: EnvironmentSpec | None, folder: Path) -> Equipment | None:
        return equipment_for(wanted, folder, settings)

    return read_order(playbook, toolbox_for(settings, clock), bare_verifier(clock), grants, equip, inputs_given=inputs)


def change_if_any(settings: Settings, run: str) -> "RunChange | None":
    """As `change_of`; None for a run that was given nothing to edit, or whose files were swept."""
    try:
        return change_of(settings, run)
    except Refused as refused:
        if refused.code not in {"no_edits", "files_gone"}:
            raise
        return None


def run_of(settings: Settings, run: str | None) -> str:
    """The id of the run that begins so; by default of the newest one. Raises `Refused`."""
    from earnest.views.runs import find_run, newest_run  # noqa: PLC0415 - loads all that runs need

    with reading_books(settings) as books:
        return books.read_sync(lambda reader: find_run(reader, run) if run else newest_run(reader))


def outside_of(settings: Settings, run_id: str) -> "tuple[tuple[EditPart, ...], tuple[str, ...]]":
    """What a run changed outside the workspace, with leave, and the places of which nothing was kept."""
    from earnest.runtime.edits.change import undo_store  # noqa: PLC0415 - loads all that runs need
    from earnest.runtime.edits.outside import changed_outside  # noqa: PLC0415
    from earnest.runtime.task_run import RUNS_FOLDER  # noqa: PLC0415

    store = undo_store(settings.home / RUNS_FOLDER, run_id)
    if not store.is_dir():
        return (), ()
    with reading_books(settings) as books:
        return books.read_sync(lambda reader: changed_outside(reader, run_id, store))


def change_of(settings: Settings, run: str | None) -> "RunChange":
    """What a run changed in the user's files; by default the newest run. Raises as `read_change`."""
    from earnest.runtime.edits.change import read_change  # noqa: PLC0415 - loads all that runs need
    from earnest.runtime.task_run import RUNS_FOLDER  # noqa: PLC0415

    run_id = run_of(settings, run)
    with reading_books(settings) as books:
        return books.read_sync(lambda reader: read_change(reader, run_id, settings.home / RUNS_FOLDER))
