"""The tools of a run, and the record of each call, whatever happens in it."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from earnest.effects.ground.clock import Clock
from earnest.effects.hands.tools.api import Leave, Tool, ToolPlace, ToolSource
from earnest.effects.hands.tools.apply_patch import ApplyPatch
from earnest.effects.hands.tools.arguments import absolute_path_fault
from earnest.effects.hands.tools.failures import PASSING_ERRNOS, environmental, logical, ours
from earnest.effects.hands.tools.files import Delete, EditFile, MoveFile, ReadFile, WriteFile
from earnest.effects.hands.tools.glob import Glob
from earnest.effects.hands.tools.record import RawResult, ToolCall, ToolRecord, excerpt
from earnest.effects.hands.tools.shell import Shell
from earnest.effects.hands.workspace.changes import Change
from earnest.foundation.canonical import JsonObject, canonical_bytes, digest_bytes
from earnest.foundation.errors import Refused, Unavailable
from earnest.foundation.text import printable

TIMEOUT_MS_MAX: Final = 3_600_000
FAULT_CHARACTERS_MAX: Final = 300
WRITES_MAX: Final = 20
"""Paths that one call may ask to write to: a person must be able to read the question."""
_SPACE_CODES: Final = frozenset({"workspace_too_large", "workspace_too_many_files"})


def built_in() -> tuple[Tool, ...]:
    """The tools of every toolbox."""
    return (Glob(), ReadFile(), EditFile(), ApplyPatch(), WriteFile(), Delete(), MoveFile(), Shell())


class Toolbox(Collection[str]):
    """The tools of a run by name; as a collection, the names that a file may give.

    What `sources` bring, by the beginning of its names, is known once `open` has been waited for.
    """

    def __init__(
        self, clock: Clock, tools: Iterable[Tool] | None = None, *, sources: Mapping[str, ToolSource] | None = None
    ) -> None:
        self._clock = clock
        self._tools = {tool.name: tool for tool in (built_in() if tools is None else tools)}
        self._sources = dict(sources or {})
        self._missing: dict[str, str] = {}

    def __contains__(self, name: object) -> bool:
        late = tuple(beginning for beginning in self._sources if beginning not in self._missing)
        return name in self._tools or (isinstance(name, str) and name.startswith(late))

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    async def open(self, names: Iterable[str] | None = None) -> None:
        """Have what sources bring; only those that these names need, if any are given.

        A source that cannot be had leaves its tools out, and `faults` says why.
        """
        wanted = None if names is None else tuple(names)
        beginnings = [
            beginning
            for beginning in self._sources
            if wanted is None or any(name.startswith(beginning) for name in wanted)
        ]
        await asyncio.gather(*(self._open(beginning) for beginning in beginnings))

    async def close(self) -> None:
        """End all sources."""
        await asyncio.gather(*(source.close() for source in self._sources.values()))

    async def _open(self, beginning: str) -> None:
        try:
            tools = await self._sources[beginning].tools()
        except Unavailable as error:
            self._missing[beginning] = str(error)
        except Exception as error:  # others wrote what answered: it ends no run
            self._missing[beginning] = printable(f"{type(error).__name__}: {error}")[:FAULT_CHARACTERS_MAX]
        else:
            self._missing[beginning] = "it has no such tool"
            self._tools.update((tool.name, tool) for tool in tools)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """By name, not to be changed."""
        return MappingProxyType(self._tools)

    def faults(self, tool: str, args: JsonObject) -> list[str]:
        """Why such a call cannot be made, in words; empty if it can."""
        known = self._tools.get(tool)
        if known is None:
            for beginning in self._sources:
                if tool.startswith(beginning):
                    return [f"no tool {tool!r}: {self._missing.get(beginning, 'nobody opened what brings it')}"]
            return [f"unknown tool {tool!r}; there are {', '.join(sorted(self._tools))}"]
        try:
            canonical_bytes(args)
        except (ValueError, TypeError, RecursionError) as error:
            return [f"the arguments are no plain JSON: {error}"]
        return known.args_faults(args)

    def written_faults(self, tool: str, args: JsonObject) -> list[str]:
        """As `faults`, for a call that stands in a file: of a tool that is not known yet nothing is wrong."""
        return [] if tool in self and tool not in self._tools else self.faults(tool, args)

    def call_faults(self, call: ToolCall) -> list[str]:
        """Why this call cannot be made, its timeout and what it asks for included."""
        faults = self.faults(call.tool, call.args)
        if not 0 < call.timeout_ms <= TIMEOUT_MS_MAX:
            faults.append(f"timeout_ms must be 1 to {TIMEOUT_MS_MAX}")
        if len(call.writes) > WRITES_MAX:
            faults.append(f"writes names more than {WRITES_MAX} paths")
        return faults + [fault for path in call.writes if (fault := absolute_path_fault(path))]

    def tool_ids(self, call: ToolCall) -> frozenset[str]:
        """What the call uses; the name it gives if the call has faults."""
        return frozenset({call.tool}) if self.call_faults(call) else self._tools[call.tool].tool_ids(call.args)

    def target(self, call: ToolCall) -> str:
        """What the call touches; empty if it has faults."""
        return "" if self.call_faults(call) else self._tools[call.tool].target(call.args)

    def leave(self, call: ToolCall) -> Leave:
        """What every such call needs leave for; nothing if there is no such tool, since then nothing happens."""
        known = self._tools.get(call.tool)
        return known.leave if known else Leave.NONE

    def reads_only(self, call: ToolCall) -> bool:
        """True if such a call never changes anything."""
        known = self._tools.get(call.tool)
        return known is not None and known.reads_only

    def digest(self, call: ToolCall) -> str:
        """Equal for an exact repeat of a call; what an approval is bound to."""
        known = self._tools.get(call.tool)
        try:
            return call.digest(known.version if known else "")
        except (ValueError, TypeError, RecursionError):
            return digest_bytes(repr(call).encode(errors="backslashreplace"))

    async def perform(self, call: ToolCall, place: ToolPlace) -> ToolRecord:
        """Make the call and record it. Never raises for what a call did: every failure is a record.

        Raises `OSError` where a disk failed that is no part of it: the call's, or that of its stage.
        """
        started_at_ms, started_ns = self._clock.now_ms(), self._clock.ticks_ns()
        faults = self.call_faults(call)
        changed: tuple[Change, ...] = ()
        if faults:
            raw = RawResult(failure=logical("bad_args", "; ".join(faults)))
        else:
            raw = await self._run(self._tools[call.tool], call, place)
            raw, changed = await self._changed(raw, call, place)
        duration_ms = (self._clock.ticks_ns() - started_ns) // 1_000_000
        return self.record(call, raw, started_at_ms=started_at_ms, duration_ms=duration_ms, changed=changed)

    def record(
        self,
        call: ToolCall,
        raw: RawResult,
        *,
        started_at_ms: int,
        duration_ms: int = 0,
        changed: tuple[Change, ...] = (),
    ) -> ToolRecord:
        """The record of a call and its result; also of a call that was refused before it was made."""
        return ToolRecord(
            tool=call.tool,
            tool_ids=self.tool_ids(call),
            target=self.target(call),
            args={} if self.call_faults(call) else call.args,
            call_digest=self.digest(call),
            ok=raw.failure is None,
            exit_code=raw.exit_code,
            failure=raw.failure,
            output_excerpt=excerpt(raw.stdout, raw.stderr),
            output_digest=digest_bytes(raw.stdout + raw.stderr),
            output_bytes=len(raw.stdout) + len(raw.stderr),
            duration_ms=duration_ms,
            started_at_ms=started_at_ms,
            changed=changed,
            sandbox=raw.sandbox,
            processes=raw.processes,
        )

    async def _run(self, tool: Tool, call: ToolCall, place: ToolPlace) -> RawResult:
        if not tool.reads_only and (place.stage is None or place.stage.folder != place.folder):
            return RawResult(failure=ours("no_stage", f"{tool.name} may only act on a stage"))
        try:
            return await tool.run(call, place)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in PASSING_ERRNOS:
                raise
            return RawResult(failure=ours("broken_tool", f"{tool.name}: {type(error).__name__}: {error}"))

    async def _changed(self, raw: RawResult, call: ToolCall, place: ToolPlace) -> tuple[RawResult, tuple[Change, ...]]:
        """What the call did to the stage; a call that left there what may not enter the workspace has failed."""
        if self._tools[call.tool].reads_only or place.stage is None or not raw.complete:
            return raw, ()
        try:
            return raw, await place.stage.changes()
        except Refused as refused:
            build = environmental if refused.code in _SPACE_CODES else logical
            return replace(raw, failure=build(refused.code, str(refused))), ()
