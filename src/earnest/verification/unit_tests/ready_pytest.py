"""What pytest imports when it starts, imported before it does: it stands ready in a sandbox."""

import importlib
import os
from typing import Final

import pytest
from _pytest.config import default_plugins

OPTIONS: Final = (
    *("-q", "--strict-markers", "--tb=short", "--color=no", "--import-mode=prepend", "-c", "/dev/null"),
    *("-p", "no:cacheprovider", "-p", "no:debugging", "-p", "no:doctest", "-p", "no:faulthandler", "-p", "no:junitxml"),
    *("-p", "no:legacypath", "-p", "no:pastebin", "-p", "no:setuponly", "-p", "no:setupplan", "-p", "no:stepwise"),
    *("-p", "no:threadexception", "-p", "no:unraisableexception"),
)
"""No configuration, no plug-in, no cache, and nothing that only costs time where nobody looks."""

for _name in default_plugins:
    importlib.import_module(f"_pytest.{_name}")


def run(folder: str, temporary: str, paths: list[str], counter: object) -> int:
    """The exit code of pytest over these files, which lie below `folder`; `counter` is a plug-in."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)
    places = ["--rootdir", folder, f"--confcutdir={folder}", "--basetemp", temporary]
    return int(pytest.main([*OPTIONS, *places, *paths], plugins=[counter]))
