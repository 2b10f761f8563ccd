"""Tests that passed and prove nothing: what the notes of a run mean, read off the tests' text. (Our side.)

=============================================== ==========================================================
noted                                           means, of a test that passed
=============================================== ==========================================================
nothing was asserted                            nothing, if it asserts nothing as it is written
a loop around an assertion had no items         flagged, if the submission made those (not their neighbours)
`zip` ended early beside one of its arguments   flagged, if that is the test's and another the submission's
NaN came from the submission                    flagged, unless the test speaks of NaN
what was handed over changed                    flagged, if the test makes what it expects of that afterwards
=============================================== ==========================================================
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from earnest.verification.unit_tests.asserting import Function, asserting_functions, functions_in
from earnest.verification.unit_tests.linting import late_expectation
from earnest.verification.unit_tests.skips import imported_names, names_in, origins

NAMED_MAX: Final = 5
ROW: Final = 6
WORK: Final = "/work/"
_NAN: Final = re.compile(rb"nan", re.I)


def vacuous_tests(files: Mapping[str, bytes], modules: Sequence[str], weak: Sequence[Any]) -> tuple[str, ...]:
    """Which tests prove nothing, and why. `weak` holds rows of a test's function and its notes (`marking.Notes`)."""
    if not weak:
        return ()
    tests = _Tests(files, modules)
    flags: list[str] = []
    for row in weak:
        if not isinstance(row, list | tuple) or len(row) != ROW:
            flags.append("a test passed, and what was noted of it cannot be read")
            continue
        name, has_asserted, empty, uneven, is_nan, has_changed = row
        if has_asserted:
            flags += [f"{name} passed, and {why}" for why in tests.faults(empty, uneven)]
        elif not tests.is_bare(name, empty):
            flags.append(f"{name} passed, and nothing was asserted in it")
        if is_nan and not tests.speaks_of_nan(name):
            flags.append(f"{name} passed on a NaN, of which it says nothing")
        if has_changed and tests.expects_late(name):
            flags.append(f"{name} passed, and what it expects was made of what the submission had changed")
    return tuple(dict.fromkeys(flags))[:NAMED_MAX]


class _Tests:
    """The tests' text."""

    def __init__(self, files: Mapping[str, bytes], modules: Sequence[str]) -> None:
        self._files = files
        self._origins = origins(files, modules)
        self._modules = set(modules)
        self._asserting = asserting_functions(tree for tree, _ in self._origins.values())

    def is_bare(self, name: str, empty: Sequence[str]) -> bool:
        """True if it asserts nothing as it is written, or only by chance of the tests' own data."""
        if name not in self._asserting:
            return True
        return bool(empty) and not any(self._is_theirs(place) for place in empty)

    def faults(self, empty: Sequence[str], uneven: Sequence[Any]) -> Iterator[str]:
        """Of a test that asserted something else."""
        for place in empty:
            if self._is_theirs(place) and not self._goes_by_neighbours(place):
                yield f"nothing came to be asserted in line {place.rpartition(':')[2]}"
        for place in dict.fromkeys(str(each[0]) for each in uneven):
            if self._is_cut_off(place, {each[1] for each in uneven if each[0] == place}):
                yield f"not all that it expects was compared in line {place.rpartition(':')[2]}"

    def speaks_of_nan(self, name: str) -> bool:
        """True if the word stands in the test, or outside all functions of its file."""
        for path, function in self._functions(name):
            lines = self._files[path].splitlines()
            others = {
                line
                for each in functions_in(self._origins[path][0])
                if each.name.startswith("test") and each is not function
                for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)
            }
            if any(_NAN.search(text) for line, text in enumerate(lines, 1) if line not in others):
                return True
        return False

    def expects_late(self, name: str) -> bool:
        """True if it, or a function of its file that it may call, expects what the submission could change."""
        for path, function in self._functions(name):
            tree, _ = self._origins[path]
            others = [each for each in functions_in(tree) if not each.name.startswith("test")]
            theirs = imported_names(tree, self._modules)
            if any(late_expectation(each, theirs) for each in (function, *others)):
                return True
        return False

    def _functions(self, name: str) -> list[tuple[str, Function]]:
        named = ((path, each) for path, (tree, _) in self._origins.items() for each in functions_in(tree))
        return [(path, each) for path, each in named if each.name == name]

    def _at(self, place: str) -> tuple[list[ast.AST], set[str]]:
        """What begins at a place, and the names of its file that the submission made."""
        path, _, line = place.removeprefix("if ").rpartition(":")
        tree, tainted = self._origins.get(path.removeprefix(WORK), (ast.Module([], []), set()))
        return [node for node in ast.walk(tree) if getattr(node, "lineno", 0) == int(line or 0)], tainted

    def _is_theirs(self, place: str) -> bool:
        """True if what decides about the items, or about going in, names what the submission made."""
        nodes, tainted = self._at(place)
        return any(names_in(part) & (tainted | self._handed_to(node)) for node in nodes for part in _deciding(node))

    def _goes_by_neighbours(self, place: str) -> bool:
        """True for `range(len(x) - 1)`, `zip(x, x[1:])`: one item has no neighbour, and that may be right."""
        parts = [part for node in self._at(place)[0] for each in _deciding(node) for part in ast.walk(each)]
        return any(isinstance(part, ast.Sub | ast.Slice) or getattr(part, "id", "") == "pairwise" for part in parts)

    def _handed_to(self, inner: ast.AST) -> set[str]:
        """What functions around it, that are no tests, are given: any test may give them what the submission made."""
        functions = [each for tree, _ in self._origins.values() for each in functions_in(tree)]
        around = [each for each in functions if not each.name.startswith("test") and inner in ast.walk(each)]
        return {each.arg for function in around for each in ast.walk(function.args) if isinstance(each, ast.arg)}

    def _is_cut_off(self, place: str, left: set[int]) -> bool:
        nodes, tainted = self._at(place)
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip":
                theirs = {at for at, argument in enumerate(node.args) if names_in(argument) & tainted}
                if theirs and left - theirs:
                    return True
        return False


def _deciding(node: ast.AST) -> list[ast.AST]:
    match node:
        case ast.For() | ast.AsyncFor():
            return [node.iter]
        case ast.While() | ast.If():
            return [node.test]
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            return [each.iter for each in node.generators]
        case _:
            return []
