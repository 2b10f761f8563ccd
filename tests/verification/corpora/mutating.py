"""Mutants of a program: one small change each, drawn by a seed. Independent of the verifier's own mutator."""

import ast
import copy
import random
from collections.abc import Callable, Iterator
from typing import Final

SWAPS: Final[dict[type[ast.AST], tuple[type[ast.AST], ...]]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.FloorDiv),
    ast.Div: (ast.FloorDiv, ast.Mult),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
Change = Callable[[ast.AST], None]


def mutants(source: bytes, seed: str) -> Iterator[tuple[str, bytes]]:
    """Each mutant once, with what was changed in which line, in an order drawn by `seed`."""
    tree = ast.parse(source)
    points = [(at, which) for at, node in enumerate(ast.walk(tree)) for which in range(len(_changes(node)))]
    random.Random(seed).shuffle(points)
    seen = {ast.unparse(tree)}
    for at, which in points:
        mutant = copy.deepcopy(tree)
        node = next(each for number, each in enumerate(ast.walk(mutant)) if number == at)
        what, change = _changes(node)[which]
        change(node)
        text = ast.unparse(ast.fix_missing_locations(mutant))
        if text not in seen:
            seen.add(text)
            yield f"{what} in line {getattr(node, 'lineno', 0)}", text.encode()


def _changes(node: ast.AST) -> list[tuple[str, Change]]:
    match node:
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp():
            return [("other operator", _setter("op", swap())) for swap in SWAPS.get(type(node.op), ())]
        case ast.Compare(ops=[op, *_]):
            return [("other comparison", _first_op(swap())) for swap in SWAPS.get(type(op), ())]
        case ast.Constant(value=bool(value)):
            return [("other constant", _setter("value", not value))]
        case ast.Constant(value=int(value) | float(value)):
            return [("other constant", _setter("value", value + step)) for step in (1, -1)]
        case ast.Constant(value=str(value)) if value and "\n" not in value:
            return [("other text", _setter("value", value[:-1]))]
        case ast.Return(value=ast.expr()):
            return [("nothing returned", _setter("value", None))]
        case ast.If() | ast.IfExp():
            return [("condition turned", _setter("test", ast.UnaryOp(op=ast.Not(), operand=node.test)))]
        case ast.FunctionDef(body=[_, _, *_]):
            return [("statement lost", _without(at)) for at in range(len(node.body))]
        case ast.Call(args=[first, second, *rest]):
            return [("arguments swapped", _setter("args", [second, first, *rest]))]
        case _:
            return []


def _setter(name: str, value: object) -> Change:
    return lambda node: setattr(node, name, copy.deepcopy(value))


def _first_op(op: ast.AST) -> Change:
    def change(node: ast.AST) -> None:
        assert isinstance(node, ast.Compare)
        assert isinstance(op, ast.cmpop)
        node.ops[0] = op

    return change


def _without(at: int) -> Change:
    def change(node: ast.AST) -> None:
        assert isinstance(node, ast.FunctionDef)
        del node.body[at]

    return change
