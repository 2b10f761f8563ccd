"""Stand-ins for an enumeration's members: a name, a value, and a number."""

from typing import Any, NoReturn

from earnest.verification.unit_tests.channel import CHANNEL
from earnest.verification.unit_tests.owned import OwnedObject, is_private


class EnumMember(OwnedObject):
    """A member, or a combination of flags: the name and the value that it is said to have. It is equal to itself."""

    __test__ = False
    name: str | None
    value: object
    kind: type

    def __repr__(self) -> str:
        return f"<{self.kind.__name__}.{self.name}: {self.value!r}>"

    def __str__(self) -> str:
        return str(CHANNEL.request("operate", self.__number__, "__str__"))

    def __format__(self, spec: str) -> str:
        return str(CHANNEL.request("operate", self.__number__, "__format__", (spec,)))

    def __getattr__(self, name: str) -> object:
        if is_private(name):
            raise AttributeError(name)
        return CHANNEL.request("member", self.__number__, name)

    @property
    def __class__(self) -> Any:
        """As `isinstance` sees it."""
        return self.__dict__.get("kind", EnumMember)

    @__class__.setter
    def __class__(self, _: object) -> NoReturn:
        raise TypeError("a member stays what it is")


class IntMember(EnumMember, int):
    """Of an enumeration whose members are integers."""

    __hash__ = int.__hash__


class StrMember(EnumMember, str):
    """Of an enumeration whose members are texts."""

    __hash__ = str.__hash__


KINDS: dict[str, tuple[type | None, type[EnumMember]]] = {
    "": (None, EnumMember),
    "int": (int, IntMember),
    "str": (str, StrMember),
}
"""By the plain type that is mixed in."""
