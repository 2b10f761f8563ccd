"""Check kind `stdout`: a program prints exactly what it should, in every case.

The expected bytes never enter the sandbox: what came out is compared on our side.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.effects.hands.sandbox.api import Execution, ExecutionReport, Profile
from earnest.verification.missing import missing_program
from earnest.verification.paths import beside_fault, check_inside, read_beside
from earnest.verification.plugin import CheckTools, ConfiguredCheck, Findings, Subject

CASES_MAX: Final = 100
PROBLEMS_MAX: Final = 5
"""Cases that fail before the rest is left out: each may take all the time it has."""
ARGUMENTS_MAX: Final = 100
TEXT_CHARACTERS_MAX: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    args: tuple[str, ...]
    stdin: str
    expected: str
    expected_file: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    program: tuple[str, ...]
    cases: tuple[_Case, ...]
    trim_final_newline: bool


async def _measure(wanted: _Config, subject: Subject, tools: CheckTools) -> Findings:
    """See docs/checks/stdout.md.

    Cases run one after another, each in a sandbox of its own; a few that fail end them.
    """
    reports: list[ExecutionReport] = []
    problems: dict[str, str] = {}
    for at, case in enumerate(wanted.cases, start=1):
        expected = (
            read_beside(subject.base_folder, case.expected_file) if case.expected_file else case.expected.encode()
        )
        report = await tools.sandbox.run(
            Execution(
                profile=Profile.VERIFY,
                argv=(*wanted.program, *case.args),
                work=subject.snapshot.folder,
                mounts=subject.mounts,
                stdin=case.stdin.encode(),
                limits=tools.limits,
            )
        )
        reports.append(report)
        if missing := await missing_program(wanted.program, report, tools.sandbox):
            return Findings(passed=None, cannot_run=True, reason=missing, reports=tuple(reports))
        if problem := _problem(report, expected, trim=wanted.trim_final_newline):
            problems[f"case {at}"] = problem
        if len(problems) == PROBLEMS_MAX:
            break
    if problems:
        reason = "; ".join(f"{case} of {len(wanted.cases)}: {problem}" for case, problem in problems.items())
        return Findings(passed=False, reason=reason, reports=tuple(reports), evidence=tuple(problems))
    reason = f"all {len(wanted.cases)} cases printed exactly what they should"
    return Findings(passed=True, reason=reason, reports=tuple(reports), evidence=(f"cases 1 to {len(reports)}",))


def _read(reader: NodeReader, node: Node, base_folder: Path | None) -> _Config:
    entries = reader.mapping(node, required=("program", "cases"), optional=("trim_final_newline",))
    check_inside(reader, entries.get("program"))
    cases = reader.items(entries.get("cases"), at_least=1, at_most=CASES_MAX)
    return _Config(
        program=reader.texts(entries.get("program"), at_least=1, at_most=ARGUMENTS_MAX, characters_max=4_000),
        cases=tuple(_case(reader, case, base_folder) for case in cases),
        trim_final_newline=reader.boolean(entries.get("trim_final_newline"), default=False),
    )


def _case(reader: NodeReader, node: Node, base_folder: Path | None) -> _Case:
    entries = reader.mapping(node, required=(), optional=("args", "stdin", "expected", "expected_file"))
    if ("expected" in entries) == ("expected_file" in entries):
        reader.fault(node, "give exactly one of expected and expected_file")
    expected_file = entries.get("expected_file")
    name = reader.text(expected_file, at_most=1_024)
    if expected_file is not None and name and (fault := beside_fault(base_folder, name)):
        reader.fault(expected_file, fault)
    return _Case(
        args=reader.texts(entries.get("args"), at_most=ARGUMENTS_MAX, characters_max=4_000),
        stdin=reader.text(entries.get("stdin"), at_most=TEXT_CHARACTERS_MAX, empty=True),
        expected=reader.text(entries.get("expected"), at_most=TEXT_CHARACTERS_MAX, empty=True),
        expected_file=name or None,
    )


def _problem(report: ExecutionReport, expected: bytes, *, trim: bool) -> str | None:
    """What is wrong, showing what was printed but not what was expected."""
    if report.exit_code != 0:
        return f"the program ended with exit code {report.exit_code}"
    printed = report.stdout
    if trim:
        printed, expected = printed.removesuffix(b"\n"), expected.removesuffix(b"\n")
    if printed == expected:
        return None
    same = next((at for at, (a, b) in enumerate(zip(printed, expected, strict=False)) if a != b), None)
    if same is None:
        return f"stdout has {len(printed)} bytes and is too {'short' if len(printed) < len(expected) else 'long'}"
    line = printed[:same].count(b"\n") + 1
    return f"stdout is not what it should be from byte {same + 1} on (line {line}): {printed[same : same + 40]!r}"


CHECK = ConfiguredCheck(kind="stdout", version=1, read=_read, measure=_measure, runs_code=True)
