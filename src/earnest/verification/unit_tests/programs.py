"""The programs that stand ready: the submission's side, and the tests' with unittest or with pytest.

They are made of this package's own modules and, for pytest, of the files of its distribution as they are installed
here, compiled: nothing of the host has to be shown inside.
"""

import functools
import importlib.util
import marshal
from pathlib import Path
from typing import Final

from earnest.effects.hands.sandbox.api import Program
from earnest.effects.hands.sandbox.compiled import marshalled
from earnest.foundation.errors import Unavailable

PACKAGE: Final = "earnest.verification.unit_tests"
STDLIB: Final = (
    *(
        "abc",
        "base64",
        "bisect",
        "calendar",
        "collections",
        "copy",
        "csv",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
    ),
    *("fractions", "functools", "hashlib", "heapq", "io", "itertools", "json", "math", "operator", "pathlib", "random"),
    *("re", "statistics", "string", "textwrap", "time", "types", "typing", "uuid"),
)
"""What submissions and tests mostly import."""
BOTH: Final = ("library", "values", "pipe", "held", "sharing")
SERVING: Final = ("surrounded", "theirs", "telling", "serving")
TESTS: Final = (
    *("failures", "volume", "asserting", "marking", "surroundings", "channel", "owned", "claims", "deriving"),
    *("objects", "ours", "meaning", "stand_in", "running"),
)
PYTEST: Final = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging")
PYGMENTS: Final = (
    *("", ".console", ".filter", ".filters", ".formatter", ".formatters", ".formatters._mapping"),
    *(".formatters.terminal", ".lexer", ".lexers", ".lexers._mapping", ".lexers.diff", ".lexers.python", ".modeline"),
    *(".plugin", ".regexopt", ".style", ".styles", ".styles._mapping", ".token", ".unistring", ".util"),
)

Modules = dict[str, tuple[bool, bytes]]


@functools.cache
def submission_program() -> Program:
    """Serves the submission."""
    modules = _own(*BOTH, *SERVING)
    return Program(modules=modules, imports=STDLIB, entry=f"{PACKAGE}.serving")


@functools.cache
def tests_program(runner: str) -> Program:
    """Runs tests with `unittest` or `pytest`."""
    modules = _own(*BOTH, *TESTS)
    imports: tuple[str, ...] = (*STDLIB, "unittest", f"{PACKAGE}.stand_in")
    if runner == "pytest":
        modules |= _own("ready_pytest") | _distribution()
        imports += (f"{PACKAGE}.ready_pytest",)
    return Program(modules=modules, imports=imports, entry=f"{PACKAGE}.running")


def _own(*names: str) -> Modules:
    modules: Modules = {}
    parts = PACKAGE.split(".")
    for end in range(1, len(parts) + 1):
        modules[".".join(parts[:end])] = (True, marshal.dumps(compile("", parts[end - 1], "exec")))
    here = Path(__file__).parent
    return modules | {f"{PACKAGE}.{name}": _module(f"{PACKAGE}.{name}", here / f"{name}.py") for name in names}


def _distribution() -> Modules:
    modules: Modules = {}
    for package in PYTEST:
        root = _root(package)
        for path in sorted(root.rglob("*.py")):
            relative = path.relative_to(root).with_suffix("")
            parts = [part for part in relative.parts if part != "__init__"]
            name = ".".join([package, *parts])
            modules[name] = _module(name, path)
    modules["py"] = _module("py", _root("pytest").with_name("py.py"))  # pytest's own file, beside its packages
    root = _root("pygments")
    for ending in PYGMENTS:
        path = root.joinpath(*ending.split(".")) if ending else root
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        modules[f"pygments{ending}"] = _module(f"pygments{ending}", path)
    return modules


def _root(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise Unavailable(f"{package}, which runs the tests, is not installed: install 'earnest[pytest]'")
    return Path(spec.origin).parent


def _module(name: str, path: Path) -> tuple[bool, bytes]:
    return path.name == "__init__.py", marshalled(name, path)
