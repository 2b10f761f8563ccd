"""Tools with a journal: each call is an intent, an effect in a stage of its own, an outcome, and only then a change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from earnest.effects.clock import Clock
from earnest.effects.sandbox.api import Mount, Sandbox
from earnest.effects.tools.api import Place
from earnest.effects.tools.failures import ToolFailure
from earnest.effects.tools.record import RawResult, ToolCall, ToolRecord
from earnest.effects.tools.toolbox import Toolbox
from earnest.effects.workspace.changes import Change
from earnest.effects.workspace.staging import Stage, Workspace
from earnest.engine.ports import EffectUnknown, NeedsConfirmation
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken
from earnest.foundation.failures import FailureClass
from earnest.runtime.completion import to_the_end
from earnest.runtime.order import Grants
from earnest.runtime.run_book import RunBook


class JournaledHands:
    """`engine.ports.Hands` over a toolbox, a workspace and the run's book."""

    def __init__(
        self,
        *,
        book: RunBook,
        toolbox: Toolbox,
        workspace: Workspace,
        sandbox: Sandbox,
        inputs: tuple[Mount, ...],
        grants: Grants,
        clock: Clock,
    ) -> None:
        self._book = book
        self._toolbox = toolbox
        self._workspace = workspace
        self._sandbox = sandbox
        self._inputs = inputs
        self._grants = grants
        self._clock = clock
        self._changed: dict[str, set[str]] = {}

    def faults(self, call: ToolCall) -> Sequence[str]:
        """See `Hands`."""
        return self._toolbox.faults(call.tool, call.args)

    def tool_ids(self, call: ToolCall) -> frozenset[str]:
        """See `Hands`."""
        return self._toolbox.tool_ids(call)

    def refused(self, call: ToolCall, failure: ToolFailure) -> ToolRecord:
        """See `Hands`."""
        return self._toolbox.record(call, RawResult(failure=failure), started_at_ms=self._clock.now_ms())

    def digest(self, call: ToolCall) -> str:
        """See `Hands`."""
        return self._toolbox.digest(call)

    def target(self, call: ToolCall) -> str:
        """See `Hands`."""
        return self._toolbox.target(call)

    async def recover(self, outcomes: Mapping[str, JsonObject]) -> None:
        """Finish what an earlier process had made durable but not yet moved into the workspace."""
        for key, outcome in outcomes.items():
            if "record" in outcome:
                changes = ToolRecord.from_json(outcome["record"]).changed
                self._changed.setdefault(_work_of(key), set()).update(change.path for change in changes)
                await self._workspace.finish(key, changes)

    async def call(self, key: str, call: ToolCall, look: str | None = None) -> ToolRecord:
        """See `Hands`."""
        digest = self._toolbox.digest(call)
        done = self._book.outcome(key)
        if done is not None:
            record = ToolRecord.from_json(done["record"])
            if record.call_digest != digest:
                raise Broken(f"the resumed run calls {call.tool} differently at {key} than before")
            return record
        if missing := self._grants.missing(call):
            raise NeedsConfirmation(f"{call.tool} {self.target(call)!r} needs leave to {missing}")
        if self._book.intent(key) is None:
            await self._book.intend(key, {"tool": call.tool, "target": self.target(call), "digest": digest})
        elif _reaches_outside(call) and await self._happened(key, call, look):
            return await self._conclude(key, self._found_done(call), ())
        return await self._perform(key, call)

    async def revert(self, key: str, call_prefixes: Sequence[str]) -> None:
        """See `Hands`. Interrupted halfway, it is done again and completes."""
        if self._book.outcome(key) is not None:
            return
        for prefix in reversed(call_prefixes):
            await self._workspace.restore(prefix, self._changed.get(prefix, set()))
        await self._book.conclude(key, {"reverted": list(call_prefixes)})

    async def _perform(self, key: str, call: ToolCall) -> ToolRecord:
        await self._workspace.checkpoint(_work_of(key))
        stage = await self._workspace.stage(key)
        try:
            record = await self._toolbox.perform(call, self._place(stage))
        except BaseException:
            await self._workspace.discard(key)
            raise
        return await to_the_end(self._settle(key, stage, record))

    async def _settle(self, key: str, stage: Stage, record: ToolRecord) -> ToolRecord:
        """Make the outcome durable and the change visible. From the first on there is only forward, whoever cancels."""
        async with self._workspace.turn:
            record, changes = self._admitted(stage, record)
            await self._conclude(key, record, changes)
            await self._workspace.commit(stage, changes)
        return record

    def _admitted(self, stage: Stage, record: ToolRecord) -> tuple[ToolRecord, tuple[Change, ...]]:
        """What the call changed. A call that clashes with a parallel one has failed and changes nothing."""
        clash = self._workspace.conflicts(stage, record.changed)
        if not clash:
            return record, record.changed
        failure = ToolFailure(
            failure_class=FailureClass.ENVIRONMENTAL,
            code="workspace_conflict",
            message=f"another call changed {clash[0]} at the same time",
        )
        return replace(record, ok=False, failure=failure, changed=()), ()

    async def _conclude(self, key: str, record: ToolRecord, changes: tuple[Change, ...]) -> ToolRecord:
        await self._book.conclude(key, {"record": record.to_json()})
        self._changed.setdefault(_work_of(key), set()).update(change.path for change in changes)
        return record

    async def _happened(self, key: str, call: ToolCall, look: str | None) -> bool:
        """Ask the world about an effect that a crash left open. Raises `EffectUnknown` if it cannot tell."""
        if look is None:
            raise EffectUnknown(f"{call.tool} {self.target(call)!r} ({key}): a crash left open whether it happened")
        place = self._place(await self._workspace.stage(f"{key}/look"))
        seen = tuple(Mount(source=Path(path), target=path) for path in call.writes)
        looking = ToolCall(tool="shell", args={"command": look}, network=call.network)
        try:
            looked = await self._toolbox.perform(looking, replace(place, inputs=(*place.inputs, *seen)))
        finally:
            await self._workspace.discard(f"{key}/look")
        if looked.exit_code not in (0, 1):
            raise EffectUnknown(
                f"{call.tool} {self.target(call)!r} ({key}): its look could not tell whether it happened"
            )
        return looked.exit_code == 0

    def _found_done(self, call: ToolCall) -> ToolRecord:
        raw = RawResult(stdout=b"found done when the run was resumed", exit_code=0)
        return self._toolbox.record(call, raw, started_at_ms=self._clock.now_ms())

    def _place(self, stage: Stage) -> Place:
        return Place(folder=stage.folder, sandbox=self._sandbox, stage=stage, inputs=self._inputs)


def _reaches_outside(call: ToolCall) -> bool:
    return call.network or bool(call.writes)


def _work_of(key: str) -> str:
    """`r1/count/a2/c3` belongs to the work `r1/count/`: all that is taken back together."""
    return "/".join(key.split("/")[:2]) + "/"
