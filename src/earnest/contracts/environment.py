"""The environment that a playbook or a spec asks for: the packages and programs that its commands find inside."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Diagnostic

PATH_CHARACTERS_MAX: Final = 1_024
PROGRAMS_MAX: Final = 50
PACKAGES: Final = ("requirements", "pyproject", "venv")
"""Where packages can come from; one of them."""
_TEXTS: Final = ("requirements", "pyproject", "extra", "venv")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSpec:
    """Paths are relative to the folder of the file that says so, or absolute; empty: none. `extra` is of `pyproject`.

    `source` and `lines` name that file and the line of each key, where they are known.
    """

    requirements: str = ""
    pyproject: str = ""
    extra: str = ""
    venv: str = ""
    programs: tuple[str, ...] = ()
    source: str = field(default="environment", compare=False)
    lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)

    def fault(self, key: str, message: str) -> Diagnostic:
        """What is wrong with the value of a key."""
        return Diagnostic(source=self.source, line=self.lines.get(key, 0), message=f"environment.{key}: {message}")


def read_environment(reader: NodeReader, node: Node | None, source: str) -> EnvironmentSpec | None:
    """The environment in a file, None if it has none; what is wrong is noted in `reader`."""
    if node is None:
        return None
    entries = reader.mapping(node, required=(), optional=(*_TEXTS, "programs"))
    given = [name for name in PACKAGES if name in entries]
    if len(given) > 1:
        reader.fault(entries[given[1]], f"packages come from one place, here also from {given[0]}")
    if "extra" in entries and "pyproject" not in entries:
        reader.fault(entries["extra"], "an extra is one of a pyproject.toml: name that as pyproject")
    if isinstance(node.value, Mapping) and not given and "programs" not in entries:
        reader.fault(node, f"asks for nothing: give {', '.join(PACKAGES)} or programs")
    programs = reader.texts(entries.get("programs"), at_least=1, at_most=PROGRAMS_MAX, characters_max=64)
    for name in programs:
        if name and ("/" in name or not name.isprintable()):
            reader.fault(entries["programs"], f"{name!r} must be the plain name of a program")
    texts = {name: reader.text(entries.get(name), at_most=PATH_CHARACTERS_MAX) for name in _TEXTS}
    lines = {name: child.line for name, child in entries.items()}
    return EnvironmentSpec(**texts, programs=programs, source=source, lines=lines)


def environment_to_json(environment: EnvironmentSpec | None) -> JsonObject:
    """The member `environment` of a file, if it has one."""
    if environment is None:
        return {}
    texts = {name: text for name in _TEXTS if (text := getattr(environment, name))}
    return {"environment": {**texts, **({"programs": list(environment.programs)} if environment.programs else {})}}
