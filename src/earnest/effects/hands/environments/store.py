"""Built environments, kept by the digest of their recipe. Nothing changes in one after it was built."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

from earnest.effects.ground.durable import put_file
from earnest.effects.hands.environments.recipe import Recipe
from earnest.effects.hands.sandbox.api import ENVIRONMENT_DIR
from earnest.effects.hands.sandbox.equipped import Equipment, site_packages
from earnest.foundation.canonical import JsonObject, canonical_bytes, digest_of
from earnest.foundation.errors import Refused, Unavailable

BUILD_S_MAX: Final = 1_800
COMPLAINT_LINES: Final = 8
DIGITS: Final = 12
RECORD: Final = "environment.json"
TARGET: Final = "{python}"
"""In an installer's words, the environment's interpreter: `pip` takes it before its command, `uv` after."""
_BEGUN: Final = ".begun-"
_SCRIPT_BYTES_MAX: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """An environment that is kept. `id` begins the digest of its recipe; `packages` are names and versions."""

    id: str
    digest: str
    packages: tuple[str, ...]
    requirements: tuple[str, ...]
    folder: Path

    @property
    def equipment(self) -> Equipment:
        """As a sandbox is given it. Its name tells exactly what was installed, whatever versions were asked for."""
        return Equipment(
            name=f"environment {self.digest[: len('sha256:') + DIGITS]}", folder=self.folder, is_built=True
        )


class Environments:
    """Below one folder, which is made when the first is built."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, recipe: Recipe) -> Built | None:
        """The one that was built from it, if it was."""
        return self._read(self._folder / _id(recipe))

    def all(self) -> Iterator[Built]:
        """Each of them, by id."""
        for folder in sorted(self._folder.glob(f"*/{RECORD}")):
            if not folder.parent.name.startswith(".") and (built := self._read(folder.parent)):
                yield built

    def remove(self, identity: str) -> Built:
        """Take away the one whose id begins so. Raises `Refused("environment_unknown")`."""
        found = [built for built in self.all() if identity and built.id.startswith(identity)]
        if len(found) != 1:
            raise Refused(
                "environment_unknown",
                f"{len(found)} environments are kept whose id begins {identity[:64]!r}: see `earnest environment list`",
            )
        shutil.rmtree(found[0].folder)
        return found[0]

    def build(self, recipe: Recipe, installer: Sequence[str]) -> Built:
        """Build it, and keep it, unless somebody else did. Raises `Unavailable` with the installer's last words."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=_BEGUN, dir=self._folder))
        try:
            place.chmod(0o755)  # as root, the sandbox's user is somebody else
            venv.create(place, with_pip=False, symlinks=True)
            _install(recipe, place, installer)
            _relocate(place)
            put_file(place / RECORD, canonical_bytes(_record(recipe, place)), 0o644)
            with suppress(OSError):  # somebody was quicker
                place.rename(self._folder / _id(recipe))
        finally:
            shutil.rmtree(place, ignore_errors=True)
        built = self.find(recipe)
        if built is None:
            raise Unavailable(f"the environment could not be kept in {self._folder}")
        return built

    def _read(self, folder: Path) -> Built | None:
        try:
            record = json.loads((folder / RECORD).read_bytes())
        except (OSError, ValueError):
            return None
        return Built(
            id=folder.name,
            digest=record["digest"],
            packages=tuple(record["packages"]),
            requirements=tuple(record["requirements"]),
            folder=folder,
        )


def installer() -> tuple[str, ...]:
    """How packages are installed here: by `uv` if it is there, else by `pip`. Raises `Unavailable`."""
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.is_file() else shutil.which("uv")
    if uv:
        return (uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", TARGET)
    bases = (Path(sys.executable), Path(sys.base_prefix) / "bin" / "python3")
    for python in map(str, bases):
        if not subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode:  # noqa: S603
            pip = (python, "-m", "pip", "--python", TARGET)
            return (*pip, "install", "--quiet", "--no-input", "--disable-pip-version-check")
    raise Unavailable("no installer: `pip install uv`, or give Python a pip, and build again")


def _install(recipe: Recipe, place: Path, words: Sequence[str]) -> None:
    """In an empty folder, so that no project's settings count."""
    with tempfile.TemporaryDirectory(prefix="earnest-build-") as folder:
        (Path(folder) / "requirements.txt").write_text("\n".join(recipe.lines) + "\n", encoding="utf-8")
        target = str(place / "bin" / "python3")
        options = ("--only-binary", ":all:", *(["--require-hashes"] if recipe.hashed else []), "-r", "requirements.txt")
        line = [*(target if word == TARGET else word for word in words), *options]
        try:
            ended = subprocess.run(  # noqa: S603 - an installer of the operator's, asked for by the operator
                line, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=BUILD_S_MAX, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"the installer did not come to its end: {error}") from error
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().splitlines()[-COMPLAINT_LINES:]
        raise Unavailable("\n".join(["the installer could not build the environment:", *(f"  {one}" for one in said)]))


def _relocate(place: Path) -> None:
    """Have scripts name the interpreter where it will be shown."""
    before, after = os.fsencode(place), os.fsencode(ENVIRONMENT_DIR)
    for script in (place / "bin").iterdir():
        if script.is_symlink() or not script.is_file() or script.stat().st_size > _SCRIPT_BYTES_MAX:
            continue
        content = script.read_bytes()
        if content.startswith(b"#!"):
            script.write_bytes(content.replace(before, after))


def _record(recipe: Recipe, place: Path) -> JsonObject:
    found = distributions(path=[str(place / site_packages())])
    packages = sorted(f"{one.metadata['Name']}=={one.version}".lower() for one in found)
    about: JsonObject = {"recipe": recipe.digest, "packages": list(packages)}
    return {"digest": digest_of(about), "packages": list(packages), "requirements": list(recipe.lines)}


def _id(recipe: Recipe) -> str:
    return recipe.digest.removeprefix("sha256:")
