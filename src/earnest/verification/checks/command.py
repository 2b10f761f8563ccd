"""Check kind `command`: a command ends as it should, run on a copy of the workspace.

Its exit code is the workspace's own word: whoever wrote the files can make it 0. It decides for a user's own playbook;
over a submission of somebody else it leaves the answer unclear.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.effects.hands.sandbox.api import Execution, ExecutionReport, Profile
from earnest.foundation.text import head_tail, printable
from earnest.verification.missing import SHELL, missing_program
from earnest.verification.paths import check_inside
from earnest.verification.patterns import is_found
from earnest.verification.plugin import CheckTools, ConfiguredCheck, Findings, Subject
from earnest.verification.values import read_pattern

COMMAND_CHARACTERS_MAX: Final = 8_000
ARGUMENTS_MAX: Final = 100
EXCERPT_CHARACTERS: Final = 1_500
STREAMS: Final = ("stdout", "stderr")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    argv: tuple[str, ...]
    exit_code: int
    contains: tuple[tuple[str, str], ...]
    patterns: tuple[tuple[str, str], ...]


async def _measure(wanted: _Config, subject: Subject, tools: CheckTools) -> Findings:
    """See docs/checks/command.md."""
    report = await tools.sandbox.run(
        Execution(
            profile=Profile.VERIFY,
            argv=wanted.argv,
            work=subject.snapshot.folder,
            mounts=subject.mounts,
            limits=tools.limits,
        )
    )
    if cannot := await _cannot_run(wanted, report, subject, tools):
        return Findings(passed=None, cannot_run=True, reason=cannot, reports=(report,))
    problem = "; ".join(_problems(wanted, report))
    evidence = (f"command: exit code {report.exit_code}",)
    if problem:
        return Findings(passed=False, reason=problem, reports=(report,), evidence=evidence)
    if not subject.trusted_workspace:
        reason = "the command ended as it should, but a submission can fake that: somebody has to look"
        return Findings(passed=None, reason=reason, reports=(report,), evidence=evidence)
    return Findings(passed=True, reason="the command ended as it should", reports=(report,), evidence=evidence)


def _read(reader: NodeReader, node: Node, _base_folder: Path | None) -> _Config:
    contains = {f"{stream}_contains": stream for stream in STREAMS}
    patterns = {f"{stream}_regex": stream for stream in STREAMS}
    entries = reader.mapping(node, required=("command",), optional=("exit_code", *contains, *patterns))
    return _Config(
        argv=_argv(reader, entries.get("command")),
        exit_code=reader.integer(entries.get("exit_code"), low=0, high=255, default=0),
        contains=tuple(
            (stream, reader.text(entries[key], at_most=COMMAND_CHARACTERS_MAX))
            for key, stream in contains.items()
            if key in entries
        ),
        patterns=tuple(
            (stream, read_pattern(reader, entries[key])) for key, stream in patterns.items() if key in entries
        ),
    )


def _argv(reader: NodeReader, node: Node | None) -> tuple[str, ...]:
    """A list is run as it is, a text by the shell."""
    check_inside(reader, node)
    if node is not None and isinstance(node.value, str):
        return (*SHELL, reader.text(node, at_most=COMMAND_CHARACTERS_MAX))
    return reader.texts(node, at_least=1, at_most=ARGUMENTS_MAX, characters_max=COMMAND_CHARACTERS_MAX)


async def _cannot_run(wanted: _Config, report: ExecutionReport, subject: Subject, tools: CheckTools) -> str:
    """Why the command itself could not be run to its end; empty if it could. A stranger's time is its own."""
    if subject.trusted_workspace and report.broken_limit == "wall time" and not report.leftovers:
        return f"the check cannot run: its command did not end within {report.wall_ms / 1000:.1f} s"
    return "" if report.exit_code == wanted.exit_code else await missing_program(wanted.argv, report, tools.sandbox)


def _problems(wanted: _Config, report: ExecutionReport) -> Iterator[str]:
    """All of them: who mends one is not to be sent back for the next."""
    text = {name: getattr(report, name).decode(errors="replace") for name in STREAMS}
    if report.exit_code != wanted.exit_code:
        ended = "died of a signal" if (report.exit_code or 0) < 0 else f"ended with exit code {report.exit_code}"
        last = head_tail((text["stderr"].strip() or text["stdout"].strip()), EXCERPT_CHARACTERS)
        yield f"the command {ended} instead of {wanted.exit_code}" + (f": {last}" if last else "")
    for stream, part in wanted.contains:
        if part not in text[stream]:
            yield f"{stream} does not contain {part[:80]!r}"
    for stream, pattern in wanted.patterns:
        if not is_found(pattern, text[stream]):
            yield f"{stream} does not match {printable(pattern[:80])}"


CHECK = ConfiguredCheck(kind="command", version=1, read=_read, measure=_measure, runs_code=True)
