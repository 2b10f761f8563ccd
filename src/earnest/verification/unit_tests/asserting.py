"""Assertions as they are written: the functions of a test file that can fail a test. (Both sides.)"""

import ast
from collections.abc import Collection, Iterable, Sequence
from typing import Final

ASSERTING: Final = frozenset({"raises", "warns", "deprecated_call"})
_FAILING: Final = frozenset({"fail"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parsed(content: bytes) -> ast.Module | None:
    """A file of Python, if it can be read."""
    try:
        return ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def functions_in(tree: ast.AST) -> list[Function]:
    """Every function, those in classes and functions too."""
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def named(name: str) -> bool:
    """True for the name of what asserts something wherever it is called."""
    return name.startswith("assert") or name in ASSERTING


def asserts(node: ast.AST, own: Collection[str]) -> bool:
    """True for what can fail a test by itself; `own` are functions of the file that do."""
    if isinstance(node, ast.Assert | ast.Raise):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    return named(name) or name in _FAILING or name in own


def asserting_functions(trees: Iterable[ast.Module]) -> frozenset[str]:
    """Names of functions that assert something, or call one that does."""
    functions = [function for tree in trees for function in functions_in(tree)]
    found: frozenset[str] = frozenset()
    while True:
        more = frozenset(each.name for each in functions if any(asserts(node, found) for node in ast.walk(each)))
        if more == found:
            return found
        found = more


def can_fail(body: Sequence[ast.stmt]) -> bool:
    """True if a block ends the test by itself: by `raise`, `fail(…)` or `assert False`."""
    return any(
        isinstance(each, ast.Raise)
        or (isinstance(each, ast.Assert) and isinstance(each.test, ast.Constant))
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Call) and last_name(each.value.func) in _FAILING)
        for each in body
    )


def last_name(node: ast.AST) -> str:
    """Of `a.b.c` it is c."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
