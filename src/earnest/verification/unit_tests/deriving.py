"""A class that a test derives from one of the submission: two classes, one on each side, under one number.

The submission's side makes a real subclass whose functions call back; what is no function lies there alone. The test's
side keeps the functions, so that what a test asks of its own object runs at once; what it asks by `super()` is asked of
the submission's own classes, past those of tests, and does not come back.
"""

import enum
import itertools
import types
import unittest
from typing import Any, Final

from earnest.verification.unit_tests.channel import CHANNEL
from earnest.verification.unit_tests.library import is_library

KEPT: Final = (types.FunctionType, property, classmethod, staticmethod)
"""What stays on the test's side too."""
NAMING: Final = ("__classcell__", "__doc__", "__module__", "__qualname__")
LOCAL: Final = frozenset({"__slots__", "__classcell__", "__dict__", "__weakref__"})

PENDING: Final[dict[int, type]] = {}
"""Classes that the submission's side has still to tell about, by the number that we gave them."""

MAKING: Final = frozenset(
    {"__new__", "__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__init_subclass__"}
)
"""Of these there can be only one, and each side needs its own."""
_tokens: Final = itertools.count(1)


def derive(
    meta: Any,
    name: str,
    bases: tuple[type, ...],
    bodies: tuple[dict[str, Any], dict[str, Any]],
    options: dict[str, object],
) -> Any:
    """The test's half of the class, once the submission has made the other.

    `bodies` are what the test wrote, and what `super()` shall find that no stand-in has.
    """
    body, missing = bodies
    functions = {key: value for key, value in body.items() if isinstance(value, KEPT)}
    _check(name, bases, functions)
    own = {"__slots__": (), "__class_id__": -1}
    over = getattr(bases[0], "__overridden__", frozenset()) | functions.keys()
    if missing:
        bases = (type.__new__(meta, bases[0].__name__, bases, own | missing), *bases)
    names = {key: body[key] for key in NAMING if key in body}
    made = type.__new__(meta, name, bases, functions | names | own | {"__overridden__": over})
    token = next(_tokens)
    PENDING[token] = made
    parts = tuple((key, *_parts(value)) for key, value in functions.items())
    plain = tuple((key, value) for key, value in body.items() if key not in functions and key not in LOCAL)
    bases = bases[1:] if missing else bases
    CHANNEL.request("derive", 0, name, (token, bases, parts, plain), dict(options))
    if made.__class_id__ < 0:
        CHANNEL.refuse(f"the submission does not tell about {name}")
    return made


def _check(name: str, bases: tuple[type, ...], functions: dict[str, Any]) -> None:
    """Refuse what cannot be one class on two sides."""
    for base in bases:
        is_theirs = "__class_id__" in vars(base) or is_library(base)
        if not is_theirs or issubclass(base, enum.Enum | unittest.TestCase):
            CHANNEL.refuse(f"a test derives {name} from a class of the submission and from {base.__name__}")
    if functions and issubclass(bases[0], BaseException):
        CHANNEL.refuse(f"a test derives {name}, with functions of its own, from an exception of the submission")
    for each in MAKING & functions.keys():
        CHANNEL.refuse(f"a test derives {name} from a class of the submission, with {each}")


def _parts(value: Any) -> tuple[object, ...]:
    """Whether it is abstract, how a function stands in a class, and the functions."""
    is_abstract = getattr(value, "__isabstractmethod__", False) is True
    if isinstance(value, property):
        return is_abstract, "property", value.fget, value.fset, value.fdel
    if isinstance(value, classmethod | staticmethod):
        return is_abstract, type(value).__name__, value.__func__
    return is_abstract, "function", value
