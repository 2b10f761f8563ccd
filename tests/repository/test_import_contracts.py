"""Do the import contracts say what the architecture page says, about modules that exist?"""

import re
from typing import Any

from .source import SRC, expect_none, page, project, shown


def _storeys() -> dict[str, Any]:
    (contract,) = (contract for contract in _contracts("layers") if contract["containers"] == ["earnest"])
    return contract


def _contracts(kind: str) -> list[dict[str, Any]]:
    return [contract for contract in project()["tool"]["importlinter"]["contracts"] if contract["type"] == kind]


def test_the_layers_are_the_storeys_of_the_architecture_page() -> None:
    rows = re.findall(r"^\| *\d+ *\|([^|]*)\|", page("architecture.md"), flags=re.MULTILINE)
    storeys = [sorted(re.findall(r"`(\w+)`", row)) for row in rows]
    layers = _storeys()
    assert [sorted(re.findall(r"\w+", layer)) for layer in layers["layers"]] == storeys


def test_nothing_lives_outside_the_rooms() -> None:
    layers = _storeys()
    rooms = {room for layer in layers["layers"] for room in re.findall(r"\w+", layer)}
    assert layers["exhaustive"]
    assert {path.name for path in SRC.iterdir() if path.is_dir() and path.name != "__pycache__"} == rooms


def test_every_module_that_a_contract_names_exists() -> None:
    """A contract about a module that was renamed would hold for ever, and protect nothing."""
    named = {
        module
        for contract in project()["tool"]["importlinter"]["contracts"]
        for key in ("source_modules", "forbidden_modules", "protected_modules", "allowed_importers")
        for module in contract.get(key, [])
        if module.startswith("earnest.")
    }
    expect_none((module for module in named if not _exists(module)), "named in a contract, but not there")


def _exists(module: str) -> bool:
    pattern = "/".join(module.split(".")[1:])
    return any(path.suffix == ".py" or path.is_dir() for form in (pattern, f"{pattern}.py") for path in SRC.glob(form))


def test_every_service_and_store_is_protected() -> None:
    protected = {module for contract in _contracts("protected") for module in contract["protected_modules"]}
    stores = {f"earnest.{shown(path)[12:-3].replace('/', '.')}" for path in SRC.glob("*/store.py")}
    assert "earnest.*.service" in protected
    expect_none(stores - protected, "not protected")
