"""What a virtual environment is built from: requirements, each of them a name and versions, for one Python.

A file cannot say where packages come from: that is for the installer's own settings.
"""

import platform
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from earnest.foundation.canonical import digest_of
from earnest.foundation.errors import Diagnostic, Faulty

REQUIREMENTS_MAX: Final = 1_000
FILE_BYTES_MAX: Final = 4 * 1024 * 1024
_HASH: Final = re.compile(r"[ \t]--hash[= ](sha(?:256|384|512):[0-9a-fA-F]{64,128})(?=[ \t]|$)")
_COMMENT: Final = re.compile(r"(^|[ \t])#.*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The lines of a requirements file, in order, without comments; all of them have hashes or none has."""

    lines: tuple[str, ...]
    hashed: bool = False

    @property
    def digest(self) -> str:
        """The same for the same lines, this Python and this kind of machine."""
        python = [sys.implementation.cache_tag, platform.python_version(), sys.base_prefix, platform.machine()]
        return digest_of({"requirements": list(self.lines), "python": python})


def of_requirements(text: bytes, source: str) -> Recipe:
    """The recipe that a `requirements.txt` is. Raises `Faulty` with every line that is none."""
    faults: list[Diagnostic] = []
    lines: list[str] = []
    hashed: list[bool] = []
    for number, line in _lines(_decoded(text, source)):
        hashes = _HASH.findall(line)
        wanted = _HASH.sub("", line).strip()
        if fault := _fault(wanted):
            faults.append(Diagnostic(source=source, line=number, message=fault))
        hashed.append(bool(hashes))
        lines.append(" ".join([wanted, *(f"--hash={one}" for one in hashes)]))
    if any(hashed) and not all(hashed):
        bare = lines[hashed.index(False)]
        faults.append(Diagnostic(source=source, line=0, message=f"give all lines hashes or none; {bare} has none"))
    return _recipe(lines, faults, source, hashed=any(hashed))


def of_pyproject(text: bytes, extra: str, source: str) -> Recipe:
    """What a `pyproject.toml` depends on, and what its `extra` adds; not the project itself. Raises `Faulty`."""
    try:
        project: Any = tomllib.loads(_decoded(text, source)).get("project")
    except tomllib.TOMLDecodeError as error:
        raise Faulty([Diagnostic(source=source, line=0, message=f"not TOML: {error}")]) from None
    project = project if isinstance(project, Mapping) else {}
    if "dependencies" in (project.get("dynamic") or ()):
        raise Faulty([Diagnostic(source=source, line=0, message="its dependencies are dynamic: name them in a file")])
    extras = project.get("optional-dependencies")
    extras = {canonicalize_name(name): lines for name, lines in extras.items()} if isinstance(extras, Mapping) else {}
    if extra and canonicalize_name(extra) not in extras:
        known = f"; it has {', '.join(sorted(extras))}" if extras else ""
        raise Faulty([Diagnostic(source=source, line=0, message=f"there is no extra {extra!r}{known}")])
    lines = [*(project.get("dependencies") or ()), *(extras[canonicalize_name(extra)] if extra else ())]
    faults = [
        Diagnostic(source=source, line=0, message=fault)
        for line in lines
        if (fault := _fault(line) if isinstance(line, str) else "a dependency must be text")
    ]
    return _recipe([str(line) for line in lines], faults, source)


def _recipe(lines: list[str], faults: list[Diagnostic], source: str, *, hashed: bool = False) -> Recipe:
    if not 0 < len(lines) <= REQUIREMENTS_MAX and not faults:
        message = f"names {len(lines)} packages: it must be 1 to {REQUIREMENTS_MAX}"
        faults.append(Diagnostic(source=source, line=0, message=message))
    if faults:
        raise Faulty(faults)
    return Recipe(lines=tuple(lines), hashed=hashed)


def _fault(wanted: str) -> str:
    """Why this is no requirement that can be taken."""
    if wanted.startswith("-"):
        option = wanted.partition(" ")[0].partition("=")[0]
        return f"the option {option} is not taken: where packages come from is for the installer's own settings"
    try:
        if Requirement(wanted).url:
            return f"{wanted}: a package is taken by name, not from an address"
    except InvalidRequirement as error:
        why = str(error).partition("\n")[0]
        return f"{wanted[:80]!r} is no requirement such as `pytest>=8`: {why}"
    return ""


def _decoded(text: bytes, source: str) -> str:
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Faulty([Diagnostic(source=source, line=0, message="the file must be UTF-8 text")]) from None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with the number on which each begins: a backslash goes on with it."""
    begun, number = "", 0
    for at, line in enumerate(text.splitlines(), start=1):
        number = number or at
        begun += _COMMENT.sub("", line)
        if begun.endswith("\\"):
            begun = begun[:-1]
            continue
        if begun.strip():
            yield number, begun.strip()
        begun, number = "", 0
    if begun.strip():
        yield number, begun.strip()
