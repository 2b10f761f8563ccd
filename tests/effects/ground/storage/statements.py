"""Every SQL statement of the program, read from its source: each call that executes one, with all texts it may have.

An expression is evaluated to the texts that it can be: constants, f-strings, joins, formats, choices, loops over
constant tables, parameters (from the calls of their function) and results of functions. What cannot be read so is
`Unreadable`.
"""

import ast
import importlib
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from earnest.effects.ground.storage.dialects import SQLITE
from earnest.effects.ground.storage.known_rows import ONE_BY_ONE_MAX
from earnest.effects.ground.storage.rows import Rows
from earnest.effects.ground.storage.schema import BOOKS, TableColumns
from earnest.ledger.rows import BOOKED
from earnest.ledger.service import NUMBER
from earnest.runtime.forgetting import AT_WORK, PERSONAL
from earnest.runtime.market.clocks import TIMETABLE
from earnest.runtime.recompute import TABLES
from earnest.views.accounts import OWNED

SOURCE = Path(__file__).parents[4] / "src"
DEPTH_MAX = 12
EXECUTE = ("execute", "executemany", "aside", "stream", "where")
CONTROL = re.compile(r"BEGIN|SAVEPOINT|RELEASE|ROLLBACK")
"""What begins and ends transactions, each engine in its own way."""
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Texts = list[str]


class Unreadable(Exception):
    """An expression of a form that is not understood."""


class Statement(NamedTuple):
    """`place`: file and line of the call that executes it."""

    place: str
    sql: str


class Module:
    """A file: its syntax, and what it is once imported."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """Every call, by the name of what is called."""
        found: dict[str, list[ast.Call]] = defaultdict(list)
        for node in self.parents:
            if isinstance(node, ast.Call):
                found[getattr(node.func, "id", "") or getattr(node.func, "attr", "")].append(node)
        return found

    @cached_property
    def name(self) -> str:
        return ".".join(self.path.relative_to(SOURCE).with_suffix("").parts)

    @cached_property
    def live(self) -> ModuleType:
        return importlib.import_module(self.name)

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What encloses a node, from within."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def function(self, node: ast.AST) -> ast.AST:
        """The named function that a node stands in, or the module."""
        named = (each for each in self.around(node) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
        return next(named, self.tree)


@cache
def modules() -> tuple[Module, ...]:
    return tuple(Module(path) for path in sorted(SOURCE.rglob("*.py")))


def texts(module: Module, node: ast.expr, depth: int = 0) -> Texts:
    """What an expression may be, as text, each once."""
    if depth > DEPTH_MAX:
        raise Unreadable(f"{ast.unparse(node)} goes too deep")
    reader = _READERS.get(type(node))
    found = reader(module, node, depth + 1) if reader else None
    if found is None:
        raise Unreadable(ast.unparse(node))
    return list(dict.fromkeys(found))


def _constant(_: Module, node: Any, __: int) -> Texts:
    return [str(node.value)]


def _joined(module: Module, node: Any, depth: int) -> Texts:
    parts = [texts(module, part.value if isinstance(part, ast.FormattedValue) else part, depth) for part in node.values]
    return ["".join(chosen) for chosen in itertools.product(*parts)]


def _sum(module: Module, node: Any, depth: int) -> Texts | None:
    if isinstance(node.op, ast.Mult):  # "?" * len(names): two stand for any number
        return [text * 2 for text in texts(module, node.left, depth)]
    if not isinstance(node.op, ast.Add):
        return None
    sides = (texts(module, side, depth) for side in (node.left, node.right))
    return ["".join(chosen) for chosen in itertools.product(*sides)]


def _choice(module: Module, node: Any, depth: int) -> Texts:
    return [text for side in (node.body, node.orelse) for text in texts(module, side, depth)]


def _either(module: Module, node: Any, depth: int) -> Texts:
    *first, last = (texts(module, side, depth) for side in node.values)
    return [*(text for side in first for text in side if text), *last]


def _of_table(module: Module, node: Any, depth: int) -> Texts:
    """Any value of a table that is indexed."""
    live = _live(module, node.value)
    if isinstance(live, Mapping):
        return [_plain(value) for value in live.values()]
    if isinstance(node.value, ast.Dict):
        return [text for value in node.value.values for text in texts(module, value, depth)]
    raise Unreadable(ast.unparse(node))


def _attribute(module: Module, node: Any, depth: int) -> Texts:
    if ast.unparse(node).endswith("link.dialect.facts"):
        return [SQLITE.facts]
    live = _live(module, node)
    if live is not None:
        return [_plain(live)]
    if isinstance(node.value, ast.Name):  # of what a loop over a table of the module goes through
        items = _looped(module, node.value)
        if items and not isinstance(items[0], ast.expr):
            return [_plain(getattr(item, node.attr)) for item in items]
    if node.attr == "value":
        return texts(module, node.value, depth)
    raise Unreadable(ast.unparse(node))


def _name(module: Module, node: Any, depth: int) -> Texts:
    function = module.function(node)
    found: Texts = []
    for value in _assigned(function, node.id) if function is not module.tree else ():
        found += texts(module, value, depth)
    for item in _looped(module, node):
        found += texts(module, item, depth) if isinstance(item, ast.expr) else [_plain(item)]
    if not found and isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        found += _from_calls(module, function, node.id, depth)
    if found:
        return found
    if isinstance(vars(module.live).get(node.id), str | Enum | int):
        return [_plain(vars(module.live)[node.id])]
    raise Unreadable(node.id)


def _assigned(function: ast.AST, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                yield value
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if target == name:
                yield value
            case ast.NamedExpr(target=ast.Name(id=target), value=value) if target == name:
                yield value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                yield from (value for target, value in zip(targets, values, strict=True) if _is(target, name))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.IfExp() as choice):
                for side in (choice.body, choice.orelse):
                    if isinstance(side, ast.Tuple):
                        yield from (v for target, v in zip(targets, side.elts, strict=True) if _is(target, name))


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _looped(module: Module, node: ast.Name) -> list[Any]:
    """What a name is while a loop goes over a table of the module, or over one that is written there."""
    for loop in ast.walk(module.function(node)):
        if isinstance(loop, ast.For | ast.comprehension):
            found = _items(module, loop.target, loop.iter, node.id)
            if found:
                return found
    return []


def _items(module: Module, target: ast.expr, over: ast.expr, name: str) -> list[Any]:
    """Values where the table is one of the module, else expressions."""
    match over:
        case ast.Call(func=ast.Attribute(value=table, attr="items" | "values" | "keys" as which), args=[]):
            live = _live(module, table)
            rows: list[Any] = list(getattr(live, which)()) if isinstance(live, Mapping) else []
            if not rows and isinstance(table, ast.Name):
                tables = (each for each in _assigned(module.function(over), table.id) if isinstance(each, ast.Dict))
                rows = [pair for each in tables for pair in zip(each.keys, each.values, strict=True)]
        case ast.Call(func=ast.Name(id="sorted"), args=[table]):
            return _items(module, target, table, name)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            rows = list(elements)
        case ast.Name():
            live = _live(module, over)
            rows = list(live) if isinstance(live, tuple | list | frozenset | Mapping) else []
            for written in _assigned(module.function(over), over.id):
                if not rows and isinstance(written, ast.Tuple | ast.List):
                    rows = list(written.elts)
        case _:
            return []
    if _is(target, name):
        return rows
    if isinstance(target, ast.Tuple):
        places = [place for place, element in enumerate(target.elts) if _is(element, name)]
        return [(row.elts if isinstance(row, ast.Tuple) else row)[places[0]] for row in rows] if places else []
    return []


def _from_calls(module: Module, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, depth: int) -> Texts:
    """What the calls of a function hand it, in its own module, or by its name in those that import it."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    names = [argument.arg for argument in arguments]
    if name not in names and name not in {argument.arg for argument in function.args.kwonlyargs}:
        return []
    found: Texts = []
    for caller in (each for each in modules() if f"{function.name}(" in each.text):
        is_known = caller is module or vars(caller.live).get(function.name) is vars(module.live).get(function.name, 0)
        for call in caller.calls.get(function.name, ()) if is_known else ():
            bound = names[1:] if names[:1] == ["self"] else names
            given: dict[str | None, ast.expr] = {word.arg: word.value for word in call.keywords}
            given.update(zip(bound, call.args, strict=False))
            if name in given:
                found += texts(caller, given[name], depth)
    return found


def _call(module: Module, node: Any, depth: int) -> Texts | None:
    match node.func:
        case ast.Attribute(value=separator, attr="join"):
            return [
                between.join(parts)
                for between in texts(module, separator, depth)
                for parts in _sequences(module, node.args[0], depth)
            ]
        case ast.Attribute(value=template, attr="format"):
            return _formatted(module, node, texts(module, template, depth), depth)
        case ast.Name(id=name):
            return _returned(module, name, depth)
    return None


def _returned(module: Module, name: str, depth: int) -> Texts | None:
    live = vars(module.live).get(name)
    for home in modules():
        if home.name == getattr(live, "__module__", ""):
            for function in ast.walk(home.tree):
                if isinstance(function, ast.FunctionDef) and function.name == name:
                    returned = (each.value for each in ast.walk(function) if isinstance(each, ast.Return))
                    return [text for value in returned if value is not None for text in texts(home, value, depth)]
    return None


def _formatted(module: Module, node: ast.Call, templates: Texts, depth: int) -> Texts:
    places = [texts(module, value, depth) for value in node.args]
    words = {word.arg or "": texts(module, word.value, depth) for word in node.keywords}
    return [
        template.format(*chosen[: len(places)], **dict(zip(words, chosen[len(places) :], strict=True)))
        for template in templates
        for chosen in itertools.product(*places, *words.values())
    ]


def _sequences(module: Module, node: ast.expr, depth: int) -> list[list[str]]:
    """What may be joined: two marks for any number; a list as it is made, with each and all of what is added to it."""
    match node:
        case ast.BinOp(op=ast.Mult(), left=left):
            return [[text, text] for text in texts(module, left, depth)]
        case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element):
            found = texts(module, element, depth)
            return [found, *([one] for one in found)]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [list(chosen) for chosen in itertools.product(*(texts(module, one, depth) for one in elements))]
        case ast.Name(id=name):
            function = module.function(node)
            starts = [start for value in _assigned(function, name) for start in _sequences(module, value, depth)]
            if starts:
                added = [text for value in _appended(function, name) for text in texts(module, value, depth)]
                return [start + more for start in starts for more in ([], added, *([one] for one in added))]
            live = _live(module, node)
            if isinstance(live, tuple | list):
                return [[_plain(item) for item in live]]
    raise Unreadable(ast.unparse(node))


def _appended(function: ast.AST, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=target), attr="append"), args=[value]) if target == name:
                yield value
            case ast.AugAssign(target=ast.Name(id=target), value=ast.List(elts=values)) if target == name:
                yield from values


def _live(module: Module, node: ast.expr) -> Any:
    """The object that a name of the module, or an attribute of one, is; None if there is none."""
    match node:
        case ast.Name(id=name):
            return vars(module.live).get(name)
        case ast.Attribute(value=value, attr=name):
            return getattr(_live(module, value), name, None)
    return None


def _plain(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)


_READERS: dict[type[ast.expr], Callable[[Module, Any, int], Texts | None]] = {
    ast.Attribute: _attribute,
    ast.BinOp: _sum,
    ast.BoolOp: _either,
    ast.Call: _call,
    ast.Constant: _constant,
    ast.IfExp: _choice,
    ast.JoinedStr: _joined,
    ast.Name: _name,
    ast.Subscript: _of_table,
}


def rows_of_the_program() -> dict[str, Rows[Any]]:
    """Every table that rows are read from and written to as values, by name."""
    found: dict[str, Rows[Any]] = {}
    for module in modules():
        if any(made in module.text for made in ("Rows(", "Book(")) and not module.name.endswith("__main__"):
            for value in vars(module.live).values():
                if isinstance(value, Rows):
                    found[value.table] = value
    return found


def statements() -> Iterator[Statement]:
    """Every one. Raises `Unreadable`."""
    for module in modules():
        file = str(module.path.relative_to(SOURCE / "earnest"))
        if file in NO_BOOKS or not any(f".{method}(" in module.text for method in EXECUTE):
            continue
        for node in (call for method in EXECUTE for call in module.calls[method]):
            themselves = BY_THEMSELVES.get((file, getattr(module.function(node), "name", "")))
            found = themselves() if themselves else _executed(module, node)
            yield from (Statement(f"{file}:{node.lineno}", sql) for sql in found if not CONTROL.match(sql))
    for rows in rows_of_the_program().values():
        yield from (Statement(f"rows of {rows.table}", sql) for sql in _of_rows(rows))


def _executed(module: Module, call: ast.Call) -> Iterator[str]:
    if not isinstance(call.func, ast.Attribute) or (call.func.attr == "stream" and ".storage." not in module.name):
        return  # other libraries stream, too
    if call.func.attr != "where":
        yield from texts(module, call.args[0])
        return
    live = _live(module, call.func.value)
    if live is None and isinstance(call.func.value, ast.Attribute):  # held by an object of the module
        held = (getattr(value, call.func.value.attr, None) for value in vars(module.live).values())
        live = next((each for each in held if isinstance(each, Rows)), None)
    if not isinstance(live, Rows):
        raise Unreadable(ast.unparse(call))
    yield from (f"{live.lookup.all} WHERE {conditions}" for conditions in texts(module, call.args[1]))


def _of_rows(rows: Rows[Any]) -> Iterator[str]:
    yield rows._insert
    yield rows._put
    yield from map(rows.lookup.select_by, (1, 2, ONE_BY_ONE_MAX + 1))
    yield f"DELETE FROM {rows.table} WHERE {rows.key} = ?"
    for name in rows._names:
        yield f"UPDATE {rows.table} SET {name} = ? WHERE {rows.key} = ?"


def _each_timer(sql: str) -> Callable[[], Texts]:
    return lambda: [sql.format(table=table, key=key) for table, (key, _) in TIMETABLE.items()]


def _tables() -> Iterator[tuple[str, TableColumns]]:
    return iter(BOOKS.tables().items())


BY_THEMSELVES: dict[tuple[str, str], Callable[[], Texts]] = {
    ("runtime/recompute.py", "_rows"): lambda: [
        f"SELECT * FROM {table} ORDER BY {key}" for table, key in TABLES.items()
    ],
    ("runtime/timers.py", "earliest"): _each_timer("SELECT min(wake_ms) FROM {table} WHERE wake_ms IS NOT NULL"),
    ("runtime/timers.py", "read"): _each_timer("SELECT {key} FROM {table} WHERE wake_ms <= ? ORDER BY wake_ms LIMIT ?"),
    ("runtime/timers.py", "_wake"): _each_timer("SELECT wake_ms FROM {table} WHERE {key} = ?"),
    ("views/accounts.py", "document_of"): lambda: [
        f"SELECT * FROM {table} WHERE {owned.rows} ORDER BY 1 LIMIT :limit" for table, owned in OWNED.items()
    ],
    ("runtime/forgetting.py", "_check"): lambda: [
        f"{book.lookup.all} WHERE {rows} LIMIT 1" for book, rows in AT_WORK.values()
    ],
    ("runtime/forgetting.py", "_keys"): lambda: [
        f"SELECT {one.book.key} FROM {one.book.table} WHERE {one.rows}" for one in PERSONAL
    ],
    ("effects/ground/storage/reader.py", "rows"): lambda: [
        *(f"SELECT {', '.join(of.names)} FROM {one} ORDER BY {', '.join(of.key)} LIMIT ?" for one, of in _tables()),
        "SELECT seq, at_ms, kind, subject, body, leaf FROM facts WHERE seq > ? ORDER BY seq LIMIT ?",
    ],
    ("effects/ground/storage/filling.py", "_copy_rows"): lambda: [f"DELETE FROM {one}" for one, _ in _tables()],
    ("effects/ground/storage/filling.py", "_insert"): lambda: [
        f"INSERT INTO {one} ({', '.join(of.names)}) VALUES ({', '.join('?' * len(of.names))})" for one, of in _tables()
    ],
    ("effects/ground/storage/filling.py", "_is_empty"): lambda: [
        f"SELECT 1 FROM {one} LIMIT 1" for one, _ in _tables()
    ],
    ("effects/ground/storage/filling.py", "_mark"): lambda: BOOKS.marked("0006").splitlines(),
    ("app/moving.py", "_count"): lambda: [f"SELECT count(*) FROM {one}" for one, _ in _tables()],
    ("effects/ground/storage/rows.py", "numbers"): lambda: [BOOKED.lookup.greatest(NUMBER)],
    # Whoever calls these is looked at instead, and every table's rows.
    ("effects/ground/storage/reader.py", "execute"): list,
    ("effects/ground/storage/rows.py", "_found"): list,
    ("effects/ground/storage/rows.py", "where"): list,
    ("effects/ground/storage/transaction.py", "aside"): list,
    ("effects/ground/storage/transaction.py", "execute"): list,
}
"""Where table and column belong together: file, function, and what it executes."""
NO_BOOKS = {
    "effects/outside/probes/sql.py",
    "effects/ground/kv/postgresql.py",
    "effects/ground/storage/catalog.py",
    "effects/ground/storage/driver.py",
    "effects/ground/storage/former.py",
    "effects/ground/storage/postgresql.py",
    "effects/ground/storage/postgresql_reading.py",
    "effects/ground/storage/postgresql_session.py",
    "effects/ground/storage/postgresql_watch.py",
    "effects/ground/storage/schema.py",
    "effects/ground/storage/sqlite.py",
    "effects/ground/storage/snapshot.py",
    "engine/roles/executor.py",
}
"""Files whose calls of `execute` speak to something else, or in one dialect by intention."""
