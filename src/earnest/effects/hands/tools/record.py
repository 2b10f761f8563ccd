"""A tool call, and the record of what it did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from earnest.effects.hands.sandbox.api import ExecutionReport, Process
from earnest.effects.hands.tools.failures import ToolFailure
from earnest.effects.hands.tools.parts import CallParts
from earnest.effects.hands.workspace.changes import Change
from earnest.foundation.canonical import JsonObject, JsonValue, digest_of
from earnest.foundation.errors import Broken
from earnest.foundation.shapes import from_json, to_json
from earnest.foundation.text import EXCERPT_CHARACTERS_MAX, head_tail

STDERR_CHARACTERS_MIN: Final = EXCERPT_CHARACTERS_MAX // 4
"""What stderr may take of an excerpt even if stdout alone would fill it."""

SEARCHING: Final = frozenset({"glob", "mdfind", "search_files"})
"""Tools that put out what they found, and nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool. `network` and `writes` (absolute paths outside the workspace) are what it asks for.

    It is checked where calls are performed; to remove or rename a path, the folder that it lies in must be writable.
    """

    tool: str
    args: JsonObject
    timeout_ms: int = 60_000
    network: bool = False
    writes: tuple[str, ...] = ()

    def digest(self, version: str) -> str:
        """Equal for the same action by the same version of the tool, however long it may take.

        Raises `ValueError` for arguments without a canonical form.
        """
        return digest_of(
            {
                "tool": self.tool,
                "version": version,
                "args": self.args,
                "network": self.network,
                "writes": sorted(self.writes),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RawResult:
    """What a tool gives back. `exit_code` is None unless a process ended by itself."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int | None = None
    failure: ToolFailure | None = None
    sandbox: str = ""
    processes: tuple[Process, ...] = ()
    """In characters of the decoded output."""

    @property
    def complete(self) -> bool:
        """True if the call came to its own end, well or badly, so that what it wrote counts."""
        return self.failure is None or self.exit_code is not None


def raw_of(report: ExecutionReport, failure: ToolFailure | None) -> RawResult:
    """What a sandbox has reported of a command."""
    return RawResult(
        stdout=report.stdout,
        stderr=report.stderr,
        exit_code=report.exit_code,
        failure=failure,
        sandbox=report.sandbox,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRecord:
    """The evidence of one call, kept as a fact.

    `tool_ids` and `target` identify what was used and touched, for blocking. `output_digest` and `output_bytes` are
    those of stdout followed by stderr, whole; `output_excerpt` is what `excerpt` makes of them. `changed` is what the
    call did to the workspace, empty if it did not come to its own end. `sandbox` is empty for tools that need none.
    `processes` are those of a command line that `parts.Parts` needs, their places in characters of the whole output;
    none if nobody saw them.
    """

    tool: str
    tool_ids: frozenset[str]
    target: str
    args: JsonObject
    call_digest: str
    ok: bool
    exit_code: int | None
    failure: ToolFailure | None
    output_excerpt: str
    output_digest: str
    output_bytes: int
    duration_ms: int
    started_at_ms: int
    changed: tuple[Change, ...]
    sandbox: str
    processes: tuple[Process, ...] = ()

    @property
    def found_nothing(self) -> bool:
        """True of a search that really ran and printed nothing: that there is nothing is its answer."""
        if self.output_bytes or self.changed:
            return False
        if self.tool in SEARCHING:
            return self.ok
        has_ended = self.failure is None or self.failure.code == "exit_code"
        return self.tool == "shell" and has_ended and CallParts(self.processes).found_nothing

    def to_json(self) -> JsonObject:
        """The form kept in facts."""
        kept = {
            **to_json(replace(self, failure=None, changed=(), processes=())),
            "failure": self.failure.to_json() if self.failure else None,
            "changed": [change.to_json() for change in self.changed],
            "processes": [_listed(each) for each in self.processes],
        }
        if not self.processes:
            del kept["processes"]
        return kept

    @classmethod
    def from_json(cls, value: JsonValue) -> "ToolRecord":
        """The inverse of `to_json`. Raises `Broken` for anything else."""
        if not isinstance(value, Mapping) or "failure" not in value:
            raise Broken("not a recorded tool call")
        failure, seen = value["failure"], value.get("processes", ())
        read = {
            "failure": None if failure is None else ToolFailure.from_json(failure),
            "processes": tuple(map(_process, seen if isinstance(seen, Sequence) else ())),
        }
        return from_json(cls, {**value, **read}, "a recorded tool call")


def _listed(process: Process) -> JsonValue:
    ends = [*process.out, *process.err, *process.holds]
    return [process.parent, process.program, process.words, process.exit_code, ends, list(process.files)]


def _process(value: JsonValue) -> Process:
    match value:
        case [
            int(parent),
            str(program),
            str(words),
            int() | None as exit_code,
            [int(out), int(out_end), int(err), int(err_end), bool(holds_out), bool(holds_err)],
            [*files],
        ]:
            return Process(
                parent=parent,
                program=program,
                words=words,
                exit_code=exit_code,
                out=(out, out_end),
                err=(err, err_end),
                holds=(holds_out, holds_err),
                files=tuple(map(str, files)),
            )
    raise Broken(f"not a recorded process: {value!r}")


def excerpt(stdout: bytes, stderr: bytes) -> str:
    """Head and tail of the output; what one stream leaves unused is the other's. Without labels it is stdout alone."""
    out, err = stdout.decode(errors="replace"), stderr.decode(errors="replace")
    if not err:
        return head_tail(out)
    if not out:
        return f"[stderr]\n{head_tail(err)}"
    err_characters = min(len(err), max(STDERR_CHARACTERS_MIN, EXCERPT_CHARACTERS_MAX - len(out)))
    out_text = head_tail(out, EXCERPT_CHARACTERS_MAX - err_characters)
    return f"[stdout]\n{out_text}\n[stderr]\n{head_tail(err, err_characters)}"
