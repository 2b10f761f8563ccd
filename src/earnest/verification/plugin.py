"""The protocol of a check: what it is given and what it answers. Entry point group `earnest.checks`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

from earnest.contracts.criterion import Criterion
from earnest.contracts.node import Node, node_of
from earnest.contracts.reader import NodeReader
from earnest.effects.ground.clock import Chance
from earnest.effects.hands.outside_file import Outside
from earnest.effects.hands.sandbox.api import ExecutionLimits, ExecutionReport, Mount, Sandbox
from earnest.effects.hands.tools.record import ToolRecord
from earnest.effects.hands.workspace.changes import PathEntry
from earnest.effects.hands.workspace.snapshot import Snapshot, SnapshotLimits
from earnest.effects.outside.llm.api import ChatModel
from earnest.effects.outside.probes.api import Probes
from earnest.foundation.canonical import JsonObject
from earnest.verification.reviews.review import Decision, Review
from earnest.verification.verdict import Verdict


class ConfigFault(NamedTuple):
    """What is wrong in a config. `path` is as in `required[0].regex`, empty for the config as a whole."""

    path: str
    message: str


class Weakness(NamedTuple):
    """What somebody should know about a config; `is_grave`: worthless work could pass, so that it is refused."""

    path: str
    message: str
    is_grave: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What the work was done for, in the words of whoever asked for it.

    `origin`: where the work is, a folder or a run. `worker_model`: the model that did it, empty if none or unknown.
    """

    title: str = ""
    text: str = ""
    origin: str = ""
    worker_model: str = ""


class Base(Protocol):
    """What an edit was before the work began: the workspace's content at that moment."""

    @property
    def entries(self) -> Mapping[str, PathEntry]:
        """By path in the workspace, the edit's own name first."""

    def content(self, path: str) -> bytes:
        """The former content of a file that is no longer so. Raises `OSError` if it is not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is judged.

    `base_folder` holds the spec or playbook and the files it names; a submission never sees it. `mounts` are a
    playbook's inputs, read-only. `trusted_workspace` is True for a user's own playbook only. `calls` are the recorded
    tool calls that led to the work. `criteria` are all that it is judged by, not only the one of this check. `bases`
    are what the edits of a run were before it, by name. Nothing that runs is shown what is `hidden`, wherever it lies.
    `outside` looks at the user's own files, for a user's own run.
    """

    snapshot: Snapshot
    base_folder: Path | None = None
    mounts: tuple[Mount, ...] = ()
    trusted_workspace: bool = False
    calls: tuple[ToolRecord, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    promise: Promise = Promise()
    bases: Mapping[str, Base] = field(default_factory=dict)
    limits: SnapshotLimits | None = None
    hidden: tuple[Path, ...] = ()
    outside: Outside | None = None


class Reviews(Protocol):
    """What people have decided, and are asked to decide."""

    async def find(self, review_id: str, /) -> Decision | None:
        """The decision of a review, or None as long as nobody has decided."""

    async def ask(self, verdict: Verdict, /) -> None:
        """Put the reviews of a verdict where people see them, with its other answers as advice; known ones stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """Who decides what no machine can. None: there is nobody of that sort.

    `chance` makes delimiters that the work cannot guess. `may_judge_itself`: the operator lets a model judge work of
    the same model.
    """

    model: ChatModel | None = None
    reviews: Reviews | None = None
    chance: Chance | None = None
    may_judge_itself: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTools:
    """What a check acts with; it reaches for nothing else.

    `seed` is the only source of chance: the same for the same check and the same work, so that a replay is the same.
    `probes` measure the world as the operator set them up; None if there are none. `criterion` is what is decided.
    """

    sandbox: Sandbox
    limits: ExecutionLimits
    criterion: Criterion
    judges: Judges = Judges()
    seed: int = 0
    probes: Probes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a check found: not yet a verdict.

    `passed`: True only for a positive result of its own, False for a measured failure, None if the evidence does not
    tell. `reason` is one line for people and shows nothing that the submission must not see. `reports` are *all*
    executions that took place. `evidence` names what was looked at. `contradiction`: an assertion was measured to be
    false. `flags`: what a person should look at. `measured`: numbers, words and truth values by name, with which
    assertions of the submission are compared. `review`: the question that waits for a person. `cannot_run`: the check
    itself could not be run, whatever the work is like, and will not be by another attempt.
    """

    passed: bool | None
    reason: str
    reports: tuple[ExecutionReport, ...] = ()
    evidence: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    contradiction: bool = False
    measured: Mapping[str, bool | int | float | str] = field(default_factory=dict)
    review: Review | None = None
    cannot_run: bool = False


class Check(Protocol):
    """One kind of check. An object without state: every call may come from several tasks at once."""

    @property
    def kind(self) -> str:
        """A slug, equal to the name of the entry point."""

    @property
    def version(self) -> int:
        """Goes up whenever the same config and the same work could be answered differently."""

    @property
    def runs_code(self) -> bool:
        """True if `run` executes anything in the sandbox: `limits` may be given, and its self-test must be green."""

    def config_faults(self, config: JsonObject, base_folder: Path | None, /) -> Sequence[ConfigFault]:
        """Everything wrong with a config. Never raises. Files it names are looked for if `base_folder` is given."""

    async def run(self, config: JsonObject, subject: Subject, tools: CheckTools, /) -> Findings:
        """Measure. Called with a config without faults. Whatever it raises becomes an unclear answer."""


_Config = TypeVar("_Config")
Measure = Callable[[_Config, Subject, CheckTools], Awaitable[Findings]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredCheck(Generic[_Config]):
    """A `Check` of two functions: `read` makes a value of the config, `measure` goes by it.

    `reproducible`: see `is_reproducible`; `lint`: see `lint_faults`.
    """

    kind: str
    version: int
    read: Callable[[NodeReader, Node, Path | None], _Config]
    measure: Measure[_Config]
    runs_code: bool = False
    reproducible: bool = True
    lint: Callable[[_Config, Path | None], Sequence[Weakness]] = lambda *_: ()

    def config_faults(self, config: JsonObject, base_folder: Path | None) -> Sequence[ConfigFault]:
        """See `Check`."""
        reader = NodeReader()
        self.read(reader, node_of(config), base_folder)
        return [ConfigFault(fault.path, fault.message) for fault in reader.faults]

    def lint_faults(self, config: JsonObject, base_folder: Path | None) -> Sequence[Weakness]:
        """See the function of this name."""
        return self.lint(self.read(NodeReader(), node_of(config), None), base_folder)

    async def run(self, config: JsonObject, subject: Subject, tools: CheckTools) -> Findings:
        """See `Check`."""
        return await self.measure(self.read(NodeReader(), node_of(config), None), subject, tools)


def looking(look: Callable[[_Config, Subject], Findings]) -> Measure[_Config]:
    """How a check measures that only looks at files: in a thread."""

    async def measure(wanted: _Config, subject: Subject, _tools: CheckTools) -> Findings:
        return await asyncio.to_thread(look, wanted, subject)

    return measure


def lint_faults(check: Check, config: JsonObject, base_folder: Path | None) -> Sequence[Weakness]:
    """Why worthless work could pass, from a check with a `lint_faults` of its own; the config has no fault."""
    own: Callable[[JsonObject, Path | None], Sequence[Weakness]] | None = getattr(check, "lint_faults", None)
    return own(config, base_folder) if own else ()


def is_reproducible(check: Check) -> bool:
    """False for a check that says `reproducible = False`: it asks a model, a person or the world.

    Nobody can expect such a check to answer the same tomorrow, so it is neither tried on junk nor replayed.
    """
    return getattr(check, "reproducible", True) is not False
