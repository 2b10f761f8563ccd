"""Does every file hold to the house style that a machine can read?"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from .source import ROOT, SRC, expect_none, modules, shown, tree

LINES_MAX = 400
FUNCTION_LINES_MAX = 60

# Files or functions (`file::function`) that may be longer, each with its reason. It may only become shorter.
LONGER = {
    "src/earnest/app/platform.py::open_platform": "the one list of what is opened, in order; it decides nothing",
    "src/earnest/effects/hands/sandbox/pid1.py": "one file that runs inside the sandbox, where the package is not",
}

# Who may read a clock or a random source, with the reason.
CLOCK_READERS = {
    "src/earnest/effects/ground/clock.py": "it is the clock",
    "src/earnest/effects/hands/sandbox/launcher.py": "its token is a secret under any seed; it polls a process's birth",
    "src/earnest/effects/hands/sandbox/pid1.py": "one file that runs inside the sandbox, where the package is not",
    "src/earnest/effects/hands/sandbox/selftest.py": "its canary's name must be a secret under any seed",
    "src/earnest/verification/unit_tests/claims.py": "it asks in an order that the submission cannot know",
    "src/earnest/verification/unit_tests/library.py": "it carries UUIDs across, and makes none",
    "src/earnest/verification/unit_tests/ours.py": "it carries generators of chance across, and draws nothing",
    "src/earnest/verification/unit_tests/running.py": "it gives the tests' chance the verdict's seed",
    "src/earnest/verification/unit_tests/serving.py": "it gives the submission's the same",
    "src/earnest/verification/unit_tests/surrounded.py": "it sets for the submission what the tests set: seeds, clocks",
    "src/earnest/verification/unit_tests/surroundings.py": "it notices that the tests set a seed",
}

EMPTY_WORDS = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
CLOCK_MODULES = {"time", "random", "secrets", "uuid"}
CLOCK_ATTRIBUTES = {
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
    ("date", "today"),
    ("os", "urandom"),
    ("loop", "time"),
}


def test_the_first_line_of_a_file_says_what_is_there() -> None:
    silent = [
        shown(path)
        for path in modules("src", "benchmarks", "tests")
        if not (ast.get_docstring(tree(path)) and path.read_text(encoding="utf-8").startswith('"""'))
    ]
    expect_none(silent, "no docstring on the first line")
    asking = [shown(path) for path in modules() if "?" in (ast.get_docstring(tree(path)) or "").split("\n\n")[0]]
    expect_none(asking, "a docstring that asks instead of saying what is there")


def test_no_file_is_named_after_nothing() -> None:
    nameless = [
        shown(path)
        for path in modules("src", "benchmarks", "tests")
        if EMPTY_WORDS & set(path.stem.strip("_").split("_"))
    ]
    expect_none(nameless, "a name that says nothing")


def _long_places() -> Iterator[str]:
    for path in modules("src", "benchmarks"):
        if len(path.read_text(encoding="utf-8").splitlines()) > LINES_MAX:
            yield shown(path)
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _lines(node) > FUNCTION_LINES_MAX:
                yield f"{shown(path)}::{node.name}"


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_files_and_functions_stay_short() -> None:
    places = set(_long_places())
    expect_none(places - set(LONGER), f"over {LINES_MAX} lines, or a function over {FUNCTION_LINES_MAX}")
    expect_none(set(LONGER) - places, "exceptions that nobody needs any more")


def _clock_readings(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        match node:
            case ast.Import(names=names):
                taken = [name.name for name in names if name.name in CLOCK_MODULES]
            case ast.ImportFrom(module=str() as module, names=names):
                taken = [f"{module}.{name.name}" for name in names if module in CLOCK_MODULES]
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if (owner, name) in CLOCK_ATTRIBUTES:
                taken = [f"{owner}.{name}"]
            case _:
                taken = []
        yield from (f"{shown(path)}:{getattr(node, 'lineno', 0)} {name}" for name in taken)


def test_nobody_but_the_clock_reads_a_clock_or_a_random_source() -> None:
    readers = {shown(path): list(_clock_readings(path)) for path in modules("src")}
    readings = [reading for path, found in readers.items() if path not in CLOCK_READERS for reading in found]
    expect_none(readings, "reads a clock or a random source")
    expect_none((path for path in CLOCK_READERS if not readers.get(path)), "exceptions that nobody needs any more")


def _sleeps(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="asyncio" | "time"), attr="sleep"), args=[ast.Constant(value=0)]
            ):
                pass
            case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio" | "time"), attr="sleep")):
                yield f"{shown(path)}:{node.lineno}"
            case _:
                pass


def test_tests_never_sleep() -> None:
    expect_none((place for path in modules("tests") for place in _sleeps(path)), "a test sleeps")


def test_only_the_clock_sleeps() -> None:
    sleepers = [path for path in modules("src") if shown(path) not in CLOCK_READERS]
    expect_none((place for path in sleepers for place in _sleeps(path)), "sleeps beside the clock")


def test_a_room_says_what_may_live_in_it_and_nothing_else() -> None:
    talkative = [
        shown(path)
        for path in SRC.rglob("__init__.py")
        if path.parent != SRC and not all(_is_docstring(node) for node in tree(path).body)
    ]
    expect_none(talkative, "more than a docstring")


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def test_a_class_has_its_name_for_itself() -> None:
    """But for the shape of a thing in answers, which is called as the thing is."""
    named: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        if not path.name.startswith("payloads"):
            for node in tree(path).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    named[node.name].append(shown(path))
    expect_none((f"{name}: {', '.join(found)}" for name, found in named.items() if len(found) > 1), "two meanings")


def test_few_words_are_public() -> None:
    public = [
        name.asname or name.name
        for node in tree(SRC / "__init__.py").body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    ]
    assert len(public) < 20


def test_tests_have_sentences_for_names() -> None:
    short = [
        f"{shown(path)}::{node.name}"
        for path in modules("tests")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and len(re.findall(r"[a-z0-9]+", node.name)) < 4
    ]
    expect_none(short, "a name that is no sentence")


def test_the_tests_mirror_the_rooms() -> None:
    rooms = {path.name for path in SRC.iterdir() if path.is_dir()} | {
        "repository",
        "security",
        "stories",
        "tasks",
        "__pycache__",
    }
    expect_none(
        (path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name not in rooms), "no room"
    )
