"""One function as a method of both clients: it says what to ask, a client sends it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, overload

from earnest.client.ask import Ask

P = ParamSpec("P")
T = TypeVar("T")


class Sender(ABC):
    """Sends what is asked, and waits."""

    @abstractmethod
    def send(self, ask: Ask[T]) -> T:
        """The answer. Raises `Problem`, `Unavailable`."""


class AsyncSender(ABC):
    """Sends what is asked; the answer is awaited."""

    @abstractmethod
    async def send(self, ask: Ask[T]) -> T:
        """See `Sender`."""


class ClientMethod(Generic[P, T]):
    """A method whose parameters are those of `ask`, and whose result is what that asks for."""

    def __init__(self, ask: Callable[P, Ask[T]]) -> None:
        self._ask = ask
        self.__doc__ = ask.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> "ClientMethod[P, T]": ...
    @overload
    def __get__(self, client: Sender, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, client: Sender | AsyncSender | None, owner: type) -> Any:
        if client is None:
            return self

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(self._ask(*args, **kwargs))

        return update_wrapper(method, self._ask)
