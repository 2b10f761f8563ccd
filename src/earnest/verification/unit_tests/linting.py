"""Tests that prove nothing, as far as their text tells: of hidden ones it is said before anybody works by them."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from earnest.verification.plugin import Weakness
from earnest.verification.unit_tests.asserting import Function, asserts, functions_in, parsed

EQUALITIES: Final = frozenset({"assertEqual", "assertEquals", "assertNotEqual", "assertListEqual", "assertTupleEqual"})

_EQUAL: Final = frozenset(
    {"assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertSetEqual", "assertCountEqual"}
)
_PLAIN: Final = frozenset({"len", "isinstance", "type", "id", "str", "repr"})


def complaints(files: Mapping[str, bytes], modules: Sequence[str], min_tests: int) -> Iterator[Weakness]:
    """One sentence for each. Grave is a file that is no Python, and too few tests of which the submission cannot make
    each pass: that a test proves nothing is named, and harms nobody where others decide."""
    count = weak = 0
    for name, content in files.items():
        if not name.endswith(".py"):
            continue
        tree = parsed(content)
        if tree is None:
            yield Weakness("tests", f"{name} is no Python")
            return
        tests = [function for function in functions_in(tree) if function.name.startswith("test")]
        count += sum(min_tests if _is_multiplied(test) else 1 for test in tests)
        own = {function.name for function in functions_in(tree)} - {test.name for test in tests}
        theirs = _Theirs(tree, modules)
        for test in tests:
            after = 0
            if not any(asserts(node, own) for node in ast.walk(test)):
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

    def decides_nothing(self, test: Function) -> bool:
        """True if all that it compares are objects of the submission with each other."""
        compared = [sides for node in ast.walk(test) if (sides := _compared(node)) is not None]
        asserted = [node for node in ast.walk(test) if asserts(node, ())]
        if not compared or len(compared) < len(asserted):
            return False
        return all(len(sides) == 2 and all(map(self._is_object, sides)) for sides in compared)

    def _is_object(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return self._is_object(node.left) or self._is_object(node.right)
        if not isinstance(node, ast.Call):
            return False
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return function.value.id in self._modules and function.attr[:1].isupper()
        return isinstance(function, ast.Name) and function.id in self._names and function.id[:1].isupper()


def _compared(node: ast.AST) -> Sequence[ast.expr] | None:
    """The sides of `==`, `!=` and the methods that mean them, as far as they are plainly given."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq(), *_], comparators=[right, *_]):
            return [left, right]
        case ast.Call(func=ast.Attribute(attr=name), args=given) if name in EQUALITIES:
            return given[:2]
    return None


def _is_multiplied(test: Function) -> bool:
    """True if it is parametrized, and so more than one test."""
    return any("parametrize" in ast.dump(decorator) for decorator in test.decorator_list)


def late_expectation(test: Function, theirs: AbstractSet[str]) -> int:
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
        elif not isinstance(statement, Function | ast.ClassDef):
            yield from _statements(inner)


def _equalities(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in ast.walk(statement):
        match node:
            case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
                yield left, right
            case ast.Call(func=ast.Attribute(attr=name), args=[left, right, *_]) if name in _EQUAL:
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
        or (isinstance(each, ast.Call) and _root(each.func) not in _PLAIN)
        for each in ast.walk(node)
    )


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
