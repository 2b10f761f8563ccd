"""Programs of strangers, computed in a language without loops, names or other harm."""

import operator
from collections.abc import Callable, Mapping
from typing import Final

from earnest.foundation.canonical import JsonValue

LANGUAGE: Final = (
    "An expression is a whole number, the name of a variable, or a list of an operator and its operands:"
    ' ["add", "kg", 1]. Operators: add, sub, mul, div (rounded down), mod, min, max of two numbers; lt, le, eq of two'
    ' numbers, 1 if true and 0 if not; and ["if", condition, then, else], where 0 is false. At most 200 operators,'
    " 30 deep; no number beyond 10^12."
)
OPERATORS_MAX: Final = 200
DEPTH_MAX: Final = 30
NUMBER_MAX: Final = 10**12

_OPERATORS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.floordiv,
    "mod": operator.mod,
    "min": min,
    "max": max,
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
}


class NotAProgramError(ValueError):
    """What is wrong with it, in words of ours."""


def run(program: JsonValue, variables: Mapping[str, int]) -> int:
    """The value. Raises `NotAProgramError`."""
    return _Run(variables).value(program, 0)


class _Run:
    def __init__(self, variables: Mapping[str, int]) -> None:
        self._variables = variables
        self._operators = 0

    def value(self, node: JsonValue, depth: int) -> int:
        if depth > DEPTH_MAX:
            raise NotAProgramError(f"the program is more than {DEPTH_MAX} deep")
        if type(node) is int:
            return self._bounded(node)
        if isinstance(node, str):
            if node not in self._variables:
                raise NotAProgramError("the program names a variable that does not exist")
            return self._variables[node]
        self._operators += 1
        if self._operators > OPERATORS_MAX:
            raise NotAProgramError(f"the program has more than {OPERATORS_MAX} operators")
        match node:
            case ["if", condition, then, otherwise]:
                return self.value(then if self.value(condition, depth + 1) else otherwise, depth + 1)
            case [str(name), one, other] if name in _OPERATORS:
                left, right = self.value(one, depth + 1), self.value(other, depth + 1)
                if name in {"div", "mod"} and right == 0:
                    raise NotAProgramError("the program divides by zero")
                return self._bounded(int(_OPERATORS[name](left, right)))
            case _:
                raise NotAProgramError("the program has a part that is no expression")

    def _bounded(self, number: int) -> int:
        if abs(number) > NUMBER_MAX:
            raise NotAProgramError(f"the program has a number beyond {NUMBER_MAX}")
        return number
