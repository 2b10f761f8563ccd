"""Operations of a stand-in class: those that the submission's class offers."""

from collections.abc import Callable, Generator
from typing import Any, Final

from earnest.verification.unit_tests.channel import CHANNEL
from earnest.verification.unit_tests.claims import CLAIMS
from earnest.verification.unit_tests.library import FORWARDED
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
