"""Building the environment of a file: the operator's own act, by the installer that is there."""

from collections.abc import Callable
from pathlib import Path

from earnest.app.judging import spec_of
from earnest.app.judging_settings import FILE_NAME, JudgingSettings
from earnest.app.sandboxes import environments
from earnest.contracts.environment import EnvironmentSpec
from earnest.contracts.playbook_reading import parse_playbook
from earnest.effects.hands.environments.recipe import Recipe
from earnest.effects.hands.environments.store import Built, installer
from earnest.foundation.errors import Refused
from earnest.runtime.equipping import recipe_of
from earnest.runtime.source import text_of


def built(file: Path | None, settings: JudgingSettings, announce: Callable[[Recipe, str], None]) -> tuple[Built, bool]:
    """The environment that a file asks for, None: the settings; and whether it was there already.

    `announce` is told what is fetched and by whom, before anything is. Raises `Faulty`, `Unavailable`,
    `Refused("nothing_to_build")`.
    """
    wanted, folder = _wanted(file, settings)
    recipe = recipe_of(wanted, folder) if wanted else None
    if recipe is None:
        where = file or settings.home / FILE_NAME
        raise Refused("nothing_to_build", f"{where} asks for no packages: it has no requirements and no pyproject")
    kept = environments(settings)
    found = kept.find(recipe)
    if found is not None:
        return found, True
    words = installer()
    announce(recipe, "pip" if "-m" in words else "uv")
    return kept.build(recipe, words), False


def _wanted(file: Path | None, settings: JudgingSettings) -> tuple[EnvironmentSpec | None, Path]:
    if file is None or file.absolute() == settings.home / FILE_NAME:
        return settings.environment, settings.home
    text = text_of(file)
    if b"earnest-playbook-v1" in text:
        return parse_playbook(text, str(file)).environment, file.absolute().parent
    spec, folder = spec_of(file)
    return spec.environment, folder
