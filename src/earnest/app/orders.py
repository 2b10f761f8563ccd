"""What a task in words is made of before it is ordered: what it may read, change and spend, and who works it.

Loads nothing of what works it: a terminal is told what was asked for before that.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from earnest.contracts.playbook import INPUTS_MAX
from earnest.foundation.errors import Diagnostic, Faulty

if TYPE_CHECKING:
    from earnest.app.model_settings import ModelSettings
    from earnest.contracts.spec import VerificationSpec
    from earnest.effects.hands.sandbox.equipped import Equipment
    from earnest.engine.messages import Budget
    from earnest.runtime.order import Grants, RequestOrder

TIME_S: Final = 1_800
"""For a task in words: a model on one's own machine is slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a task in words may take; None leaves all but the time to the settings."""

    tokens: int | None = None
    model_calls: int | None = None
    cost_micro: int | None = None
    time_s: int | None = None

    def over(self, models: "ModelSettings") -> "Budget":
        """These bounds, and those of the settings where there is none."""
        from earnest.engine.messages import Budget  # noqa: PLC0415

        return Budget(
            time_ms=(TIME_S if self.time_s is None else self.time_s) * 1000,
            tokens=models.max_tokens if self.tokens is None else self.tokens,
            model_calls=models.max_calls if self.model_calls is None else self.model_calls,
            cost_micro=models.max_cost_micro if self.cost_micro is None else self.cost_micro,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A task in words. `executor` is the command line of the program that works it, or a preset's name; None: a model.

    `spec` stands with an executor only: what is judged by, and the folder of the files that its checks name.
    """

    text: str
    bounds: Bounds = field(default_factory=Bounds)
    inputs: Mapping[str, Path] = field(default_factory=dict)
    edits: Mapping[str, Path] = field(default_factory=dict)
    executor: str | None = None
    executor_sandbox: bool = False
    never: tuple[str, ...] = ()
    """What must not be touched or done."""
    spec: "tuple[VerificationSpec, Path] | None" = None
    equipment: "Equipment | None" = None
    """What the spec's environment is here."""

    def order(self, models: "ModelSettings", grants: "Grants", *turns: str) -> "RequestOrder":
        """The order, made where the process stands, after these turns of a conversation. Raises `Faulty`."""
        from earnest.contracts.never import joined, never_criteria  # noqa: PLC0415
        from earnest.runtime.order import request_order  # noqa: PLC0415
        from earnest.runtime.programs import PROGRAM_REPLANS, ProgramOrder, command_of  # noqa: PLC0415

        order = request_order(self.text, self.bounds.over(models), Path.cwd(), grants, *turns)
        order = replace(order, inputs=self.inputs, edits=self.edits, never=self._checked_never())
        if self.executor is None:
            return order
        program = ProgramOrder(command=command_of(self.executor), sandbox=self.executor_sandbox)
        if self.spec is None:
            return replace(order, program=program)
        spec, folder = self.spec
        spec = replace(spec, criteria=joined(spec.criteria, never_criteria(self.never)))
        order = replace(order, program=program, spec=spec, folder=folder, replans=PROGRAM_REPLANS)
        return replace(order, equipment=self.equipment)

    def _checked_never(self) -> tuple[str, ...]:
        from earnest.contracts.never import is_place  # noqa: PLC0415
        from earnest.verification.paths import path_fault  # noqa: PLC0415

        for entry in self.never:
            fault = path_fault(entry.rstrip("/")) if is_place(entry) else None
            if fault is None and not is_place(entry) and self.spec is not None:
                fault = f"{entry!r} is no path, and with --spec nobody is there to judge whether it was done"
            if fault is not None:
                raise _faulty("--never", fault)
        return self.never


def named(paths: Iterable[Path], option: str, taken: Collection[str] = ()) -> dict[str, Path]:
    """What `option` names, by its name in the workspace, none of them `taken`. Raises `Faulty`.

    That is the name by which the user knows it: a link's own.
    """
    places: dict[str, Path] = {}
    for path in paths:
        place = path.resolve()
        name = place.name if path.name in {"", ".."} else path.name
        if name in places or name in taken:
            raise _faulty(option, f"{path}: two have this name")
        if not place.exists() or not name.isprintable() or not name:
            raise _faulty(option, f"{path}: there is no such file or folder")
        places[name] = place
    if len(places) > INPUTS_MAX:
        raise _faulty(option, f"at most {INPUTS_MAX} can be named")
    return places


def _faulty(option: str, message: str) -> Faulty:
    return Faulty([Diagnostic(source=option, line=0, message=message)])
