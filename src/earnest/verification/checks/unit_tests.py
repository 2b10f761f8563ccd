"""Check kind `unit_tests`: hidden tests pass, with the submission behind a plain-data pipe."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.verification.paths import beside_fault, read_beside, read_entry
from earnest.verification.plugin import CheckTools, ConfiguredCheck, Findings, Subject, Weakness
from earnest.verification.unit_tests.judging import judge_apart
from earnest.verification.unit_tests.linting import complaints
from earnest.verification.unit_tests.mutants import judge_own_tests
from earnest.verification.unit_tests.trial import SuitePlan

FILES_MAX: Final = 1_000
MODULES_MAX: Final = 20
TESTS_MAX: Final = 10_000
KILLED_PERCENT: Final = 70
_MODULE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


async def _measure(wanted: SuitePlan, subject: Subject, tools: CheckTools) -> Findings:
    """See docs/checks/unit_tests.md. Every run has a pair of sandboxes of its own."""
    if not wanted.in_work:
        plan = wanted.with_files({name: read_beside(subject.base_folder, name) for name in wanted.tests})
        return await judge_apart(plan, subject.snapshot.folder, tools)
    files = {entry.path: entry for entry in subject.snapshot.entries}
    missing = next((name for name in wanted.tests if name not in files), None)
    if missing is not None:
        return Findings(passed=False, reason=f"the submission brought no {missing}")
    sources = {path: read_entry(subject.snapshot, entry) for path, entry in files.items()}
    plan = wanted.with_files({name: sources[name] for name in wanted.tests})
    return await judge_own_tests(plan, sources, tools, wanted.killed_percent)


def _lint(wanted: SuitePlan, base_folder: Path | None) -> Sequence[Weakness]:
    if wanted.in_work or base_folder is None:
        return ()
    files = {name: read_beside(base_folder, name) for name in wanted.tests}
    return list(complaints(files, wanted.modules, wanted.min_tests))


def _read(reader: NodeReader, node: Node, base_folder: Path | None) -> SuitePlan:
    optional = ("module", "modules", "tests", "tests_in_work", "min_tests", "skips", "runner", "isolation")
    entries = reader.mapping(node, required=(), optional=(*optional, "killed_percent"))
    if ("module" in entries) == ("modules" in entries):
        reader.fault(node, "give exactly one of module and modules")
    if ("tests" in entries) == ("tests_in_work" in entries):
        reader.fault(node, "give exactly one of tests and tests_in_work")
    in_work = "tests_in_work" in entries
    runner = reader.choice(entries.get("runner"), ["unittest", "pytest"], default="")
    isolation = reader.choice(entries.get("isolation"), ["split", "shared"], default="split")
    if in_work and isolation == "shared":
        reader.fault(node, "tests that the submission brought are always split from it")
    if "killed_percent" in entries and not in_work:
        reader.fault(node, "killed_percent belongs to tests_in_work")
    return SuitePlan(
        modules=_modules(reader, entries.get("modules", entries.get("module"))),
        tests=_tests(reader, entries.get("tests", entries.get("tests_in_work")), None if in_work else base_folder),
        in_work=in_work,
        min_tests=reader.integer(entries.get("min_tests"), low=1, high=TESTS_MAX, default=1),
        skips=reader.integer(entries["skips"], low=0, high=TESTS_MAX, default=0) if "skips" in entries else None,
        runner=runner,
        shared=isolation == "shared",
        killed_percent=reader.integer(entries.get("killed_percent"), low=1, high=100, default=KILLED_PERCENT),
    )


def _modules(reader: NodeReader, node: Node | None) -> tuple[str, ...]:
    names = reader.texts(node, at_least=1, at_most=MODULES_MAX, characters_max=200)
    for name in names:
        if node is not None and name and not _MODULE.fullmatch(name):
            reader.fault(node, f"{name!r} is not the name of a module")
    return names


def _tests(reader: NodeReader, node: Node | None, base_folder: Path | None) -> tuple[str, ...]:
    names = reader.texts(node, at_least=1, at_most=FILES_MAX, characters_max=1_024)
    if node is None or not all(names):
        return names
    for name in names:
        if fault := beside_fault(base_folder, name):
            reader.fault(node, fault)
    if names and not any(name.endswith(".py") for name in names):
        reader.fault(node, "none of them is a file of Python")
    return names


CHECK = ConfiguredCheck(kind="unit_tests", version=3, read=_read, measure=_measure, runs_code=True, lint=_lint)
