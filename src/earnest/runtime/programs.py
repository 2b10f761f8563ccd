"""The programs that users may name as executors, and the minds of a run that one works."""

import shlex
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from earnest.contracts.spec import VerificationSpec
from earnest.effects.hands.tools.record import ToolCall
from earnest.effects.hands.tools.task_folder import PROGRAM
from earnest.effects.hands.tools.toolbox import TIMEOUT_MS_MAX
from earnest.engine.messages import Budget
from earnest.engine.program import ProgramExecutor, SpecPerceiver, SpecPlanner
from earnest.foundation.errors import Diagnostic, Faulty
from earnest.runtime.minds import Minds

PROGRAM_REPLANS: Final = 1
"""Each round starts the program up to three times."""


def command_of(executor: str) -> str:
    """The command line that a preset's name stands for, or its own; the program is seen from where the user stands.

    Raises `Faulty` if it names no program, or its quotes do not match.
    """
    presets = tomllib.loads((files("earnest.runtime") / "executors.toml").read_text(encoding="utf-8"))
    try:
        words = shlex.split(str(presets.get(executor.strip(), executor)))
    except ValueError as error:
        raise Faulty([Diagnostic(source="--executor", line=0, message=f"{error}: {executor}")]) from None
    if not words:
        raise Faulty([Diagnostic(source="--executor", line=0, message="names no program")])
    program, *rest = words
    return shlex.join([str(Path(program).absolute()) if "/" in program else program, *rest])


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOrder:
    """A program that does the work. `sandbox`: where commands run, instead of as the user."""

    command: str
    sandbox: bool = False

    def starts(self, call: ToolCall) -> bool:
        """True if the call does nothing but start it."""
        asked = (call.args.get("command"), call.args.get("sandbox", False))
        return call.tool == PROGRAM and asked == (self.command, self.sandbox)

    def executor(self, budget: Budget, *, network: bool) -> ProgramExecutor:
        """The mind that starts it, for at most as long as the run may take."""
        timeout_ms = min(budget.time_ms, TIMEOUT_MS_MAX)
        return ProgramExecutor(self.command, timeout_ms, sandbox=self.sandbox, network=network)


def program_minds(spec: VerificationSpec, executor: ProgramExecutor, program: ProgramOrder) -> Minds:
    """They follow the spec, ask no model, and have the program do the work."""
    from earnest.engine.model.perceiver import task_class_of  # noqa: PLC0415 - no playbook needs it

    return Minds(
        perceiver=SpecPerceiver(task_class_of(spec.title, spec.text)),
        planner=SpecPlanner(spec, Path(shlex.split(program.command)[0]).name),
        executor=executor,
    )
