"""The plan in a model's answer. Ids are ours, checks are looked at, what is kept comes from the plan before."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from earnest.contracts.criterion import (
    CRITERION_CHARACTERS_MAX,
    CheckFaults,
    CheckSpec,
    Criterion,
    Mode,
    read_criteria,
)
from earnest.contracts.never import joined
from earnest.contracts.node import Node, node_of
from earnest.contracts.playbook import INTENT_CHARACTERS_MAX
from earnest.contracts.reader import NodeReader
from earnest.engine.gradient.blocking import Target
from earnest.engine.messages import PlannedSubTask, PlanReady
from earnest.engine.model.prompting import closed
from earnest.engine.ports import PlanningContext
from earnest.foundation.canonical import JsonObject
from earnest.memory.megram import tool_of
from earnest.memory.potential import Advice

SUBTASKS_MAX: Final = 20
CRITERIA_MAX: Final = 10
CONTEXT_CHARACTERS_MAX: Final = 8_000
USES_MAX: Final = 20
TARGET_CHARACTERS_MAX: Final = 4_000
CHECK_KINDS: Final = frozenset(
    {"files", "json_schema", "json_list", "md_table", "stdout", "command", "unit_tests", "diff", "outside"}
)
"""What a model may decide criteria by. The others ask people, the judge or the operator's probes."""

_SAID: Final = frozenset({"text", "mode", "check"})
_CRITERIA: Final[JsonObject] = {
    "type": "array",
    "minItems": 1,
    "maxItems": CRITERIA_MAX,
    "items": closed(
        {
            "text": {"type": "string", "maxLength": CRITERION_CHARACTERS_MAX},
            "mode": {"type": "string", "enum": [mode.value for mode in Mode]},
            "check": {
                "anyOf": [
                    {"type": "null"},
                    {"type": "object", "properties": {"kind": {"enum": sorted(CHECK_KINDS)}}, "required": ["kind"]},
                ]
            },
        },
        ["text"],
    ),
}
_USE: Final = closed(
    {
        "tool": {"type": "string", "maxLength": 128},
        "target": {"type": "string", "maxLength": TARGET_CHARACTERS_MAX},
    },
    ["tool"],
)
_SUBTASK: Final = closed(
    {
        "sequence": {"type": "integer", "minimum": 1, "maximum": SUBTASKS_MAX},
        "intent": {"type": "string", "maxLength": INTENT_CHARACTERS_MAX},
        "context": {"type": "string", "maxLength": CONTEXT_CHARACTERS_MAX},
        "criteria": _CRITERIA,
        "uses": {"type": "array", "maxItems": USES_MAX, "items": _USE},
        "keep": {"type": ["string", "null"]},
    }
)
PLAN_SCHEMA: Final = closed(
    {
        "task_criteria": _CRITERIA,
        "subtasks": {"type": "array", "minItems": 1, "maxItems": SUBTASKS_MAX, "items": _SUBTASK},
        "rules": {"type": "array", "items": {"type": "string"}},
        "impossible": {"type": ["object", "null"]},  # see `claim_of`
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReader:
    """Reads an answer as the plan for `context`. New subtasks are numbered from `first_number`."""

    context: PlanningContext
    first_number: int
    check_faults: CheckFaults
    standing: Sequence[Criterion] = ()
    """The user's own criteria of the task: no plan is without them."""

    def plan(self, answer: JsonObject) -> PlanReady:
        """The plan, without rules and alternatives. Raises `Faulty` with every fault that is found.

        Once given, the task criteria stand: whoever misses a goal does not move it, unless the user has said something.
        """
        reader = NodeReader()
        previous = self.context.previous
        required, optional = ["subtasks"], ["rules", "impossible"]
        (required if previous is None else optional).append("task_criteria")
        root = reader.mapping(node_of(answer), required=required, optional=optional)
        stands = previous.task_criteria if previous else ()
        if previous is None or (self.context.may_move_goal and root.get("task_criteria") is not None):
            stands = self._criteria(reader, root.get("task_criteria"))
        task_criteria = joined(stands, self.standing)
        nodes = reader.items(root.get("subtasks"), at_least=1, at_most=SUBTASKS_MAX)
        reader.unique(((node, str(_keep(node))) for node in nodes if _keep(node)), "kept subtask")
        subtasks = tuple(
            self._subtask(reader, node, f"s{number}") for number, node in enumerate(nodes, start=self.first_number)
        )
        if len(subtasks) == 1 and subtasks[0].id not in self.context.matched:
            subtasks = (_with_criteria(subtasks[0], task_criteria),)
        carried = self._carried(subtasks)
        if nodes and len(carried) == len(subtasks):
            reader.fault(node_of(answer), "every subtask is kept and has matched, so nothing would change")
        reader.raise_found("plan")
        return PlanReady(round=self.context.round, task_criteria=task_criteria, subtasks=subtasks, carried=carried)

    def _subtask(self, reader: NodeReader, node: Node, new_id: str) -> PlannedSubTask:
        kept = _keep(node)
        if kept is not None:
            before = self.context.previous.subtasks if self.context.previous else ()
            found = next((subtask for subtask in before if subtask.id == kept), None)
            if found is None:
                reader.fault(node, f"keeps {kept!r}, which is no subtask of the last plan")
            return found or PlannedSubTask(id=new_id, sequence=1, intent="", criteria=())
        entries = reader.mapping(
            node, required=("intent", "criteria"), optional=("sequence", "context", "uses", "keep")
        )
        for use in reader.items(entries.get("uses"), at_most=USES_MAX):
            self._look_at_use(reader, use)
        return PlannedSubTask(
            id=new_id,
            sequence=reader.integer(entries.get("sequence"), low=1, high=SUBTASKS_MAX, default=1),
            intent=reader.text(entries.get("intent"), at_most=INTENT_CHARACTERS_MAX),
            criteria=self._criteria(reader, entries.get("criteria")),
            context=reader.text(entries.get("context"), at_most=CONTEXT_CHARACTERS_MAX, empty=True),
        )

    def _criteria(self, reader: NodeReader, node: Node | None) -> tuple[Criterion, ...]:
        """C1, C2, …, all of them required: whoever plans the work does not say what of it counts."""
        items = reader.items(node, at_least=1, at_most=CRITERIA_MAX)
        return read_criteria(reader, map(_bare, items), self._faults_of_check)

    def _faults_of_check(self, check: CheckSpec) -> Iterator[tuple[str, str]]:
        if check.kind not in CHECK_KINDS:
            yield "kind", f"{check.kind!r} is not one of {', '.join(sorted(CHECK_KINDS))}"
        else:
            yield from self.check_faults(check)

    def _look_at_use(self, reader: NodeReader, node: Node) -> None:
        """What is blocked stands in no plan; R3 is refused it besides."""
        entries = reader.mapping(node, required=("tool",), optional=("target",))
        tool = reader.text(entries.get("tool"), at_most=128)
        target = reader.text(entries.get("target"), at_most=TARGET_CHARACTERS_MAX, empty=True)
        directive = self.context.directive
        if directive is not None and tool in directive.blocked_tools:
            reader.fault(node, f"uses the blocked tool {tool}")
        if tool in self._avoided and not self.context.objections:
            reader.fault(node, f"uses {tool}, which went badly before: plan without it, unless nothing else is left")
        if directive is not None and Target(tool=tool, target=target) in directive.blocked_targets:
            reader.fault(node, f"uses the blocked target {target} of {tool}")

    @property
    def _avoided(self) -> frozenset[str]:
        """Tools that went badly, as memory has it; as with a playbook, one is used only if nothing else is left."""
        avoided = (one.tag for one in self.context.recollections if one.action is Advice.AVOID)
        return frozenset(tool for tag in avoided if (tool := tool_of(tag.space)))

    def _carried(self, subtasks: Sequence[PlannedSubTask]) -> tuple[str, ...]:
        """What matched, stays, and has nothing before it that changes or goes."""
        stays = {subtask.id for subtask in subtasks} & self.context.matched
        before = self.context.previous.subtasks if self.context.previous else ()
        changes = [subtask.sequence for subtask in (*subtasks, *before) if subtask.id not in stays]
        first_change = min(changes, default=None)
        return tuple(
            subtask.id
            for subtask in subtasks
            if subtask.id in stays and (first_change is None or subtask.sequence <= first_change)
        )


def _with_criteria(subtask: PlannedSubTask, task_criteria: Sequence[Criterion]) -> PlannedSubTask:
    """The only subtask keeps the task's criteria too: who works it is shown them, and they are asked about once."""
    own = [(criterion.text, criterion.check) for criterion in subtask.criteria]
    more = [criterion for criterion in task_criteria if (criterion.text, criterion.check) not in own]
    known = len(subtask.criteria)
    added = (replace(criterion, id=f"C{number}") for number, criterion in enumerate(more, start=known + 1))
    return replace(subtask, criteria=(*subtask.criteria, *added))


def _keep(node: Node) -> str | None:
    """The id that an entry keeps; None for a new subtask."""
    keep = node.value.get("keep") if isinstance(node.value, Mapping) else None
    return keep.value if keep is not None and isinstance(keep.value, str) and keep.value else None


def _bare(criterion: Node) -> Node:
    """Only what a model may say of a criterion; `null` stands for nothing."""
    if not isinstance(criterion.value, Mapping):
        return criterion
    given = {key: node for key, node in criterion.value.items() if key in _SAID and node.value is not None}
    return replace(criterion, value=given)


def named_rules(answer: JsonObject, known: Collection[str]) -> tuple[str, ...]:
    """The names of rules that the planner says it follows; what it makes up is dropped."""
    named = answer.get("rules")
    words = named if isinstance(named, Sequence) and not isinstance(named, str) else ()
    return tuple(name for name in known if name in words)
