"""Skips that tests hold as they are written: nothing that the submission answers decides about them.

A mark without a condition is one; so is a mark, `skipTest` or `pytest.skip` whose conditions name nothing that comes
from the submission, as far as names tell. Names of functions (`f.__name__`) are no answers.
"""

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from earnest.verification.unit_tests.asserting import Function, functions_in, last_name, parsed

MARKS: Final = frozenset({"skip", "skipIf", "skipUnless", "skipif", "xfail", "expectedFailure"})
CALLS: Final = frozenset({"skip", "skipTest", "SkipTest", "importorskip", "xfail"})
FILLING: Final = frozenset({"append", "appendleft", "extend", "insert", "add", "update", "setdefault"})


def held_skips(files: Mapping[str, bytes], modules: Sequence[str]) -> frozenset[str]:
    """The names of the test functions that may be skipped; no file that cannot be read holds any."""
    held: set[str] = set()
    caused: set[str] = set()
    for tree, tainted in origins(files, modules).values():
        for function, conditions in _skips(tree):
            (caused if any(names_in(each) & tainted for each in conditions) else held).add(function)
    return frozenset(held - caused)


def origins(files: Mapping[str, bytes], modules: Sequence[str]) -> dict[str, tuple[ast.Module, set[str]]]:
    """Of each file of Python that can be read, what it says, and its names that may hold what the submission made."""
    trees = {name: tree for name, content in files.items() if name.endswith(".py") and (tree := parsed(content))}
    stems = {name: name.removesuffix(".py").rpartition("/")[2] for name in trees}
    theirs = set(modules)
    while True:  # a file that imports what comes from the submission hands it on
        more = {
            stems[name] for name, tree in trees.items() if any(_is_theirs(each, theirs) for _, each in _imports(tree))
        } - theirs
        if not more:
            break
        theirs |= more
    return {name: (tree, _tainted(tree, theirs)) for name, tree in trees.items()}


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The name that each import binds, and the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module or ''}.{alias.name}".strip(".")


def _is_theirs(module: str, theirs: set[str]) -> bool:
    return any(module == own or module.startswith(own + ".") for own in theirs)


def imported_names(tree: ast.Module, theirs: set[str]) -> set[str]:
    """The names that a file imports from these modules; of `import *` those that nothing else in it binds."""
    names = {name for name, module in _imports(tree) if _is_theirs(module, theirs)}
    if "*" in names:
        bound = {name for targets, _ in _bindings(tree) for name in targets} | {name for name, _ in _imports(tree)}
        names |= names_in(tree) - bound - vars(builtins).keys()
    return names


def _tainted(tree: ast.Module, theirs: set[str]) -> set[str]:
    """The names of a file that may hold what comes from the submission; `self` is always one."""
    tainted = {"self", "cls"} | imported_names(tree, theirs)
    bindings = [(set(targets), _names_of(sources)) for targets, sources in _bindings(tree)]
    while grown := {name for targets, sources in bindings if sources & tainted for name in targets} - tainted:
        tainted |= grown
    return tainted


def _bindings(tree: ast.Module) -> Iterator[tuple[Iterable[str], Sequence[ast.AST]]]:
    """Names, and what their values are made from. A function is made from its body, as are fixtures by its name."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield _names_of(targets), [value]
            case ast.AnnAssign() | ast.AugAssign() | ast.NamedExpr():
                yield names_in(node.target), [node.value] if node.value else []
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                yield names_in(node.target), [node.iter]
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                yield names_in(target), [value]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield [node.name], list(node.body)
                made = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                yield made, list(node.decorator_list)
            case ast.ClassDef():
                yield [node.name], [*node.body, *node.bases]
            case ast.Call(func=ast.Attribute(value=ast.Name(id=holder), attr=how), args=arguments) if how in FILLING:
                yield [holder], list(arguments)
            case _:
                pass


def _names_of(nodes: Iterable[ast.AST]) -> set[str]:
    return {name for node in nodes for name in names_in(node)}


def names_in(node: ast.AST) -> set[str]:
    """All names in it, but for those of which only `__name__` is asked."""
    if isinstance(node, ast.Attribute) and node.attr == "__name__":
        return set()
    here = {node.id} if isinstance(node, ast.Name) else set()
    return here | _names_of(ast.iter_child_nodes(node))


def _skips(tree: ast.Module) -> Iterator[tuple[str, Sequence[ast.AST]]]:
    """The tests that each skip is about, and what decides about it."""
    everywhere = [function.name for function in functions_in(tree)]
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            about = [each.name for each in functions_in(node)]
            for decorator in node.decorator_list:
                mark = _mark(decorator)
                yield from ((name, [mark]) for name in about if mark is not None)
        elif isinstance(node, ast.Assign) and "pytestmark" in _names_of(node.targets):
            yield from ((name, [node.value]) for name in everywhere if _mark(node.value) is not None)
    yield from _raised(tree, [])


def _mark(node: ast.AST) -> ast.AST | None:
    """The decorator, if it or one in it (of a parameter) skips; of a parameter only the mark decides."""
    return next((each for each in ast.walk(node) if _is_mark(each)), None)


def _is_mark(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, ast.Attribute | ast.Name) and last_name(called) in MARKS


def _raised(node: ast.AST, around: list[ast.AST]) -> Iterator[tuple[str, list[ast.AST]]]:
    """Each `skip(…)` in a function, with the headers of all that stands around it, and what ran before it there."""
    if isinstance(node, ast.Call) and last_name(node.func) in CALLS:
        functions = [each for each in around if isinstance(each, Function)]
        if functions:
            yield (
                functions[0].name,
                [part for outer, inner in pairwise([*around, node]) for part in _header(outer, inner)],
            )
    for child in ast.iter_child_nodes(node):
        yield from _raised(child, [*around, node])


def _header(outer: ast.AST, inner: ast.AST) -> list[ast.AST]:
    """What decides whether `inner`, a part of `outer`, is reached."""
    match outer:
        case ast.If() | ast.While() | ast.IfExp():
            return [outer.test]
        case ast.For() | ast.AsyncFor():
            return [outer.iter]
        case ast.Match():
            return [outer.subject]
        case ast.Try() | ast.With() | ast.AsyncWith() | ast.BoolOp():
            return [part for part in ast.iter_child_nodes(outer) if part is not inner]
        case ast.ExceptHandler() | ast.FunctionDef() | ast.AsyncFunctionDef() if not isinstance(inner, ast.arguments):
            return _returns(outer, inner)
        case _:
            return []


def _returns(outer: ast.AST, inner: ast.AST) -> list[ast.AST]:
    """What stands before it and can leave early: a skip after `if done: return` is decided there."""
    before: list[ast.AST] = []
    for part in getattr(outer, "body", []):
        if part is inner:
            break
        if any(isinstance(each, ast.Return | ast.Raise) for each in ast.walk(part)):
            before.append(part)
    return before
