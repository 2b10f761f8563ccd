"""The import of a stand-in instead of the submission."""

import builtins
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any, Final

from earnest.verification.unit_tests.channel import CHANNEL
from earnest.verification.unit_tests.library import Malformed
from earnest.verification.unit_tests.meaning import StandIn, SubmissionObjects
from earnest.verification.unit_tests.objects import note_name
from earnest.verification.unit_tests.owned import is_private
from earnest.verification.unit_tests.surroundings import SURROUNDINGS

HIDES_BUILTIN: Final = "a test takes all names of the submission, and one of them hides a builtin"

OWN_DICT: Final[Any] = vars(ModuleType)["__dict__"]


class StandInModule(StandIn):
    """A module of the submission. Every look at an attribute is a request."""

    __test__ = False

    @property
    def __dict__(self) -> dict[str, object]:  # type: ignore[override]
        """Nothing of the submission's: who looks here for doctests would find none, and pass."""
        if sys._getframe(1).f_globals.get("__name__") == "doctest":  # noqa: SLF001
            CHANNEL.refuse("a test runs the doctests of the submission, which are its own word: state them as tests")
        return OWN_DICT.__get__(self)  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> object:
        if is_private(name):
            raise AttributeError(name)
        if name == "__all__":
            return self._public_names(sys._getframe(1))  # noqa: SLF001
        value = CHANNEL.request("get", self.__number__, name)
        note_name(self.__number__, name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        elif type(value) is not StandInModule:  # which the import system puts into its package
            CHANNEL.replace(self.__number__, name, value)

    def __delattr__(self, name: str) -> None:
        if name.startswith("__"):
            super().__delattr__(name)
        else:
            CHANNEL.put_back(self.__number__, name)

    def __dir__(self) -> list[str]:
        return list(CHANNEL.request("operate", self.__number__, "__dir__"))

    def _public_names(self, asker: FrameType) -> list[str]:
        """What `from module import *` takes: nothing that the test has already. What hides a builtin is flagged."""
        try:
            names = list(CHANNEL.request("get", self.__number__, "__all__"))
        except AttributeError:
            names = list(CHANNEL.request("names", self.__number__))
        if asker.f_locals is not asker.f_globals:  # no `import *`
            return names
        names = [name for name in names if name not in asker.f_globals]
        if any(name in vars(builtins) and getattr(self, name) is not vars(builtins)[name] for name in names):
            CHANNEL.flags.add(HIDES_BUILTIN)
        return names


class Finder:
    """Finds the submission's modules on the other side of the pipe, before anything else is looked at."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`. The packages of a module, and what is below it, are the submission's."""
        if any(name == own or name.startswith(own + ".") or own.startswith(name + ".") for own in self._names):
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """See `importlib.abc.Loader`."""
        return StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """See `importlib.abc.Loader`. Done again, as by `importlib.reload`, it runs the submission's module again."""
        if "__number__" in vars(module):
            CHANNEL.request("fresh", 0)
        try:
            number, is_package, doc = CHANNEL.request("load", 0, module.__name__)
        except (SystemExit, KeyboardInterrupt) as error:
            raise ImportError(f"{module.__name__} raised {type(error).__name__}") from error
        if type(number) is not int or number < 0:
            raise Malformed("no module")
        vars(module).update(__number__=number, __doc__=doc if type(doc) is str else None)
        if is_package is not True:
            del module.__path__

    def forget(self) -> None:
        """Have the next import run the submission's modules anew."""
        for name in [name for name, module in sys.modules.items() if type(module) is StandInModule]:
            del sys.modules[name]
        CHANNEL.request("fresh", 0)


def separate(names: Sequence[str]) -> Finder:
    """Put stand-ins in place of these modules."""
    CHANNEL.meaning = SubmissionObjects()
    SURROUNDINGS.watch()
    finder = Finder(names)
    sys.meta_path.insert(0, finder)
    return finder
