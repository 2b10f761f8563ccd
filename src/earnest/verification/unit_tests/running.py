"""The program that runs hidden tests and counts, in a sandbox joined to the submission's by a pipe.

Called with one JSON object: `modules`, `tests` (paths below /work), `runner`, `shared` (the submission stands in
/work/submission, in this very process), `seed` for chance, and `result`: the artifact to be written after the last
test, and `volume`: one that is written meanwhile. Nothing that a test prints is read; a run that does not come to its
end leaves no result.
"""

# Names and arguments are those that unittest and pytest call; paths are those of the sandbox, and need no objects.
# ruff: noqa: ARG002, N802, N815, PTH103, PTH112, PTH113, PTH119, PTH123, PTH208, PTH211

import contextlib
import importlib.util
import json
import os
import random
import re
import sys
import unittest
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from earnest.verification.unit_tests.channel import CHANNEL, Lost
from earnest.verification.unit_tests.claims import CLAIMS
from earnest.verification.unit_tests.failures import FILES, place
from earnest.verification.unit_tests.marking import NOTES, mark_files
from earnest.verification.unit_tests.ours import OPEN_MODULES
from earnest.verification.unit_tests.stand_in import separate
from earnest.verification.unit_tests.volume import VOLUME

WORK: Final = "/work"
SUBMISSION: Final = "/work/submission"
TEMPORARY: Final = "/tmp/tests"  # noqa: S108 - in memory, of this run alone
RECURSION: Final = 3_000  # 150 calls within calls; `mock.call` is unwrapped as often when pytest looks at it
REASON_CHARACTERS_MAX: Final = 300
SUBMITTED: Final[set[str]] = set()
"""The outermost packages of the modules that the submission should hold."""


@dataclass(slots=True)
class SuiteCount:
    """What happened to the tests.

    `skips` names the functions that were skipped or expected to fail; a name is empty where there is none, or it was
    not the tests' doing. `reason` tells of the first failure by its kind and `place` by its line, `broken` why tests
    could not be read and `blame` whether the submission is to blame for that. `limited` are tests that did not pass
    and needed what the split does not carry: the first is `limit`. `asserted` are tests that passed and asserted
    something; `weak` is what else the notes told of tests that passed.
    """

    run: int = 0
    passed: int = 0
    skipped: int = 0
    skips: list[str] = field(default_factory=list)
    collected: int = 0
    deselected: int = 0
    broken: str = ""
    blame: bool = False
    reason: str = ""
    place: str = ""
    calls: int = 0
    fault: str = ""
    inseparable: str = ""
    limited: int = 0
    limit: str = ""
    asserted: int = 0
    weak: list[list[Any]] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    finished: bool = False

    def begun(self) -> None:
        """Count a test that begins."""
        self.run += 1
        NOTES.begin()
        VOLUME.begin()

    def ended(self, name: str, *, bad: bool, skips: Sequence[str]) -> None:
        """Count the test of this function, that ended; `bad` and the names of `skips` as far as its runner heard."""
        told, has_asserted = NOTES.told(name), NOTES.ran
        CLAIMS.between()
        failed, swallowed = CHANNEL.failures.take()
        if failed and not bad:
            self.reason = self.reason or "AssertionError"
        names = [*skips, *([""] if swallowed else [])]
        self.skips += names
        self.skipped += bool(names) and not (bad or failed)
        is_passed = not (bad or failed or names)
        self.passed += is_passed
        self.asserted += is_passed and has_asserted
        if is_passed and told is not None and told not in self.weak:
            self.weak.append(told)
        if CHANNEL.limits and not is_passed:
            self.limited += 1
            self.limit = self.limit or CHANNEL.limits[0]
        CHANNEL.limits.clear()

    def failed(self, error: BaseException | type | None) -> None:
        """Keep the kind of the first failure."""
        if not self.reason and error is not None:
            self.reason, self.place = _kind(error), place(error)


def main(arguments: list[str]) -> int:
    """Run, count, write."""
    job: dict[str, Any] = json.loads(arguments[0])
    sys.dont_write_bytecode = True
    sys.argv = ["tests"]
    random.seed(job["seed"])
    count = SuiteCount()
    FILES.update(f"{WORK}/{name}" for name in job["tests"])
    paths = [f"{WORK}/{name}" for name in job["tests"] if _is_test(name)]
    folders = list(dict.fromkeys(_place(path)[0] for path in paths))
    if job["shared"]:
        sys.path[:0] = [SUBMISSION]
        _join_folders()
        sys.path += folders
        before = _nothing
    else:
        sys.setrecursionlimit(RECURSION)
        before = separate(job["modules"]).forget
        SUBMITTED.update(name.partition(".")[0] for name in job["modules"])
        mark_files()
        VOLUME.keep_in(f"{WORK}/{job['volume']}")
        OPEN_MODULES.update(_place(f"{WORK}/{name}")[1].removesuffix(".__init__") for name in job["tests"])
        sys.path[:0] = folders
    os.makedirs(TEMPORARY, exist_ok=True)
    try:
        if job["runner"] == "pytest":
            run_pytest(paths, count, before)
        else:
            run_unittest(paths, count, before)
    finally:
        if not job["shared"]:
            CLAIMS.settle()
            if any(CHANNEL.failures.take()):  # after the last test
                count.run += 1
            count.calls, count.fault, count.inseparable = CHANNEL.calls, CHANNEL.fault, CHANNEL.inseparable
            count.flags = sorted(CHANNEL.flags)
        with open(f"{WORK}/{job['result']}", "w", encoding="ascii") as file:
            json.dump(asdict(count), file)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(0)


def run_unittest(paths: list[str], count: SuiteCount, before: Callable[[], None]) -> None:
    """Every test case of the files, in order."""
    result = SuiteResult(count)
    suites = []
    for path in paths:
        try:
            before()
            suite = unittest.defaultTestLoader.loadTestsFromModule(_imported(path))
        except (Exception, SystemExit, Lost) as error:
            _broken(count, error)
            return
        suites.append(suite)
        count.collected += suite.countTestCases()
    for suite in suites:
        suite.run(result)
    count.finished = True


class SuiteResult(unittest.TestResult):
    """Counts; a test with a subtest that failed has failed."""

    def __init__(self, count: SuiteCount) -> None:
        super().__init__()
        self._count = count
        self._bad = False
        self._skips: list[str] = []

    def startTest(self, test: unittest.TestCase) -> None:
        """See `unittest.TestResult`."""
        super().startTest(test)
        self._bad, self._skips = False, []
        self._count.begun()

    def stopTest(self, test: unittest.TestCase) -> None:
        """See `unittest.TestResult`."""
        super().stopTest(test)
        NOTES.ran |= type(test).__module__ == "doctest"
        self._count.ended(getattr(test, "_testMethodName", ""), bad=self._bad, skips=self._skips)

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        """Also for what goes wrong around tests."""
        self._bad = True
        self._count.failed(err[1])
        if not hasattr(test, "_testMethodName"):  # what stands around the tests of a class or file
            self._count.run += 1

    addFailure = addError

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        """See `unittest.TestResult`."""
        if err is not None:
            self.addError(test, err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        """A skipped test proves nothing; a subtest is part of its test."""
        if hasattr(test, "_testMethodName") or hasattr(test, "test_case"):
            self._skips.append(getattr(getattr(test, "test_case", test), "_testMethodName", ""))
        else:  # what stands around the tests of a class or file
            self._count.skips.append("")

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        """Nor does one that is expected to fail."""
        self.addSkip(test, "")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        """Nor one that was, and should have."""
        self._skips.append("")


def run_pytest(paths: list[str], count: SuiteCount, before: Callable[[], None]) -> None:
    """What pytest finds in the files."""
    from earnest.verification.unit_tests import ready_pytest  # noqa: PLC0415 - not there for unittest

    status = ready_pytest.run(WORK, f"{TEMPORARY}/pytest", paths, Counter(count, before))
    count.finished = status in {0, 1} or bool(count.broken)


class Counter:
    """A plug-in of pytest that counts by itself."""

    def __init__(self, count: SuiteCount, before: Callable[[], None]) -> None:
        self._count = count
        self._before = before
        self._bad = False
        self._skips: list[str] = []

    def pytest_collectstart(self, collector: Any) -> None:
        """Before a file of tests is imported."""
        if type(collector).__name__ == "Module":
            self._before()

    def pytest_pycollect_makeitem(self, collector: Any, name: str, obj: object) -> list[object] | None:
        """Nothing of the submission is a test."""
        return [] if getattr(type(obj), "__test__", True) is False else None

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """Of a test, and of a file that cannot be imported."""
        error = call.excinfo.value
        if report.when == "collect":
            _broken(self._count, error.__cause__ or error)
        else:
            self._count.failed(error)

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be imported, or skips itself."""
        if report.outcome == "skipped":
            self._count.skips.append("")
        elif report.outcome != "passed" and not self._count.broken:
            self._count.broken = "the tests cannot be read"

    def pytest_deselected(self, items: list[Any]) -> None:
        """What was left out."""
        self._count.deselected += len(items)

    def pytest_collection_finish(self, session: Any) -> None:
        """How many there are."""
        self._count.collected = len(session.items)

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """A test begins."""
        self._bad, self._skips = False, []
        self._count.begun()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """One of the three parts of a test has ended."""
        if report.outcome == "skipped" or hasattr(report, "wasxfail"):
            self._skips.append(_function(report.nodeid))
        elif report.outcome != "passed":
            self._bad = True

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """A test has ended."""
        self._count.ended(_function(nodeid), bad=self._bad, skips=self._skips)


def _function(nodeid: str) -> str:
    return nodeid.partition("[")[0].rpartition("::")[2]


def _place(path: str) -> tuple[str, str]:
    """The folder from which a file is imported, and the name of its module there: as pytest does."""
    folder, name = os.path.split(path.removesuffix(".py"))
    while os.path.isfile(f"{folder}/__init__.py"):
        folder, package = os.path.split(folder)
        name = f"{package}.{name}"
    return folder, name


def _imported(path: str) -> Any:
    name = _place(path)[1]
    if "." in name:
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_test(name: str) -> bool:
    return name.endswith(".py") and os.path.basename(name) not in {"conftest.py", "__init__.py"}


def _broken(count: SuiteCount, error: BaseException) -> None:
    """Tests that cannot be read. An error of the submission, or a name that it lacks, is its fault."""
    lacks = isinstance(error, ImportError) and (error.name or "").partition(".")[0] in SUBMITTED
    is_theirs = any("__number__" in vars(each) for each in (error, error.__cause__) if each is not None)
    count.blame = is_theirs or bool(CHANNEL.fault) or lacks
    text = f"{_kind(error)}: {error}" if count.blame else _kind(error)
    count.broken = re.sub(r"\s+", " ", text)[:REASON_CHARACTERS_MAX]


def _kind(error: BaseException | type) -> str:
    return (error if isinstance(error, type) else type(error)).__name__[:80]


def _join_folders() -> None:
    """What the submission brought stands beside the tests too, for those that start it as a program."""
    for name in os.listdir(SUBMISSION) if os.path.isdir(SUBMISSION) else ():
        if not os.path.lexists(f"{WORK}/{name}"):
            os.symlink(f"{SUBMISSION}/{name}", f"{WORK}/{name}")


def _nothing() -> None:
    """Before a file in the shared process."""
