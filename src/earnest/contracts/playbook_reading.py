"""Reading a playbook, with every fault and its line."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from earnest.contracts.criterion import CRITERIA_MAX, CheckFaults, Criterion, Mode, no_check_faults, read_criteria
from earnest.contracts.environment import read_environment
from earnest.contracts.never import read_never
from earnest.contracts.node import Node, node_of
from earnest.contracts.playbook import (
    BUDGET_S_MAX,
    FORMAT,
    INPUTS_MAX,
    INTENT_CHARACTERS_MAX,
    REPLANS_MAX,
    STEP_S_MAX,
    STEPS_MAX,
    WRITES_MAX,
    Approach,
    Playbook,
    PlaybookBudget,
    Step,
    Subtask,
)
from earnest.contracts.reader import NodeReader
from earnest.contracts.yaml_source import read_yaml
from earnest.foundation.canonical import JsonObject

PATH_CHARACTERS_MAX: Final = 1_024
SUBTASKS_MAX: Final = 200
APPROACHES_MAX: Final = 20
CORRECTIONS_MAX: Final = 2
LOOK_CHARACTERS_MAX: Final = 4_000

ToolFaults: TypeAlias = Callable[[str, JsonObject], Sequence[str]]
"""What is wrong with the arguments of a tool, in words: the caller knows the tools, the parser does not."""


def levels(after: Mapping[str, Sequence[str]], given: Mapping[str, int]) -> dict[str, int]:
    """The level of every name: as `given`, else one more than the highest level it comes after, at least 1.

    Names on a cycle, and those that come after one, are left out. Every name in `after` must be a key of one of both.
    """
    found = dict(given)
    waiting = {name: before for name, before in after.items() if name not in found}
    while True:
        ready = [name for name, before in waiting.items() if all(other in found for other in before)]
        if not ready:
            return found
        for name in ready:
            found[name] = 1 + max((found[other] for other in waiting.pop(name)), default=0)


def cycle(after: Mapping[str, Sequence[str]], waiting: set[str]) -> list[str]:
    """The members of one cycle among names that never became ready, in the order in which they wait."""
    name, path = min(waiting), list[str]()
    while name not in path:
        path.append(name)
        name = min(other for other in after[name] if other in waiting)
    return path[path.index(name) :]


def parse_playbook(
    text: str | bytes,
    source: str,
    *,
    tools: Collection[str] | None = None,
    tool_faults: ToolFaults = lambda _tool, _args: (),
    check_faults: CheckFaults = no_check_faults,
) -> Playbook:
    """The playbook that `text` is. Raises `Faulty` with every fault and its line; `source` names the file in them.

    `tools` are the known tools (None: any). `tool_faults` and `check_faults` say what is wrong with a tool's arguments
    and with a check.
    """
    parser = _Parser(tools=tools, tool_faults=tool_faults, check_faults=check_faults)
    return parser.playbook(read_yaml(text, source, FORMAT), source)


def playbook_from_json(form: JsonObject) -> Playbook:
    """A playbook kept as data. Raises `Faulty` as `parse_playbook` does, without lines."""
    return _Parser().playbook(node_of(form), "playbook")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parser:
    """Reads the parts of a playbook; what is wrong is in `reader`."""

    reader: NodeReader = field(default_factory=NodeReader)
    tools: Collection[str] | None = None
    tool_faults: ToolFaults = lambda _tool, _args: ()
    check_faults: CheckFaults = no_check_faults

    def playbook(self, root: Node, source: str) -> Playbook:
        """The whole. Raises `Faulty` with all that is wrong."""
        read = self.reader
        entries = read.mapping(
            root,
            required=("format", "intent", "task_class", "subtasks"),
            optional=("budget", "environment", "inputs", "edits", "criteria", "never"),
        )
        read.choice(entries.get("format"), [FORMAT], default=FORMAT)
        playbook = Playbook(
            intent=read.text(entries.get("intent"), at_most=INTENT_CHARACTERS_MAX),
            task_class=read.slug(entries.get("task_class")),
            budget=self._budget(entries.get("budget")),
            inputs=(inputs := self._places(entries.get("inputs"), "input")),
            edits=self._places(entries.get("edits"), "edit", taken=inputs),
            environment=read_environment(read, entries.get("environment"), source),
            criteria=(
                *self._criteria(entries.get("criteria"), at_least=0),
                *read_never(read, entries.get("never"), self.check_faults, judged=False),
            ),
            subtasks=self._subtasks(entries.get("subtasks")),
        )
        read.raise_found(source)
        return playbook

    def _budget(self, node: Node | None) -> PlaybookBudget:
        entries = self.reader.mapping(node, required=(), optional=("time_s", "replans"))
        return PlaybookBudget(
            time_s=self.reader.integer(entries.get("time_s"), low=1, high=BUDGET_S_MAX, default=300),
            replans=self.reader.integer(entries.get("replans"), low=0, high=REPLANS_MAX, default=3),
        )

    def _places(self, node: Node | None, what: str, taken: Collection[str] = ()) -> Mapping[str, str]:
        entries = self.reader.names(node)
        if node is not None and len(entries) > INPUTS_MAX:
            self.reader.fault(node, f"must have at most {INPUTS_MAX} entries, has {len(entries)}")
            return {}
        places: dict[str, str] = {}
        for name, child in entries.items():
            if name in {"", ".", ".."} or PurePosixPath(name).name != name or not name.isprintable():
                self.reader.fault(child, f"the {what}'s name {name!r} must be a plain file name")
            if name in taken:
                self.reader.fault(child, f"{name!r} is an input already")
            places[name] = self.reader.text(child, at_most=PATH_CHARACTERS_MAX)
        return places

    def _criteria(self, node: Node | None, *, at_least: int) -> tuple[Criterion, ...]:
        items = self.reader.items(node, at_least=at_least, at_most=CRITERIA_MAX)
        criteria = read_criteria(self.reader, items, self.check_faults)
        for item, criterion in zip(items, criteria, strict=True):
            has_check = isinstance(item.value, Mapping) and "check" in item.value
            if not has_check:
                judged = ", and nobody to judge 'plausible' ones" if criterion.mode is Mode.PLAUSIBLE else ""
                self.reader.fault(item, f"a playbook runs without a model{judged}, so each criterion needs a check")
        return criteria

    def _subtasks(self, node: Node | None) -> tuple[Subtask, ...]:
        items = self.reader.items(node, at_least=1, at_most=SUBTASKS_MAX)
        subtasks = [self._subtask(item) for item in items]
        self.reader.unique(((item, task.id) for item, task in zip(items, subtasks, strict=True)), "subtask id")
        return self._ordered(items, subtasks)

    def _ordered(self, nodes: Sequence[Node], subtasks: Sequence[Subtask]) -> tuple[Subtask, ...]:
        """The subtasks with the sequence that follows from `after`; unknown names and cycles are faults."""
        node_of_id = {task.id: node for node, task in zip(nodes, subtasks, strict=True)}
        for node, task in zip(nodes, subtasks, strict=True):
            for other in task.after or ():
                if other and other not in node_of_id:
                    self.reader.fault(node, f"comes after {other!r}, which is no subtask here")
        given = {task.id: task.sequence for task in subtasks if task.after is None}
        after = {
            task.id: [other for other in task.after if other in node_of_id]
            for task in subtasks
            if task.after is not None and task.id not in given
        }
        found = levels(after, given)
        stuck = set(after) - set(found)
        if stuck:
            members = cycle(after, stuck)
            circle = " after ".join([*members, members[0]])
            self.reader.fault(node_of_id[members[0]], f"the subtasks come after each other: {circle}")
        return tuple(replace(task, sequence=found.get(task.id, task.sequence)) for task in subtasks)

    def _subtask(self, node: Node) -> Subtask:
        read = self.reader
        entries = read.mapping(
            node, required=("id", "intent", "criteria", "approaches"), optional=("sequence", "after")
        )
        if "sequence" in entries and "after" in entries:
            read.fault(entries["after"], "give either sequence or after, not both")
        approaches = read.items(entries.get("approaches"), at_least=1, at_most=APPROACHES_MAX)
        ways = tuple(self._approach(item) for item in approaches)
        read.unique(((item, way.id) for item, way in zip(approaches, ways, strict=True)), "approach id")
        after = entries.get("after")
        return Subtask(
            id=read.slug(entries.get("id")),
            intent=read.text(entries.get("intent"), at_most=INTENT_CHARACTERS_MAX),
            sequence=read.integer(entries.get("sequence"), low=1, high=SUBTASKS_MAX, default=1),
            after=None if after is None else read.texts(after, at_most=SUBTASKS_MAX, characters_max=64),
            criteria=self._criteria(entries.get("criteria"), at_least=1),
            approaches=ways,
        )

    def _approach(self, node: Node) -> Approach:
        read = self.reader
        entries = read.mapping(node, required=("id", "steps"), optional=("corrections",))
        corrections = read.items(entries.get("corrections"), at_most=CORRECTIONS_MAX)
        return Approach(
            id=read.slug(entries.get("id")),
            steps=self._steps(entries.get("steps")),
            corrections=tuple(self._steps(item) for item in corrections),
        )

    def _steps(self, node: Node | None) -> tuple[Step, ...]:
        return tuple(self._step(item) for item in self.reader.items(node, at_least=1, at_most=STEPS_MAX))

    def _step(self, node: Node) -> Step:
        read = self.reader
        entries = read.mapping(
            node, required=("tool",), optional=("args", "timeout_s", "may_fail", "network", "writes", "look")
        )
        tool = read.text(entries.get("tool"), at_most=64)
        args = read.object(entries.get("args"))
        given = entries.get("args", node)
        if tool and self.tools is not None and tool not in self.tools:
            read.fault(entries["tool"], f"unknown tool {tool!r}; known tools: {', '.join(sorted(self.tools))}")
        elif tool and isinstance(given.value, Mapping):
            for message in self.tool_faults(tool, args):
                read.fault(given, message)
        look = entries.get("look")
        return Step(
            tool=tool,
            args=args,
            timeout_s=read.integer(entries.get("timeout_s"), low=1, high=STEP_S_MAX, default=60),
            may_fail=read.boolean(entries.get("may_fail"), default=False),
            network=read.boolean(entries.get("network"), default=False),
            writes=read.texts(entries.get("writes"), at_most=WRITES_MAX, characters_max=PATH_CHARACTERS_MAX),
            look=None if look is None or look.value is None else read.text(look, at_most=LOOK_CHARACTERS_MAX),
        )
