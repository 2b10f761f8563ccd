"""Tools, targets and approaches that the next plan must leave alone."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from earnest.engine.gradient.constants import Constants
from earnest.engine.gradient.loss import JudgedCriterion, implausibility
from earnest.foundation.failures import FailureClass

_T = TypeVar("_T")

GENERAL_TOOLS: Final = frozenset(
    {"shell", "read_file", "write_file", "edit_file", "apply_patch", "delete", "move", "glob", "search_files", "mdfind"}
)
GENERAL_PROGRAMS: Final = frozenset({
    "sh", "bash", "dash", "zsh", "fish", "ksh", "env", "ed", "ex", "sed", "patch", "vi", "vim", "nano", "emacs",
    "python", "pypy", "node", "deno", "bun", "perl", "ruby", "php", "lua", "Rscript", "java", "cat", "head",
    "tail", "less", "ls", "cd", "pwd", "echo", "printf", "test", "true", "cp", "mv", "rm", "mkdir", "touch",
    "grep", "git", "make",
})  # fmt: skip
"""Shells, editors, interpreters and what any command line is made of; a version at the end of a name does not count."""
_VERSION: Final = re.compile(r"[\d.]+$")

Alternatives: TypeAlias = Mapping[str, tuple[frozenset[str], ...]]
"""For each subtask: the tool identities of every approach that was not tried yet, blocked tools or not.

The present approach is one of them if the subtask was not run. For a planner that is free to combine, one set for each
tool there is.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A tool identity and what it was used on."""

    tool: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptedCall:
    """A tool call of some attempt. `failure` is None if the call succeeded (`ok`) or nobody can tell why it did not.

    `tools` are identities: `read_file`, `shell:python3`; a shell call has one for each program.
    """

    tools: frozenset[str]
    target: str
    ok: bool = True
    failure: FailureClass | None = None

    @property
    def targets(self) -> tuple[Target, ...]:
        """What it was used on, a pair for each of its identities; none if its arguments named nothing."""
        return tuple(Target(tool=tool, target=self.target) for tool in sorted(self.tools)) if self.target else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubTaskTrial:
    """What was tried for a subtask in a round: the calls of all attempts, in order.

    `approach` is None where a plan names none.
    """

    subtask: str
    approach: str | None = None
    calls: tuple[AttemptedCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedApproach:
    """One of the ways to do a subtask."""

    subtask: str
    approach: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """What stands against a plan, the newest first and nothing twice."""

    tools: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    approaches: tuple[TriedApproach, ...] = ()

    def and_before(self, before: "Blocked") -> "Blocked":
        """Both; nothing that stood in either is lost."""
        return Blocked(
            tools=_once((*self.tools, *before.tools)),
            targets=_once((*self.targets, *before.targets)),
            approaches=_once((*self.approaches, *before.approaches)),
        )


def failures_of(judged: Iterable[JudgedCriterion]) -> Mapping[str, list[JudgedCriterion]]:
    """The failed criteria of each failing subtask."""
    failures: dict[str, list[JudgedCriterion]] = {}
    for criterion in judged:
        if criterion.failed and criterion.subtask is not None:
            failures.setdefault(criterion.subtask, []).append(criterion)
    return failures


def passing(judged: Collection[JudgedCriterion]) -> frozenset[str]:
    """The subtasks whose every criterion passed."""
    unmet = {criterion.subtask for criterion in judged if not criterion.passed}
    return frozenset(c.subtask for c in judged if c.subtask is not None and c.subtask not in unmet)


def logically_failing(judged: Collection[JudgedCriterion], constants: Constants) -> frozenset[str]:
    """The subtasks whose own P is over rho: the rule for a round, applied to one subtask."""
    return frozenset(
        subtask
        for subtask, failed in failures_of(judged).items()
        if constants.exceeds(implausibility(failed), constants.rho)
    )


def blame(judged: Collection[JudgedCriterion], trials: Collection[SubTaskTrial], constants: Constants) -> Blocked:
    """What this round alone speaks against.

    Tools: of all attempts of logically failing subtasks, but for general ones, which any approach needs. Targets: of
    calls that failed for environmental reasons in failing subtasks. Approaches: those that failed logically, even the
    last one of a subtask; the run then ends.
    A rejected result of subtasks that all kept their promise blames none of them.
    """
    logical, unmet = logically_failing(judged, constants), failures_of(judged)
    tools = (
        tool
        for trial in trials
        if trial.subtask in logical
        for call in trial.calls
        for tool in sorted(call.tools)
        if not is_general(tool)
    )
    return Blocked(
        tools=_once(tools),
        targets=_once(
            target
            for trial in trials
            if trial.subtask in unmet
            for target in failed_targets(trial, FailureClass.ENVIRONMENTAL)
        ),
        approaches=tuple(
            TriedApproach(subtask=trial.subtask, approach=trial.approach)
            for trial in trials
            if trial.approach is not None and trial.subtask in logical
        ),
    )


def is_general(tool: str) -> bool:
    """True for what works on anything: that a criterion was not met says nothing against it."""
    kind, _, program = tool.partition(":")
    return tool in GENERAL_TOOLS or (kind == "shell" and _VERSION.sub("", program) in GENERAL_PROGRAMS)


def failed_targets(trial: SubTaskTrial, failure: FailureClass) -> Iterator[Target]:
    """What the calls were used on that failed for this reason."""
    return (target for call in trial.calls if call.failure == failure for target in call.targets)


def spare_last(tools: Iterable[str], alternatives: Alternatives) -> tuple[str, ...]:
    """Those tools that can be blocked together, the first ones preferred, in alphabetical order.

    A subtask that has alternatives keeps at least one, so the last usable tool is never blocked.
    """
    blocked: set[str] = set()
    for tool in tools:
        wider = blocked | {tool}
        if all(any(wider.isdisjoint(needs) for needs in ways) for ways in alternatives.values() if ways):
            blocked = wider
    return tuple(sorted(blocked))


def _once(items: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(items))
