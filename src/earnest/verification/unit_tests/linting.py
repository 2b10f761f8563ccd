"""Hidden tests that prove nothing, as far as their text tells, before anybody works by them."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from earnest.verification.plugin import Weakness
from earnest.verification.unit_tests.expecting import late_expectation

EQUALITIES: Final = frozenset({"assertEqual", "assertEquals", "assertNotEqual", "assertListEqual", "assertTupleEqual"})
ASSERTING: Final = frozenset({"raises", "warns", "fail", "deprecated_call"})

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def complaints(files: Mapping[str, bytes], modules: Sequence[str], min_tests: int) -> Iterator[Weakness]:
    """One sentence for each. Grave is a file that is no Python, and too few tests of which the submission cannot make
    each pass: that a test proves nothing is named, and harms nobody where others decide."""
    count = weak = 0
    for name, content in files.items():
        if not name.endswith(".py"):
            continue
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            yield Weakness("tests", f"{name} is no Python")
            return
        tests = [node for node in ast.walk(tree) if isinstance(node, _Function) and node.name.startswith("test")]
        count += sum(min_tests if _is_multiplied(test) else 1 for test in tests)
        own = {node.name for node in ast.walk(tree) if isinstance(node, _Function)} - {test.name for test in tests}
        theirs = _Theirs(tree, modules)
        for test in tests:
            after = 0
            if not any(_asserts(node, own) for node in ast.walk(test)):
                why = "asserts nothing"
            elif theirs.decides_nothing(test):
                why = "compares two objects of the submission, which proves nothing"
            elif after := late_expectation(test, theirs.names):
                why = f"makes what it expects in line {after} after the call, from what the submission was given"
            else:
                continue
            weak += not after
            yield Weakness("tests", f"{name}: {test.name} {why}", is_grave=False)
    if count < min_tests:
        yield Weakness("tests", f"there are {count} tests, and at least {min_tests} must run")
    elif weak and weak >= count:
        yield Weakness("tests", "none of the tests decides anything")


class _Theirs:
    """What of a file of tests is made from the submission's classes, as far as names tell."""

    def __init__(self, tree: ast.Module, modules: Sequence[str]) -> None:
        self._modules = set(modules)
        self._names: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in self._modules:
                self._names |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.Import):
                self._modules |= {alias.asname for alias in node.names if alias.name in modules and alias.asname}

    @property
    def names(self) -> frozenset[str]:
        """Of its modules and of what is imported from them."""
        return frozenset(self._names | self._modules)

    def decides_nothing(self, test: _Function) -> bool:
        """True if all that it compares are objects of the submission with each other."""
        compared = [node for node in ast.walk(test) if _compares(node)]
        asserted = [node for node in ast.walk(test) if _asserts(node, set())]
        return bool(compared) and len(compared) >= len(asserted) and all(map(self.is_compared, compared))

    def is_compared(self, node: ast.AST) -> bool:
        """True for `A(1) == A(1)` and `assertEqual(A(1), A(1))`."""
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            return self._is_object(node.left) and self._is_object(node.comparators[0])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in EQUALITIES:
            return len(node.args) > 1 and all(self._is_object(side) for side in node.args[:2])
        return False

    def _is_object(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return self._is_object(node.left) or self._is_object(node.right)
        if not isinstance(node, ast.Call):
            return False
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return function.value.id in self._modules and function.attr[:1].isupper()
        return isinstance(function, ast.Name) and function.id in self._names and function.id[:1].isupper()


def _compares(node: ast.AST) -> bool:
    """True for `==`, `!=` and the methods that mean them."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr in EQUALITIES
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq)


def _is_multiplied(test: _Function) -> bool:
    """True if it is parametrized, and so more than one test."""
    return any("parametrize" in ast.dump(decorator) for decorator in test.decorator_list)


def _asserts(node: ast.AST, own: set[str]) -> bool:
    """True for what can fail a test, or calls a function of the file, which may."""
    if isinstance(node, ast.Assert | ast.Raise):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name.startswith("assert") or name in ASSERTING or name in own
