"""What is a check, what is it given and what does it answer? The contract of the entry point group `earnest.checks`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from earnest.effects.sandbox.api import Limits, Mount, Report, Sandbox
from earnest.effects.tools.record import ToolRecord
from earnest.effects.workspace.snapshot import Snapshot
from earnest.foundation.canonical import JsonObject


class ConfigFault(NamedTuple):
    """What is wrong in a config. `path` is as in `required[0].regex`, empty for the config as a whole."""

    path: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is judged.

    `base_folder` holds the spec or playbook and the files it names; a submission never sees it. `mounts` are a
    playbook's inputs, read-only. `trusted_workspace` is True for a user's own playbook only. `calls` are the recorded
    tool calls that led to the work.
    """

    snapshot: Snapshot
    base_folder: Path | None = None
    mounts: tuple[Mount, ...] = ()
    trusted_workspace: bool = False
    calls: tuple[ToolRecord, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTools:
    """What a check acts with; it reaches for nothing else."""

    sandbox: Sandbox
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a check found: not yet a verdict.

    `passed`: True only for a positive result of its own, False for a measured failure, None if the evidence does not
    tell. `reason` is one line for people and shows nothing that the submission must not see. `reports` are *all*
    executions that took place. `evidence` names what was looked at. `contradiction`: an assertion was measured to be
    false. `flags`: what a person should look at.
    """

    passed: bool | None
    reason: str
    reports: tuple[Report, ...] = ()
    evidence: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    contradiction: bool = False


class Check(Protocol):
    """One kind of check. An object without state: every call may come from several tasks at once."""

    @property
    def kind(self) -> str:
        """A slug, equal to the name of the entry point."""
        ...

    @property
    def version(self) -> int:
        """Goes up whenever the same config and the same work could be answered differently."""
        ...

    @property
    def runs_code(self) -> bool:
        """True if `run` executes anything in the sandbox: `limits` may be given, and its self-test must be green."""
        ...

    def config_faults(self, config: JsonObject, base_folder: Path | None, /) -> Sequence[ConfigFault]:
        """Everything wrong with a config. Never raises. Files it names are looked for if `base_folder` is given."""
        ...

    async def run(self, config: JsonObject, subject: Subject, tools: CheckTools, /) -> Findings:
        """Measure. Called with a config without faults. Whatever it raises becomes an unclear answer."""
        ...
