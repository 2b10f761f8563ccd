"""Tools with a journal: each call is an intent, an effect in a stage of its own, an outcome, and only then a change."""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from earnest.effects.ground.clock import Clock
from earnest.effects.hands.sandbox.api import Mount, Sandbox
from earnest.effects.hands.tools.api import Leave, ToolPlace
from earnest.effects.hands.tools.arguments import with_home
from earnest.effects.hands.tools.failures import NEEDS_CONFIRMATION, ToolFailure
from earnest.effects.hands.tools.record import RawResult, ToolCall, ToolRecord
from earnest.effects.hands.tools.task_folder import PROGRAM
from earnest.effects.hands.tools.toolbox import WRITES_MAX, Toolbox
from earnest.effects.hands.workspace.changes import Change
from earnest.effects.hands.workspace.stage import Stage
from earnest.effects.hands.workspace.staging import Workspace
from earnest.engine.messages import ConfirmationAsked
from earnest.engine.ports import EffectUnknown, GivenUp, NeedsConfirmation
from earnest.foundation.canonical import JsonObject, canonical_text
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.failures import FailureClass
from earnest.foundation.text import printable
from earnest.runtime.approvals import QUESTION_MS, Approvals
from earnest.runtime.completion import to_the_end
from earnest.runtime.edits.outside import OUTSIDE, Preimages
from earnest.runtime.layers import OverLayers
from earnest.runtime.order import Grants
from earnest.runtime.programs import ProgramOrder
from earnest.runtime.run_book import RunBook
from earnest.runtime.unknown_effects import EffectDecision

if TYPE_CHECKING:
    from earnest.engine.model_messages import ModelTurn

CONFIRMED: Final = "/confirmed"
MEASUREMENT_MS: Final = 20_000
"""How long a command of a judge may take."""


class Listener(Protocol):
    """Hears a run while it works. Nothing here may raise or take long: what is heard is shown, and forgotten."""

    def said(self, turn: "ModelTurn", piece: str | None, /) -> None:
        """The next piece of what a model says; None: what it said counts no more (`effects.outside.llm.api.Hear`)."""

    def put_out(self, key: str, stream: int, piece: bytes, left_out: int, /) -> None:
        """The newest of what the call of that key puts out on 1 or 2, and how many bytes before it are left out."""


@dataclass(slots=True, kw_only=True)
class JournaledHands:
    """`engine.ports.Hands` over a toolbox, a workspace and the run's book."""

    book: RunBook
    toolbox: Toolbox
    workspace: Workspace
    sandbox: Sandbox
    inputs: tuple[Mount, ...]
    grants: Grants
    program: ProgramOrder | None = None
    approvals: Approvals
    clock: Clock
    home: Path | None = None
    preimages: Preimages | None = None
    listener: Listener | None = None
    _changed: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home = self.home.resolve() if self.home else None

    def faults(self, call: ToolCall) -> Sequence[str]:
        """See `Hands`."""
        return self.toolbox.call_faults(call)

    def tool_ids(self, call: ToolCall) -> frozenset[str]:
        """See `Hands`."""
        return self.toolbox.tool_ids(call)

    def refused(self, call: ToolCall, failure: ToolFailure) -> ToolRecord:
        """See `Hands`."""
        return self.toolbox.record(call, RawResult(failure=failure), started_at_ms=self.clock.now_ms())

    def digest(self, call: ToolCall) -> str:
        """See `Hands`."""
        return self.toolbox.digest(call)

    def target(self, call: ToolCall) -> str:
        """See `Hands`."""
        return self.toolbox.target(call)

    async def recover(self, outcomes: Mapping[str, JsonObject], intents: Iterable[str] = ()) -> None:
        """Finish what an earlier process had made durable but not yet moved into the workspace.

        Of what else it left, only the stages of effects that may have happened are kept: all that shows what they did.
        """
        for key, outcome in outcomes.items():
            if "record" in outcome:
                changes = ToolRecord.from_json(outcome["record"]).changed
                self._changed.setdefault(_work_of(key), set()).update(change.path for change in changes)
                await self.workspace.finish(key, changes)
        await self.workspace.sweep(key for key in intents if key not in outcomes)

    async def call(self, key: str, call: ToolCall, look: str | None = None) -> ToolRecord:
        """See `Hands`."""
        digest = self.toolbox.digest(call)
        done = self.book.outcome(key)
        if done is not None:
            record = ToolRecord.from_json(done["record"])
            if record.call_digest != digest:
                raise Broken(f"the resumed run calls {call.tool} differently at {key} than before")
        else:
            record = await self._once(key, call, look)
        if record.failure is not None and record.failure.code == NEEDS_CONFIRMATION:
            return await self.call(f"{key}{CONFIRMED}", replace(call, writes=record.failure.paths), look)
        return record

    async def _once(self, key: str, call: ToolCall, look: str | None) -> ToolRecord:
        """Perform a call that has no outcome yet, unless an earlier process did."""
        writable = self._resolved(call)
        if self.book.intent(key) is None:
            self._check(key, call, writable)
            await self.book.intend(key, self._intent(call))
        elif self._reaches_outside(call):
            if await self._happened(key, call, look):
                return await self._take_over(key, call)
            self._check(key, call, writable)
        return await self._perform(key, call, writable)

    def _check(self, key: str, call: ToolCall, writable: tuple[Path, ...]) -> None:
        """Law 1. Raises `NeedsConfirmation` unless all that the call asks for was granted, or just this confirmed."""
        paths = self.grants.missing(writable)
        leave = self.toolbox.leave(call)
        network = (call.network or leave is Leave.NETWORK) and not self.grants.network
        outside = leave is Leave.OUTSIDE and not self._is_named(call)
        action = self.toolbox.digest(replace(call, writes=tuple(map(str, writable))))
        if not (paths or network or outside) or self.approvals.holds(key, action):
            return
        wants = [f"write to {path}" for path in paths] + ["use the network"] * network
        wants += ["act outside the sandbox, with your rights"] * outside
        asked = ConfirmationAsked(
            action=action,
            tool=call.tool,
            args=call.args,
            wording=f"{self._wording(call)} needs leave to {' and '.join(wants)}",
            paths=tuple(map(str, paths)),
            network=network or outside,
            expires_at_ms=self.clock.now_ms() + QUESTION_MS,
        )
        raise NeedsConfirmation(asked, key=key, call=call)

    async def revert(self, key: str, call_prefixes: Sequence[str]) -> None:
        """See `Hands`. Interrupted halfway, it is done again and completes."""
        if self.book.outcome(key) is not None:
            return
        await self.book.flush()  # first the verdicts on the work that goes: they could not be had again
        for prefix in reversed(call_prefixes):
            await self.workspace.restore(prefix, self._changed.get(prefix, set()))
        await self.book.conclude(key, {"reverted": list(call_prefixes)})

    async def _perform(self, key: str, call: ToolCall, writable: tuple[Path, ...]) -> ToolRecord:
        await self.workspace.checkpoint(_work_of(key))
        stage = await self.workspace.stage(key, copied=call.tool == PROGRAM and not call.args.get("sandbox"))
        try:
            if self._reaches_outside(call):
                await self.workspace.keep(stage)
            preimages = self.preimages if call.writes else None
            if preimages is not None:
                await asyncio.to_thread(preimages.keep, key, writable)
            hear = partial(self.listener.put_out, key.removesuffix(CONFIRMED)) if self.listener else None
            place = replace(self._place(stage), writable=writable, hear=hear)
            record = await self.toolbox.perform(call, place)
            if preimages is not None:
                await self._tell_outside(key, preimages)
        finally:
            await to_the_end(self.workspace.ended(stage))
        return await to_the_end(self._settle(key, stage, self._or_wanting(call, record)))

    async def _settle(self, key: str, stage: Stage, record: ToolRecord) -> ToolRecord:
        """Make the outcome durable and the change visible. From the first on there is only forward, whoever cancels."""
        async with self.workspace.turn:
            record, changes = self._admitted(stage, record)
            await self._conclude(key, record, changes)
            await self.workspace.commit(stage, changes)
        return record

    def _admitted(self, stage: Stage, record: ToolRecord) -> tuple[ToolRecord, tuple[Change, ...]]:
        """What the call changed. A call that clashes with a parallel one has failed and changes nothing."""
        clash = self.workspace.conflicts(stage, record.changed)
        if not clash:
            return record, record.changed
        failure = ToolFailure(
            failure_class=FailureClass.ENVIRONMENTAL,
            code="workspace_conflict",
            message=f"another call changed {clash[0]} at the same time",
        )
        return replace(record, ok=False, failure=failure, changed=()), ()

    def _or_wanting(self, call: ToolCall, record: ToolRecord) -> ToolRecord:
        """The record; of a call that the kernel kept from the user's files, what it needs leave for instead.

        Then nothing of it counts, since it is made anew if it is confirmed. So nothing of it may have left the sandbox.
        """
        failure = record.failure
        if failure is None or self.home is None or self._reaches_outside(call):
            return record
        paths = tuple(map(str, wanted_paths(failure.paths, self.home)))
        if not 0 < len(paths) <= WRITES_MAX:
            return record
        needs = replace(failure, code=NEEDS_CONFIRMATION, paths=paths)
        return replace(record, failure=needs, changed=())

    async def _conclude(self, key: str, record: ToolRecord, changes: tuple[Change, ...]) -> ToolRecord:
        await self.book.conclude(key, {"record": record.to_json()})
        self._changed.setdefault(_work_of(key), set()).update(change.path for change in changes)
        return record

    async def _tell_outside(self, key: str, preimages: Preimages) -> None:
        await self.book.conclude(f"{key}/{OUTSIDE}", await asyncio.to_thread(preimages.changed, key))

    async def _take_over(self, key: str, call: ToolCall) -> ToolRecord:
        """Of an effect that happened: what it left in its stage, for a later process or nobody can make it again."""
        preimages = self.preimages if call.writes else None
        if preimages is not None and self.book.outcome(f"{key}/{OUTSIDE}") is None:
            await self._tell_outside(key, preimages)
        raw = RawResult(stdout=b"found done when the run was resumed", exit_code=0)
        record = self.toolbox.record(call, raw, started_at_ms=self.clock.now_ms())
        stage = await self.workspace.kept(key)
        if stage is None:
            return await self._conclude(key, record, ())
        try:
            record = replace(record, changed=await stage.changes())
        except Refused as refused:  # as after any call that leaves what may not enter the workspace
            failure = ToolFailure(failure_class=FailureClass.LOGICAL, code=refused.code, message=str(refused))
            record = replace(record, ok=False, failure=failure)
        return await to_the_end(self._settle(key, stage, record))

    async def _happened(self, key: str, call: ToolCall, look: str | None) -> bool:
        """Find out about an effect that a crash left open: from what a person said, or else by looking.

        Raises `EffectUnknown` if nobody can tell, and `GivenUp`.
        """
        decided = self.book.decided(key)
        if decided is None:
            why = "the step has no look command" if look is None else await self._looked(key, call, look)
            if isinstance(why, bool):
                return why
            await self.book.ask(key, {"wording": self._wording(call), "why": why})
            raise EffectUnknown(f"a crash left open whether this happened: {self._wording(call)} ({key}); {why}")
        decision = EffectDecision(str(decided["decision"]))
        if decision is EffectDecision.GIVE_UP:
            raise GivenUp(f"whether this happened stays open: {self._wording(call)} ({key})")
        if decision is EffectDecision.ABSENT:  # which is used up: made again, it may become unknown again
            await self.book.intend(key, self._intent(call))
        return decision is EffectDecision.HAPPENED

    async def look(self, key: str, command: str) -> ToolRecord:
        """What a command line puts out over the workspace, without leave or network; it leaves nothing there."""
        looking = ToolCall(tool="shell", args={"command": command}, timeout_ms=MEASUREMENT_MS)
        return await self._perform_aside(key, looking)

    async def _perform_aside(self, key: str, call: ToolCall, *seen: Mount) -> ToolRecord:
        """On a stage that is thrown away."""
        stage = await self.workspace.stage(key)
        place = self._place(stage)
        try:
            return await self.toolbox.perform(call, replace(place, inputs=(*place.inputs, *seen)))
        finally:
            await self.workspace.ended(stage)
            await self.workspace.discard(stage.id)

    async def _looked(self, key: str, call: ToolCall, look: str) -> bool | str:
        """What the world says: it happened, it did not, or why that cannot be told."""
        seen = tuple(Mount(source=path, target=str(path)) for path in self._resolved(call))
        looking = ToolCall(tool="shell", args={"command": look}, network=call.network and self.grants.network)
        looked = await self._perform_aside(f"{key}/look", looking, *seen)
        if looked.exit_code in (0, 1):
            return looked.exit_code == 0
        how = "did not end by itself" if looked.exit_code is None else f"ended with exit code {looked.exit_code}"
        return f"its look cannot tell: it {how}, which is neither yes (0) nor no (1)"

    def _intent(self, call: ToolCall) -> JsonObject:
        return {"tool": call.tool, "target": self.target(call), "digest": self.toolbox.digest(call)}

    @staticmethod
    def _wording(call: ToolCall) -> str:
        return printable(f"{call.tool} {_in_full(call)}")

    def _resolved(self, call: ToolCall) -> tuple[Path, ...]:
        """What the call asks to write to: no `~`, no link, no `..` is left in it, in order."""
        home = str(self.home or Path.home())
        return tuple(sorted({_real(with_home(path, home)) for path in call.writes}))

    def _reaches_outside(self, call: ToolCall) -> bool:
        """True if the call may have an effect that no stage holds."""
        if self.toolbox.reads_only(call):
            return False
        return (
            call.network
            or bool(call.writes)
            or (self.toolbox.leave(call) is Leave.OUTSIDE and not self._is_named(call))
        )

    def _is_named(self, call: ToolCall) -> bool:
        """True if the call starts what the user named as the executor: only what it leaves in its stage counts."""
        return self.program is not None and self.program.starts(call)

    def _place(self, stage: Stage) -> ToolPlace:
        sandbox = OverLayers(self.sandbox, stage, self.workspace) if stage.lowers else self.sandbox
        return ToolPlace(folder=stage.folder, sandbox=sandbox, stage=stage, inputs=self.inputs, home=self.home)


def wanted_paths(told: Sequence[str], home: Path) -> tuple[Path, ...]:
    """What must be writable, so that what a command says it could not write below `home` can be: outermost only.

    That is the folder that a path lies in; the path itself, where that folder would be the whole home. `told` is what
    the command said: it decides nothing, a person sees what comes of it. Looks at the disk.
    """
    wanted: set[Path] = set()
    for text in told:
        path = _real(text)
        if home in path.parents:
            wanted.add(path if path.parent == home else path.parent)
    outermost = (path for path in sorted(wanted) if not wanted.intersection(path.parents))
    return tuple(path for path in outermost if path.exists())


def _real(path: str) -> Path:
    return Path(os.path.realpath(path))


def _in_full(call: ToolCall) -> str:
    """The command line, or all arguments: nothing that is confirmed is left out of the question."""
    command = call.args.get("command")
    return command if isinstance(command, str) and len(call.args) == 1 else canonical_text(call.args)


def _work_of(key: str) -> str:
    """`r1/count/a2/c3` belongs to the work `r1/count/`: all that is taken back together."""
    return "/".join(key.split("/")[:2]) + "/"
