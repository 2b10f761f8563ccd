"""Objects of the submission to the tests: a number, and names that may be asked of it; members of enumerations."""

from typing import Any, Final, NoReturn

from earnest.verification.unit_tests.channel import CHANNEL

BLAND: Final = frozenset(
    {
        *("__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__wrapped__", "__all__"),
        *("__version__", "__author__", "__members__", "__match_args__", "__self__", "__func__"),
    }
)
"""Names with underscores that tests ask for; no other is asked of the submission."""


class OwnedObject:
    """An object of the submission, known by its number."""

    __slots__ = ()
    __number__: int
    __overridden__: frozenset[str] = frozenset()
    """What classes of tests that were derived from this one define."""


def is_private(name: str) -> bool:
    """True for a name that is never asked of the submission."""
    return name.startswith("__") and name.endswith("__") and name not in BLAND


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
