"""Marks that tell what of the tests ran: assertions, and loops around assertions that were empty.

Runs with the tests: their files are imported with calls at these places. A mark cannot be named by a test, keeps lines
as they are, and says nothing about what was asserted. What it means is judged outside (`vacuous.py`).
"""

# Names are those that `ast.NodeTransformer` calls.
# ruff: noqa: N815

import ast
import builtins
from collections.abc import Iterable, Iterator
from importlib.machinery import SourceFileLoader
from typing import Any, Final

from earnest.verification.unit_tests import library
from earnest.verification.unit_tests.asserting import asserting_functions, asserts, can_fail, last_name, named
from earnest.verification.unit_tests.failures import FILES

RAN: Final = "@ran"  # no name that a test can write
REACHED: Final = "@reached"
ENTERED: Final = "@entered"
ITEMS: Final = "@items"
ZIPPED: Final = "@zipped"
SET_BACK: Final = "the submission changed what an object of the tests had counted"
CHOICE: Final = "if "
"""How the place of an `if` begins: file and line follow, as with all places."""
_TRUTHS: Final = frozenset({"assertTrue", "assertFalse", "assert_"})
_Comprehension = ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp


class Notes:
    """Of the test that runs now: `uneven` are the places and arguments of `zip` of which more was left, `counted` what
    the tests' own objects changed of themselves while the submission called them: attributes, ids of containers."""

    def __init__(self) -> None:
        self.ran = self.is_nan = self.has_changed = False
        self.reached: set[str] = set()
        self.entered: set[str] = set()
        self.uneven: set[tuple[str, int]] = set()
        self.counted: set[tuple[int, str] | int] = set()

    def begin(self) -> None:
        """A test begins."""
        self.__init__()  # type: ignore[misc]

    def told(self, name: str) -> list[Any] | None:
        """What there is to say of this test: its name, what ran, empty places, uneven ones, NaN, changes."""
        empty = sorted(place for place in self.reached - self.entered if not (self.ran and place.startswith(CHOICE)))
        if self.ran and not (empty or self.uneven or self.is_nan or self.has_changed):
            return None
        return [name, self.ran, empty, sorted(map(list, self.uneven)), self.is_nan, self.has_changed]

    def count(self, things: Iterable[Any], before: Iterable[dict[str, object]]) -> None:
        """What of these objects is no longer as `sizes` told."""
        for thing, old, new in zip(things, before, sizes(things), strict=True):
            changed = [name for name in new if new[name] != old.get(name)]
            held = _attributes(thing) if changed else {}
            self.counted |= {(id(thing), name) for name in changed} | {id(held[name]) for name in changed}


def sizes(things: Iterable[Any]) -> list[dict[str, object]]:
    """The attributes of each: numbers and texts, of containers how many items."""
    return [{name: _size(value) for name, value in _attributes(thing).items()} for thing in things]


def _attributes(thing: object) -> dict[str, Any]:
    """As they are, whatever the object says of itself."""
    try:
        held: dict[str, Any] = object.__getattribute__(thing, "__dict__")
    except (AttributeError, TypeError):
        return {}
    return held if type(held) is dict else {}


def _size(value: Any) -> object:
    kind = type(value)
    if kind in {int, float, str, bool}:
        return value
    return len(value) if kind in library.CONTAINERS else None


NOTES: Final = Notes()


def mark_files() -> None:
    """From now on the files of the tests are imported with marks."""
    plain = SourceFileLoader.source_to_code

    def source_to_code(self: SourceFileLoader, data: Any, path: Any, **options: Any) -> Any:
        if path in FILES and isinstance(data, bytes):
            data = ast.fix_missing_locations(_Marks(tree := ast.parse(data), path).visit(tree))
        return plain(self, data, path, **options)

    SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign, assignment]
    vars(builtins).update({RAN: _ran, REACHED: _reached, ENTERED: _entered, ITEMS: _items, ZIPPED: _zipped})
    read = library.READERS["x"]

    def not_finite(text: Any) -> object:
        NOTES.is_nan |= text == "nan"
        return read(text)

    library.READERS["x"] = not_finite


def _ran(value: Any = None) -> Any:
    NOTES.ran = True
    return value


def _reached(place: str) -> None:
    NOTES.reached.add(place)


def _entered(place: str) -> None:
    NOTES.entered.add(place)


def _items(place: str, things: Iterable[Any]) -> Iterator[Any]:
    NOTES.reached.add(place)
    for thing in things:
        NOTES.entered.add(place)
        NOTES.ran = True
        yield thing


def _zipped(place: str, *things: Iterable[Any]) -> Iterator[Any]:
    """As `zip`, and notes what had more: as far as that is known, and a range is meant to be long enough."""
    iterators = [iter(thing) for thing in things]
    count = 0
    while True:
        row = []
        for iterator in iterators:
            try:
                row.append(next(iterator))
            except StopIteration:
                for at, thing in enumerate(things):
                    if isinstance(thing, list | tuple | str | dict | set) and len(thing) > count:
                        NOTES.uneven.add((place, at))
                return
        count += 1
        yield tuple(row)


class _Marks(ast.NodeTransformer):
    """Puts marks before what is asserted, and around what may never come to assert."""

    def __init__(self, tree: ast.Module, path: str) -> None:
        self._own = asserting_functions([tree])
        self._path = path

    def _place(self, node: Any) -> ast.expr:
        return ast.Constant(f"{CHOICE if isinstance(node, ast.If) else ''}{self._path}:{node.lineno}")

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.test = self._decided(node.test) or _call(RAN, self.visit(node.test))
        return node

    def _name(self, node: ast.Attribute | ast.Name) -> ast.AST:
        self.generic_visit(node)
        is_assertion = isinstance(node.ctx, ast.Load) and named(last_name(node))
        return _call(RAN, node) if is_assertion else node

    visit_Attribute = visit_Name = _name

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and node.func.attr in _TRUTHS and node.args:
            inner = self._decided(node.args[0])
            if inner is not None:
                node.args[0] = inner
                return node
        self.generic_visit(node)
        return node

    def visit_If(self, node: ast.If) -> Any:
        if not can_fail(node.body):
            return self._around(node)
        self.generic_visit(node)
        node.test = _call(RAN, node.test)
        return node

    def _tried(self, node: ast.Try | ast.TryStar) -> ast.AST:
        is_marked = can_fail(node.body) or can_fail(node.orelse)
        is_unharmed = any(can_fail(each.body) for each in node.handlers)
        self.generic_visit(node)
        if is_marked:
            for handler in node.handlers:
                handler.body.insert(0, _statement(node, RAN))
        if is_unharmed:
            node.orelse.insert(0, _statement(node, RAN))
        return node

    visit_Try = visit_TryStar = _tried

    def _within(self, node: ast.With | ast.AsyncWith) -> ast.AST:
        """What raises on purpose within it fails the test, unless the manager takes it."""
        is_decided = can_fail(node.body)
        self.generic_visit(node)
        if is_decided:
            node.body.insert(0, _statement(node, RAN))
        return node

    visit_With = visit_AsyncWith = _within

    def _around(self, node: Any) -> Any:
        """A block that may not be entered, if it holds an assertion."""
        holds = any(asserts(each, self._own) for part in node.body for each in ast.walk(part))
        if isinstance(node, ast.For) and holds and _is_zip(node.iter):
            node.iter = self._zip(node.iter)
        self.generic_visit(node)
        if not holds or (isinstance(node, ast.If) and node.orelse):
            return node
        node.body.insert(0, _statement(node, ENTERED, self._place(node)))
        return [_statement(node, REACHED, self._place(node)), node]

    visit_For = visit_AsyncFor = visit_While = _around

    def _decided(self, node: ast.expr) -> ast.expr | None:
        """The expression, with marks on the items that decide, if without items nothing is asserted."""
        match node:
            case ast.BoolOp(values=values):
                decided = [self._decided(value) for value in values]
                if not any(decided):
                    return None
                node.values = [one or _call(RAN, self.visit(value)) for one, value in zip(decided, values, strict=True)]
                return node
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call() | ast.ListComp() | ast.SetComp() as inner):
                within = inner if not isinstance(inner, ast.Call) else _quantified(inner, "any")
            case ast.Call():
                within = _quantified(node, "all") or _quantified(node, "any")
            case _:
                return None
        if within is None or any(each.is_async for each in within.generators):
            return None
        last = within.generators[-1]
        iterable = self._zip(last.iter) if _is_zip(last.iter) else last.iter
        self.generic_visit(within)
        last.iter = _call(ITEMS, self._place(within), iterable)
        return node

    def _zip(self, node: Any) -> ast.expr:
        node.func = ast.copy_location(ast.Name(ZIPPED, ast.Load()), node.func)
        node.args.insert(0, self._place(node))
        return node  # type: ignore[no-any-return]


def _quantified(node: ast.Call, name: str) -> Any:
    """The comprehension of `all(… for …)`."""
    is_one = isinstance(node.func, ast.Name) and node.func.id == name and len(node.args) == 1 and not node.keywords
    return node.args[0] if is_one and isinstance(node.args[0], _Comprehension) else None


def _is_zip(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="zip"), args=[_, _, *_] as given, keywords=[]):
            return not any(isinstance(each, ast.Starred) for each in given)
    return False


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    made = ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
    return ast.copy_location(made, arguments[-1])


def _statement(at: ast.AST, name: str, *arguments: ast.expr) -> ast.stmt:
    return ast.copy_location(ast.Expr(ast.Call(ast.Name(name, ast.Load()), list(arguments), [])), at)
