"""The repository as values: its files, their syntax trees, and the tables in its documents."""

import ast
import gc
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "earnest"
DOCS = ROOT / "docs"


def expect_none(found: Iterable[str], complaint: str) -> None:
    """Fail with every place that was found, one a line."""
    places = sorted(found)
    assert not places, "\n".join([complaint + ":", *places])


def shown(path: Path) -> str:
    """A path as people of this repository write it."""
    return path.relative_to(ROOT).as_posix()


def modules(*folders: str) -> list[Path]:
    """Every Python file below the folders, generated ones left out."""
    return sorted(
        path for folder in folders for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts
    )


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file, parsed once."""
    parsed = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    gc.freeze()  # the collector would walk through all trees again and again, which takes four times as long
    return parsed


@cache
def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@cache
def kept_files() -> tuple[Path, ...]:
    """Every text file that is not ignored. Found without git, so that an unpacked archive can be tested too."""
    ignored = [".git", *(line.rstrip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").split())]

    def kept(names: list[str]) -> list[str]:
        return sorted(name for name in names if not any(fnmatch(name, pattern) for pattern in ignored))

    found: list[Path] = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = kept(folders)
        found += (Path(folder, name) for name in kept(names))
    return tuple(path for path in found if path.is_file() and b"\0" not in path.read_bytes())


def documents() -> list[Path]:
    """Every Markdown file of the repository."""
    return [path for path in kept_files() if path.suffix == ".md"]


def page(name: str) -> str:
    """A document of docs/; one that is missing is a failed test, not a broken one."""
    path = DOCS / name
    assert path.is_file(), f"docs/{name} is missing"
    return path.read_text(encoding="utf-8")


def prose(path: Path) -> str:
    """A Markdown document without its fenced code."""
    return re.sub(r"^(```|~~~).*?^\1", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def first_cells(name: str) -> list[str]:
    """All that stands in backticks in the first cells of table rows of a document of docs/."""
    cells = re.findall(r"^\| *(`[^|]*)", page(name), flags=re.MULTILINE)
    return [text for cell in cells for text in re.findall(r"`([^`]+)`", cell)]


Function = ast.FunctionDef | ast.AsyncFunctionDef


def calls(path: Path, name: str) -> Iterator[tuple[ast.Call, Function | None]]:
    """Every call of `name(...)` or `….name(...)` in a file, with the function that it stands in."""
    for node, function in _walk(tree(path), None):
        match node:
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called == name:
                yield node, function
            case _:
                pass


def _walk(node: ast.AST, function: Function | None) -> Iterator[tuple[ast.AST, Function | None]]:
    yield node, function
    inside = node if isinstance(node, Function) else function
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, inside)


def argument(call: ast.Call, keyword: str, position: int | None = None) -> ast.expr | None:
    """An argument of a call, by keyword or else by position."""
    for given in call.keywords:
        if given.arg == keyword:
            return given.value
    if position is not None and position < len(call.args):
        return call.args[position]
    return None


def words(path: Path, node: ast.expr | None, function: Function | None) -> set[str] | None:
    """The texts that an expression can stand for, or None if the source does not tell.

    Understood are literals, constants of the file or of a module of ours, choices of these, and parameters of
    `function` that the file's own calls of it fill with these.
    """
    match node:
        case ast.Constant(value=str() as text):
            return {text}
        case ast.IfExp(body=body, orelse=orelse):
            return _union([words(path, body, function), words(path, orelse, function)])
        case ast.Name(id=name) if function is not None and name in (parameters := _parameters(function)):
            given = [
                words(path, argument(call, name, parameters.index(name)), caller)
                for call, caller in calls(path, function.name)
            ]
            return _union(given) if given else None
        case ast.Name(id=name):
            return _constants(path).get(name)
        case _:
            return None


def _union(sets: list[set[str] | None]) -> set[str] | None:
    return None if None in sets else set().union(*(found or () for found in sets))


def _parameters(function: Function) -> list[str]:
    names = [parameter.arg for parameter in (*function.args.args, *function.args.kwonlyargs)]
    return [name for name in names if name not in {"self", "cls"}]


@cache
def _constants(path: Path) -> dict[str, set[str]]:
    """Module-level names that stand for one text, given here or in the module of ours that they come from."""
    found: dict[str, set[str]] = {}
    for node in tree(path).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str() as text)):
                found[name] = {text}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str() as text)):
                found[name] = {text}
            case ast.ImportFrom(module=str() as module, names=names):
                source = ROOT / "src" / f"{module.replace('.', '/')}.py"
                theirs = _constants(source) if source.is_file() else {}
                found |= {name.asname or name.name: theirs[name.name] for name in names if name.name in theirs}
            case _:
                pass
    return found
