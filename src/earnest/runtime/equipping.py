"""What a file's `environment` comes to on this machine: found, never fetched. Building is a command of its own."""

import os
import shutil
import sys
from collections.abc import Callable
from configparser import ConfigParser, Error
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

from earnest.contracts.environment import EnvironmentSpec
from earnest.effects.ground.faults import why
from earnest.effects.hands.environments.recipe import FILE_BYTES_MAX, Recipe, of_pyproject, of_requirements
from earnest.effects.hands.environments.store import DIGITS, Environments
from earnest.effects.hands.sandbox.equipped import Equipment, site_packages
from earnest.effects.hands.sandbox.host import read_host
from earnest.foundation.errors import Diagnostic, Faulty

SYSTEM_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


def recipe_of(wanted: EnvironmentSpec, folder: Path) -> Recipe | None:
    """What is to be built for it; None if nothing is. `folder` is where paths begin. Raises `Faulty`, with lines."""
    if wanted.requirements:
        path = folder / wanted.requirements
        return of_requirements(_content(wanted, "requirements", path), str(path))
    if wanted.pyproject:
        path = folder / wanted.pyproject
        return of_pyproject(_content(wanted, "pyproject", path), wanted.extra, str(path))
    return None


def equipment_of(wanted: EnvironmentSpec, folder: Path, kept: Environments) -> Equipment | None:
    """What a sandbox is given for it. Raises `Faulty` for what is not there, or not built yet."""
    faults: list[Diagnostic] = []
    found = [_or_faults(lambda: _packages(wanted, folder, kept), faults), _or_faults(lambda: _programs(wanted), faults)]
    if faults:
        raise Faulty(faults)
    packages, programs = found
    if packages and programs:
        return replace(packages, name=f"{packages.name}, {programs.name}")
    return packages or programs


def _or_faults(find: Callable[[], Equipment | None], faults: list[Diagnostic]) -> Equipment | None:
    try:
        return find()
    except Faulty as faulty:
        faults += faulty.diagnostics
        return None


def _packages(wanted: EnvironmentSpec, folder: Path, kept: Environments) -> Equipment | None:
    if wanted.venv:
        return _existing(wanted, (folder / wanted.venv).absolute())
    recipe = recipe_of(wanted, folder)
    if recipe is None:
        return None
    built = kept.find(recipe)
    if built is None:
        key = "requirements" if wanted.requirements else "pyproject"
        command = f"earnest environment build {wanted.source}"
        raise Faulty([wanted.fault(key, f"its packages are not built yet: `{command}` fetches {len(recipe.lines)}")])
    return built.equipment


def _existing(wanted: EnvironmentSpec, place: Path) -> Equipment:
    """A virtual environment that somebody else made; it is shown at its own place, as its scripts expect."""
    place = place.resolve()
    configuration = ConfigParser()
    try:
        configuration.read_string("[venv]\n" + (place / "pyvenv.cfg").read_text(encoding="utf-8"))
        home = Path(configuration["venv"]["home"])
    except (OSError, KeyError, Error, UnicodeDecodeError):
        raise Faulty([wanted.fault("venv", f"{place} is no virtual environment: it has no pyvenv.cfg")]) from None
    packages, fault = place / site_packages(), ""
    if not packages.is_dir():
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        fault = f"{place} is of another Python than {python}, which runs inside: make anew"
    elif not any(home.resolve().is_relative_to(shown) for shown in read_host().shown):
        fault = f"its Python lies in {home}, which no sandbox shows: make it with {sys.base_prefix}/bin/python3"
    if fault:
        raise Faulty([wanted.fault("venv", fault)])
    names = sorted(f"{one.metadata['Name']}=={one.version}" for one in distributions(path=[str(packages)]))
    digest = sha256("\n".join(names).encode()).hexdigest()[:DIGITS]
    return Equipment(name=f"environment {place} sha256:{digest}", folder=place)


def _programs(wanted: EnvironmentSpec) -> Equipment | None:
    missing = [name for name in wanted.programs if shutil.which(name, path=SYSTEM_PATH) is None]
    if missing:
        elsewhere = [
            f"{name} ({found})" for name in missing if (found := shutil.which(name, path=os.environ.get("PATH")))
        ]
        where = f"; {', '.join(elsewhere)} lies where no sandbox looks" if elsewhere else ""
        message = f"not installed in {SYSTEM_PATH.replace(':', ', ')}: {', '.join(missing)}{where}"
        raise Faulty([wanted.fault("programs", message)])
    return Equipment(name=f"programs {' '.join(wanted.programs)}") if wanted.programs else None


def _content(wanted: EnvironmentSpec, key: str, path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise Faulty([wanted.fault(key, f"{path}: {why(error)}")]) from error
    if len(content) > FILE_BYTES_MAX:
        raise Faulty([wanted.fault(key, f"{path} has more than {FILE_BYTES_MAX} bytes")])
    return content
