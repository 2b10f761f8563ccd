"""Expected values that a test makes too late: after the call, from something that the submission could change."""

import ast
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

EQUALITIES: Final = frozenset(
    {"assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertSetEqual", "assertCountEqual"}
)
PLAIN: Final = frozenset({"len", "isinstance", "type", "id", "str", "repr"})

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def late_expectation(test: _Function, theirs: AbstractSet[str]) -> int:
    """The line of the first `assertEqual(f(x), sorted(x))`, 0 if there is none. `theirs`: names of the submission.

    Of a comparison, one side is what a call of the submission answered to a variable, the other is computed from that
    same variable after the call. What was computed before it, and the variable alone (changed in place as it should
    be), are no such thing.
    """
    given: set[str] = set()
    answers: dict[str, set[str]] = {}
    for statement in _statements(test.body):
        for left, right in _equalities(statement):
            for answer, expected in ((left, right), (right, left)):
                known = _given_in(answer, theirs) | {
                    name for each in _names(answer) for name in answers.get(each, set())
                }
                if known and _computes(expected) and _names(expected) & (known & (given | _given_in(answer, theirs))):
                    return statement.lineno
        new = _given_in(statement, theirs)
        given |= new
        if isinstance(statement, ast.Assign) and new:
            answers |= {name: new for target in statement.targets for name in _names(target)}
    return 0


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """One after another, those of blocks too; a block itself is not said again."""
    for statement in body:
        inner = [each for name in ("body", "orelse", "finalbody") for each in getattr(statement, name, [])]
        if not inner:
            yield statement
        elif not isinstance(statement, _Function | ast.ClassDef):
            yield from _statements(inner)


def _equalities(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in ast.walk(statement):
        match node:
            case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
                yield left, right
            case ast.Call(func=ast.Attribute(attr=name), args=[left, right, *_]) if name in EQUALITIES:
                yield left, right
            case _:
                pass


def _given_in(node: ast.AST, theirs: AbstractSet[str]) -> set[str]:
    """The variables that calls of the submission are given as they are."""
    return {
        argument.id
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and _root(call.func) in theirs
        for argument in (*call.args, *(keyword.value for keyword in call.keywords))
        if isinstance(argument, ast.Name)
    }


def _computes(node: ast.expr) -> bool:
    """True if it calls, indexes or comprehends something; of the plainest questions nothing is learned."""
    return any(
        isinstance(each, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Subscript)
        or (isinstance(each, ast.Call) and _root(each.func) not in PLAIN)
        for each in ast.walk(node)
    )


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
