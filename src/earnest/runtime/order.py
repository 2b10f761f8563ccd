"""What a user orders: a playbook or a task in words, what it may read, spend, and touch beyond its workspace."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from earnest.contracts.environment import EnvironmentSpec
from earnest.contracts.playbook import Playbook, playbook_to_json
from earnest.contracts.playbook_reading import parse_playbook, playbook_from_json
from earnest.contracts.spec import VerificationSpec, spec_of_json, spec_to_json
from earnest.contracts.yaml_source import read_yaml
from earnest.effects.hands.sandbox.equipped import Equipment
from earnest.effects.hands.sandbox.private import private_places
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.engine.codec import decode, encode
from earnest.engine.messages import Budget, TaskRequested
from earnest.engine.plan_rules import planned_calls
from earnest.foundation.canonical import JsonObject, digest_of
from earnest.foundation.errors import Broken, Diagnostic, Faulty, Refused
from earnest.foundation.shapes import from_json, to_json
from earnest.foundation.text import head_tail
from earnest.runtime.programs import ProgramOrder
from earnest.runtime.source import text_of
from earnest.verification.service import Verifier

REQUEST_SOURCE: Final = "request"
REQUEST_CHARACTERS_MAX: Final = 20_000
SESSION_TURNS_MAX: Final = 5
TURN_CHARACTERS_MAX: Final = 4_000
REPLANS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """What the operator allowed for this run beyond the workspace. A playbook or a model asks, it does not grant."""

    write: tuple[Path, ...] = ()
    network: bool = False
    approved: tuple[str, ...] = ()
    """Exact actions to which the operator said yes beforehand, each good for once: a command line or a digest."""

    def missing(self, writes: Iterable[Path]) -> tuple[Path, ...]:
        """Those of these resolved paths that lie below nothing that may be written to."""
        allowed = [path.resolve() for path in self.write]
        return tuple(path for path in writes if not any(path.is_relative_to(place) for place in allowed))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookOrder:
    """A playbook to be worked. `folder` is where it lies; `inputs` and `edits` are absolute paths of what exists."""

    playbook: Playbook
    source: str
    folder: Path
    inputs: Mapping[str, Path]
    grants: Grants
    edits: Mapping[str, Path] = field(default_factory=dict)
    equipment: Equipment | None = None
    """What its environment was when it was ordered."""

    @property
    def request(self) -> TaskRequested:
        """The intent, and time alone to spend: no model is asked."""
        return TaskRequested(raw_input=self.playbook.intent, budget=Budget(time_ms=self.playbook.budget.time_s * 1000))

    @property
    def replans(self) -> int:
        """How often another plan may be made."""
        return self.playbook.budget.replans

    @property
    def tools(self) -> frozenset[str] | None:
        """The tools that may be called; None: any."""
        approaches = (approach for subtask in self.playbook.subtasks for approach in subtask.approaches)
        return frozenset(call.tool for approach in approaches for call in planned_calls(approach))

    @property
    def digest(self) -> str:
        """Equal for the same playbook over the same inputs."""
        return digest_of({"playbook": playbook_to_json(self.playbook), **_places(self), **_equipped(self.equipment)})

    def to_json(self) -> JsonObject:
        """The body of `run.started`: all that a later process needs to go on."""
        return {
            "playbook": playbook_to_json(self.playbook),
            "source": self.source,
            **_places(self),
            "grants": to_json(self.grants),
            **_equipped(self.equipment),
            "digest": self.digest,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOrder:
    """A task in words, which models work, or a `program`. `folder` is where the user stands, or where the `spec` lies.

    With a spec its criteria are those of the task, and no model is asked.
    """

    request: TaskRequested
    folder: Path
    grants: Grants
    replans: int = REPLANS
    program: ProgramOrder | None = None
    spec: VerificationSpec | None = None
    inputs: Mapping[str, Path] = field(default_factory=dict)
    edits: Mapping[str, Path] = field(default_factory=dict)
    equipment: Equipment | None = None
    """What the environment of its spec was when it was ordered."""
    after: str = ""
    """The run whose files the workspace begins with; empty: it begins empty."""
    never: tuple[str, ...] = ()
    """What must not be touched or done, as `contracts.never` reads it."""

    @property
    def tools(self) -> frozenset[str] | None:
        """As for a playbook: nobody knows yet what models will call."""
        return None

    @property
    def digest(self) -> str:
        """Equal for the same words after the same turns, in the same folder."""
        return digest_of({"words": [self.request.raw_input, *self.request.session], **_places(self), **self._terms()})

    def _terms(self) -> JsonObject:
        """By whom and what it is worked, and what it begins with."""
        after: JsonObject = {"after": self.after} if self.after else {}
        never: JsonObject = {"never": list(self.never)} if self.never else {}
        program = to_json(self.program) if self.program else None
        spec = spec_to_json(self.spec) if self.spec else None
        return {"program": program, "spec": spec, **_equipped(self.equipment), **after, **never}

    def to_json(self) -> JsonObject:
        """The body of `run.started`, as for a playbook."""
        return {
            "request": encode(self.request),
            "source": REQUEST_SOURCE,
            **_places(self),
            "grants": to_json(self.grants),
            "replans": self.replans,
            **self._terms(),
            "digest": self.digest,
        }


Order: TypeAlias = PlaybookOrder | RequestOrder
Equip: TypeAlias = Callable[[EnvironmentSpec | None, Path], Equipment | None]
"""What the environment of a file in a folder comes to here. Raises `Faulty` for one that is not there."""


def order_from_json(body: JsonObject) -> Order:
    """The order whose `to_json` this is. Raises `Broken` for anything else."""
    match body:
        case {"folder": str(folder), "inputs": dict(inputs), "grants": {"write": _, "network": _} as grants}:
            given: dict[str, Any] = {
                "folder": Path(folder),
                "inputs": from_json(dict[str, Path], inputs, "the inputs of a run"),
                "edits": from_json(dict[str, Path], body.get("edits", {}), "the edits of a run"),
                "grants": from_json(Grants, grants, "what a run was granted"),
                "equipment": Equipment.from_json(body.get("equipment")),
            }
        case _:
            raise Broken("a run's start cannot be read")
    match body:
        case {"playbook": dict(playbook), "source": str(source)}:
            return PlaybookOrder(playbook=playbook_from_json(playbook), source=source, **given)
        case {"request": dict(request), "replans": int(replans)}:
            program, spec = body.get("program"), body.get("spec")
            return RequestOrder(
                request=cast("TaskRequested", decode(TaskRequested.__name__, request)),
                replans=replans,
                program=from_json(ProgramOrder, program, "the program of a run") if program else None,
                spec=spec_of_json(spec, "spec") if isinstance(spec, Mapping) else None,
                after=str(body.get("after", "")),
                never=from_json(tuple[str, ...], body.get("never", []), "what a run must not do"),
                **given,
            )
    raise Broken("a run's start cannot be read")


def _equipped(equipment: Equipment | None) -> JsonObject:
    return {"equipment": equipment.to_json()} if equipment else {}


def _places(order: "Order") -> JsonObject:
    return to_json({"folder": order.folder, "inputs": order.inputs, "edits": order.edits})


def refuse_private(inputs: Iterable[Path], user_home: Path, data_home: Path) -> None:
    """Raise `Refused("input_private")` for the first input, a resolved path, that would show a private place.

    The sandbox masks these places for commands; tools that read in our own process see inputs as they are. Reads the
    file system.
    """
    places = private_places(user_home, (data_home,))
    for source in inputs:
        found = next((place for place in places if place.is_relative_to(source) or source.is_relative_to(place)), None)
        if found is not None:
            raise Refused("input_private", f"{source} would show {found}, which is private: name folders beside it")


def request_order(raw_input: str, budget: Budget, folder: Path, grants: Grants, *session: str) -> RequestOrder:
    """The order that words make, after the newest of the `session`'s turns. Raises `Faulty` for what no task is."""
    words = raw_input.strip()
    faults = []
    if not words:
        faults.append("says nothing")
    if len(words) > REQUEST_CHARACTERS_MAX:
        faults.append(f"is longer than {REQUEST_CHARACTERS_MAX} characters")
    if any("\ud800" <= character <= "\udfff" for character in words):
        faults.append("is no text: its bytes are not UTF-8")
    if faults:
        raise Faulty(Diagnostic(source=REQUEST_SOURCE, line=0, message=fault) for fault in faults)
    turns = tuple(head_tail(turn, TURN_CHARACTERS_MAX) for turn in session[-SESSION_TURNS_MAX:])
    request = TaskRequested(raw_input=words, budget=budget, session=turns)
    return RequestOrder(request=request, folder=folder.absolute(), grants=grants)


def read_order(
    path: Path,
    toolbox: Toolbox,
    verifier: Verifier,
    grants: Grants,
    equip: Equip,
    *,
    inputs_given: Mapping[str, Path],
) -> PlaybookOrder:
    """The order that a playbook file makes; `inputs_given` take the place of those of the same name.

    Raises `Faulty` with every fault, each with file and line.
    """
    source, folder = str(path), path.absolute().parent
    text = text_of(path)
    playbook = parse_playbook(
        text,
        source,
        tools=toolbox,
        tool_faults=toolbox.written_faults,
        check_faults=lambda check: verifier.check_faults(check, folder),
    )
    unknown = [name for name in inputs_given if name not in playbook.inputs]
    if unknown:
        known = ", ".join(playbook.inputs) or "none"
        raise Faulty(
            Diagnostic(source=source, line=0, message=f"has no input {name!r}; it has {known}") for name in unknown
        )
    places = {**playbook.inputs, **{name: str(place.absolute()) for name, place in inputs_given.items()}}
    inputs = {name: (folder / place).resolve() for name, place in places.items()}
    edits = {name: (folder / place).resolve() for name, place in playbook.edits.items()}
    missing = [(f"inputs.{name}", place) for name, place in inputs.items() if not place.exists()]
    missing += [(f"edits.{name}", place) for name, place in edits.items() if not place.exists()]
    if missing:
        lines = read_yaml(text, source).lines()
        raise Faulty(
            Diagnostic(source=source, line=lines.get(at, 0), message=f"no such file or folder: {place}")
            for at, place in missing
        )
    equipment = equip(playbook.environment, folder)
    return PlaybookOrder(
        playbook=playbook,
        source=source,
        folder=folder,
        inputs=inputs,
        grants=grants,
        edits=edits,
        equipment=equipment,
    )
