"""What pytest imports when it starts, imported before it does: it stands ready in a sandbox."""

import importlib
import os
from typing import Final

import pytest
from _pytest.config import default_plugins

OPTIONS: Final = (
    *("-q", "--tb=short", "--color=no", "--import-mode=prepend", "--assert=plain", "-c", "/dev/null"),
    *("-p", "no:cacheprovider", "-p", "no:doctest", "-p", "no:faulthandler", "-p", "no:pastebin"),
    *("-p", "no:setuponly", "-p", "no:setupplan", "-p", "no:stepwise"),
    *("-p", "no:threadexception", "-p", "no:unraisableexception"),
)
"""No assertion is rewritten: what fails is told by its kind alone, and `marking.py` marks the others. No
configuration, no plug-in, no cache, and nothing that only costs time where nobody looks. What stays has fixtures, or
options that others read: the plug-in for debuggers is asked by every `TestCase`."""

for _name in (*(f"_pytest.{plugin}" for plugin in default_plugins), "pdb"):
    importlib.import_module(_name)


def run(folder: str, temporary: str, paths: list[str], counter: object) -> int:
    """The exit code of pytest over these files, which lie below `folder`; `counter` is a plug-in."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)
    places = ["--rootdir", folder, f"--confcutdir={folder}", "--basetemp", temporary]
    return int(pytest.main([*OPTIONS, *places, *paths], plugins=[counter]))
