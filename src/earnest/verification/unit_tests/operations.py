"""Operations of a stand-in class: those that the submission's class offers."""

from collections.abc import Callable, Generator
from typing import Any, Final

from earnest.verification.unit_tests.channel import CHANNEL
from earnest.verification.unit_tests.claims import CLAIMS
from earnest.verification.unit_tests.owned import OwnedObject


def operate(thing: OwnedObject, name: str, arguments: tuple[object, ...] = ()) -> Any:
    """An operation of the submission's own class, though a test may have derived one that has it too."""
    operation = "call_above" if name in type(thing).__overridden__ else "operate"
    return CHANNEL.request(operation, thing.__number__, name, arguments)


def _operation(name: str) -> Callable[..., object]:
    def operation(self: OwnedObject, *arguments: object) -> object:
        answer = operate(self, name, arguments)
        CLAIMS.heard(self, name, arguments, answer)
        return answer

    operation.__name__ = name
    return operation


def _exact(name: str, kind: type) -> Callable[..., object]:
    def operation(self: OwnedObject) -> object:
        value = operate(self, name)
        if type(value) is not kind:
            raise TypeError(f"{name} answered no {kind.__name__}")
        if value is True:
            CLAIMS.taken(self)
        return value

    operation.__name__ = name
    return operation


def _call(self: OwnedObject, /, *arguments: object, **keywords: object) -> object:
    operation = "call_above" if "__call__" in type(self).__overridden__ else "call"
    return CHANNEL.request(operation, self.__number__, "__call__", arguments, keywords)


def _contains(self: OwnedObject, item: object) -> bool:
    answer = bool(operate(self, "__contains__", (item,)))
    CLAIMS.heard(self, "__contains__", (item,), answer)
    return answer


def _await(self: OwnedObject) -> Generator[None, None, Any]:
    yield from ()
    return CHANNEL.request("await", self.__number__)


def _exit(self: OwnedObject, kind: object, error: BaseException | None, trace: object) -> object:
    answer = operate(self, "__exit__", (kind, error, trace))
    return answer and not CHANNEL.failures.swallowed(error)


async def _async_exit(self: OwnedObject, kind: object, error: BaseException | None, trace: object) -> object:
    answer = await operate(self, "__aexit__", (kind, error, trace))
    return answer and not CHANNEL.failures.swallowed(error)


FORWARDED: Final = frozenset(
    {
        *("__abs__", "__add__", "__aenter__", "__aiter__", "__and__", "__anext__", "__ceil__"),
        *("__delete__", "__delitem__", "__divmod__", "__get__", "__mro_entries__", "__set__", "__set_name__"),
        *("__divmod__", "__enter__", "__floor__", "__floordiv__", "__ge__", "__getitem__"),
        *("__gt__", "__iadd__", "__iand__", "__ifloordiv__", "__ilshift__", "__imod__", "__imul__", "__invert__"),
        *("__ior__", "__ipow__", "__irshift__", "__isub__", "__iter__", "__itruediv__", "__ixor__", "__le__"),
        *("__lshift__", "__lt__", "__matmul__", "__mod__", "__mul__", "__neg__", "__next__", "__or__", "__pos__"),
        *("__pow__", "__radd__", "__rand__", "__rdivmod__", "__reversed__", "__rfloordiv__", "__rlshift__"),
        *("__rmatmul__", "__rmod__", "__rmul__", "__ror__", "__round__", "__rpow__", "__rrshift__", "__rshift__"),
        *("__rsub__", "__rtruediv__", "__rxor__", "__setitem__", "__sub__", "__truediv__", "__trunc__", "__xor__"),
    }
)
OPERATIONS: Final[dict[str, object]] = {
    **{name: _operation(name) for name in FORWARDED},
    **{f"__{kind.__name__}__": _exact(f"__{kind.__name__}__", kind) for kind in (bool, int, float, complex, bytes)},
    "__index__": _exact("__index__", int),
    "__len__": _exact("__len__", int),
    "__hash__": _exact("__hash__", int),
    "__call__": _call,
    "__contains__": _contains,
    "__await__": _await,
    "__exit__": _exit,
    "__aexit__": _async_exit,
}
GENERATOR: Final = {"__iter__": lambda self: self} | {name: _operation(name) for name in ("send", "throw", "close")}
"""What a generator has besides: `yield from` asks it for these."""
