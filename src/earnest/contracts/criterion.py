"""A criterion: what must be true for a promise to be kept, and the check that decides it."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from earnest.contracts.node import Node, frozen_object, plain_object
from earnest.contracts.reader import NodeReader
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Diagnostic

CRITERIA_MAX: Final = 50
CRITERION_CHARACTERS_MAX: Final = 2_000
REPEAT_MAX: Final = 10
_BESIDE_CONFIG: Final = frozenset({"kind", "limits", "repeat"})
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class Mode(StrEnum):
    """Verifiable: a machine can measure it. Plausible: somebody has to judge it."""

    VERIFIABLE = "verifiable"
    PLAUSIBLE = "plausible"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSpec:
    """Which check, and how it is set up. `lines` gives the line of each key path of the config, where it is known.

    `repeat` (1 to `REPEAT_MAX`): how often it must pass, for checks whose answer may vary.
    """

    kind: str
    config: JsonObject = field(default_factory=dict)
    limits: JsonObject | None = None
    repeat: int = 1
    line: int = field(default=0, compare=False)
    lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "config", frozen_object(self.config))
        if self.limits is not None:
            object.__setattr__(self, "limits", frozen_object(self.limits))

    def line_of(self, path: str) -> int:
        """The line of a key path of the config (`required[0].regex`) or of its nearest ancestor that has one."""
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines.get(path, self.line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One falsifiable sentence about the result."""

    id: str
    text: str
    mode: Mode = Mode.VERIFIABLE
    check: CheckSpec | None = None
    required: bool = True


CheckFaults: TypeAlias = Callable[[CheckSpec], Iterable[tuple[str, str]]]
"""What is wrong with a check, as (key path, message): the caller knows the check kinds, the parsers do not."""


def no_check_faults(_: CheckSpec) -> Iterable[tuple[str, str]]:
    """Of a parser that leaves checks to somebody else."""
    return ()


def check_diagnostics(check: CheckSpec, faults: Iterable[tuple[str, str]], source: str) -> list[Diagnostic]:
    """The faults of a check with the lines they stand on."""
    return [Diagnostic(source=source, line=check.line_of(path), message=_named(path, text)) for path, text in faults]


def read_criteria(reader: NodeReader, nodes: Iterable[Node], check_faults: CheckFaults) -> tuple[Criterion, ...]:
    """Criteria from a list; ids that are not given are C1, C2, … by position. A plain text is a criterion too."""
    read = [(node, _criterion(reader, node, f"C{at}", check_faults)) for at, node in enumerate(nodes, start=1)]
    reader.unique(((node, criterion.id) for node, criterion in read), "criterion id")
    return tuple(criterion for _, criterion in read)


def _criterion(reader: NodeReader, node: Node, position_id: str, check_faults: CheckFaults) -> Criterion:
    if isinstance(node.value, str):
        return Criterion(id=position_id, text=reader.text(node, at_most=CRITERION_CHARACTERS_MAX))
    entries = reader.mapping(node, required=(), optional=("text", "id", "mode", "check", "required"))
    if entries and "text" not in entries:
        reader.fault(node, f"{'a check without a criterion: ' if 'check' in entries else ''}the key 'text' is missing")
    check = entries.get("check")
    identity = reader.text(entries.get("id"), at_most=64, default=position_id)
    if not _ID.fullmatch(identity):
        reader.fault(entries["id"], f"{identity!r} must be letters, digits, - and _")
    return Criterion(
        id=identity,
        text=reader.text(entries.get("text"), at_most=CRITERION_CHARACTERS_MAX),
        mode=reader.choice(entries.get("mode"), Mode, default=Mode.VERIFIABLE),
        check=_check(reader, check, check_faults) if check is not None else None,
        required=reader.boolean(entries.get("required"), default=True),
    )


def _check(reader: NodeReader, node: Node, check_faults: CheckFaults) -> CheckSpec | None:
    entries = reader.names(node)
    if not isinstance(node.value, Mapping):
        return None
    if "kind" not in entries:
        reader.fault(node, "the key 'kind' is missing")
        return None
    kind = reader.slug(entries["kind"])
    limits = entries.get("limits")
    prefix = len(node.path) + 1
    check = CheckSpec(
        kind=kind,
        config={key: child.json() for key, child in entries.items() if key not in _BESIDE_CONFIG},
        limits=reader.object(limits) if limits is not None else None,
        repeat=reader.integer(entries.get("repeat"), low=1, high=REPEAT_MAX, default=1),
        line=node.line,
        lines={path[prefix:]: line for path, line in node.lines().items() if line},
    )
    if kind:
        for path, message in check_faults(check):
            reader.fault(node, _named(path, message), line=check.line_of(path))
    return check


def _named(path: str, message: str) -> str:
    return f"{path}: {message}" if path and not message.startswith(path) else message


def criterion_to_json(criterion: Criterion) -> dict[str, JsonValue]:
    """The criterion in the form of a playbook or spec."""
    form: dict[str, JsonValue] = {"id": criterion.id, "text": criterion.text, "mode": criterion.mode.value}
    if not criterion.required:
        form["required"] = False
    if criterion.check is not None:
        form["check"] = check_to_json(criterion.check)
    return form


def check_to_json(check: CheckSpec) -> dict[str, JsonValue]:
    """The check in the form of a playbook or spec. Its digest names it."""
    return {
        "kind": check.kind,
        **plain_object(check.config),
        **({} if check.limits is None else {"limits": plain_object(check.limits)}),
        **({} if check.repeat == 1 else {"repeat": check.repeat}),
    }
