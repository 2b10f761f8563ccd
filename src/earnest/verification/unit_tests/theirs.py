"""What the submission holds in place of what is the test's: one object for each, of one class for each class."""

import copyreg
from collections.abc import Callable, Sequence
from typing import Any, Final

from earnest.verification.unit_tests.library import ABSTRACT, Malformed, signature

Ask = Callable[..., Any]
"""Has the test's side do something: see `serving.SubmissionServer.ask`."""

COMMON: Final = (
    *("__add__", "__await__", "__bool__", "__call__", "__contains__", "__delitem__", "__enter__", "__exit__"),
    *("__float__", "__ge__", "__getitem__", "__gt__", "__index__", "__int__", "__iter__", "__le__", "__len__"),
    *("__lt__", "__mul__", "__next__", "__radd__", "__rmul__", "__setitem__", "__sub__"),
)
"""What is forwarded from an object of a library's class, of whose operations nothing is told."""


class TheirClass(type):
    """The class of classes of the test: what is asked of a class, the test's class answers."""

    def __call__(cls, /, *arguments: object, **keywords: object) -> Any:
        """An object of the test's."""
        return cls._ask("call", cls._number, "", arguments, keywords)

    def __new__(cls, name: str, bases: tuple[Any, ...], namespace: dict[str, Any]) -> Any:
        """Of a class that the test gave; a class of the submission's own cannot be derived from one."""
        if "_number" not in namespace:
            bases[0]._ask("derive", bases[0]._number)  # noqa: SLF001 - a class of this metaclass
        return super().__new__(cls, name, bases, namespace)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return cls._ask("get", cls._number, name)

    def __setattr__(cls, name: str, value: object) -> None:
        cls._ask("set", cls._number, name, (value,))


class HeldByTests(metaclass=TheirClass):
    """Something of the test in the submission's hands: what it may do, the test's side decides."""

    _number = -1
    _ask: Ask

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._ask("get", self._number, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_"):
            vars(self)[name] = value
        else:
            self._ask("set", self._number, name, (value,))

    def __hash__(self) -> int:
        return hash(self._number)

    def __copy__(self) -> Any:
        return self._ask("operate", self._number, "__copy__")


def _operation(name: str) -> Any:
    def operation(self: HeldByTests, *arguments: object) -> Any:
        return self._ask("operate", self._number, name, arguments)

    return operation


def _call(self: HeldByTests, /, *arguments: object, **keywords: object) -> Any:
    return self._ask("call", self._number, "", arguments, keywords)


def _await(self: HeldByTests) -> Any:
    yield from ()
    return self._ask("operate", self._number, "__await__")


_OPERATIONS: Final[dict[str, Any]] = {"__call__": _call, "__await__": _await}
for _name in ("__eq__", "__repr__", "__str__"):
    type.__setattr__(HeldByTests, _name, _operation(_name))


class Loans:
    """What was lent, by number."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._things: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}

    def number(self, value: object) -> int | None:
        """Of something of the test's; None for anything else."""
        return self._numbers.get(id(value))

    def read(self, values: Callable[[Any], Any], node: Sequence[Any]) -> Any:
        """What a node means: the object that it meant before."""
        number = node[1]
        found = self._things.get(number)
        if found is None:
            found = self._things[number] = self._made(values, node)
            self._numbers[id(found)] = number
        return found

    def keep(self, number: int, error: BaseException) -> BaseException:
        """An exception of the test's: the one that came first under its number."""
        found: BaseException = self._things.setdefault(number, error)
        self._numbers[id(found)] = number
        return found

    def _made(self, values: Callable[[Any], Any], node: Sequence[Any]) -> object:
        match node[0]:
            case "f":
                return self._function(*node[1:])
            case "k":
                return self._class(values, *node[1:])
            case "o":
                kind = values(node[2]) if type(node[2]) is list else self._plain_class(node[2], node[5])
                made = object.__new__(kind)
                vars(made).update(_ask=self._ask, _number=node[1])
                if type(node[2]) is str:
                    vars(made).update(__name__=node[2], __qualname__=node[3], __doc__=node[4])
                return made
        raise Malformed("an unknown tag")

    def _function(self, number: int, names: list[Any], traits: list[Any]) -> object:
        """A function as real as can be: it can be decorated, bound and looked at."""
        ask = self._ask
        is_async, parameters = traits

        def call(*arguments: object, **keywords: object) -> Any:
            return ask("call", number, "", arguments, keywords)

        async def wait(*arguments: object, **keywords: object) -> Any:
            return await call(*arguments, **keywords)

        made: Any = wait if is_async else call
        made.__name__, made.__qualname__, made.__module__, made.__doc__ = names
        if parameters is not None:
            made.__signature__ = signature(parameters)
        return made

    def _class(self, values: Callable[[Any], Any], number: int, names: list[Any], traits: list[Any]) -> object:
        operations, bases = traits
        above = tuple(kind for kind in map(values, bases) if isinstance(kind, TheirClass)) or (HeldByTests,)
        return self._new_class(names, above, operations, number)

    def _plain_class(self, name: str, likewise: list[str]) -> Any:
        """Of a library's class, which is one of some abstract ones."""
        made = self._new_class([name, name, None, None], (HeldByTests,), COMMON, -1)
        for each in likewise:
            ABSTRACT[each].register(made)
        return made

    def _new_class(self, names: list[Any], above: tuple[Any, ...], operations: Sequence[str], number: int) -> Any:
        name, qualname, module, doc = names
        namespace = {each: _OPERATIONS.get(each) or _operation(each) for each in operations}
        namespace |= {"__qualname__": qualname, "__doc__": doc, "_ask": staticmethod(self._ask), "_number": number}
        if module is not None:
            namespace["__module__"] = module
        made = TheirClass(name, above, namespace)
        copyreg.pickle(made, lambda thing: (self._copied, (thing._number,)))  # noqa: SLF001 - of `HeldByTests`
        return made

    def _copied(self, number: int) -> Any:
        return self._ask("operate", number, "__deepcopy__")
