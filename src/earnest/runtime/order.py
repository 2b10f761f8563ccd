"""What a user orders: a playbook, what it may read, and what it may touch beyond its workspace."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from earnest.contracts.playbook import Playbook, parse_playbook, playbook_from_json, playbook_to_json
from earnest.contracts.yaml_source import SOURCE_BYTES_MAX, read_yaml
from earnest.effects.tools.record import ToolCall
from earnest.effects.tools.toolbox import Toolbox
from earnest.foundation.canonical import JsonObject, digest_of
from earnest.foundation.errors import Broken, Diagnostic, Faulty
from earnest.verification.service import Verifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """What the operator allowed for this run beyond the workspace. A playbook asks, it does not grant."""

    write: tuple[Path, ...] = ()
    network: bool = False

    def missing(self, call: ToolCall) -> str:
        """What the call needs and was not granted, in words; empty if nothing."""
        paths = [path for path in call.writes if not any(Path(path).is_relative_to(allowed) for allowed in self.write)]
        wants = [f"write to {path}" for path in paths]
        if call.network and not self.network:
            wants.append("use the network")
        return " and ".join(wants)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A playbook to be worked. `folder` is where it lies; `inputs` are absolute paths of what exists."""

    playbook: Playbook
    source: str
    folder: Path
    inputs: Mapping[str, Path]
    grants: Grants

    @property
    def digest(self) -> str:
        """Equal for the same playbook over the same inputs."""
        inputs = {name: str(path) for name, path in self.inputs.items()}
        return digest_of({"playbook": playbook_to_json(self.playbook), "folder": str(self.folder), "inputs": inputs})

    def to_json(self) -> JsonObject:
        """The body of `run.started`: all that a later process needs to go on."""
        return {
            "playbook": playbook_to_json(self.playbook),
            "source": self.source,
            "folder": str(self.folder),
            "inputs": {name: str(path) for name, path in self.inputs.items()},
            "grants": {"write": [str(path) for path in self.grants.write], "network": self.grants.network},
            "digest": self.digest,
        }

    @classmethod
    def from_json(cls, body: JsonObject) -> "Order":
        """The inverse of `to_json`. Raises `Broken` for anything else."""
        match body:
            case {
                "playbook": dict(playbook),
                "source": str(source),
                "folder": str(folder),
                "inputs": dict(inputs),
                "grants": {"write": [*write], "network": bool(network)},
            }:
                return cls(
                    playbook=playbook_from_json(playbook),
                    source=source,
                    folder=Path(folder),
                    inputs={name: Path(str(path)) for name, path in inputs.items()},
                    grants=Grants(write=tuple(Path(str(path)) for path in write), network=network),
                )
        raise Broken("a run's start cannot be read")


def read_order(path: Path, toolbox: Toolbox, verifier: Verifier, grants: Grants) -> Order:
    """The order that a playbook file makes. Raises `Faulty` with every fault, each with file and line."""
    source, folder = str(path), path.absolute().parent
    text = text_of(path)
    playbook = parse_playbook(
        text,
        source,
        tools=toolbox.tools,
        tool_faults=toolbox.faults,
        check_faults=lambda check: verifier.check_faults(check, folder),
    )
    inputs = {name: (folder / place).resolve() for name, place in playbook.inputs.items()}
    missing = [name for name, place in inputs.items() if not place.exists()]
    if missing:
        lines = read_yaml(text, source).lines()
        raise Faulty(
            Diagnostic(
                source=source, line=lines.get(f"inputs.{name}", 0), message=f"no such file or folder: {inputs[name]}"
            )
            for name in missing
        )
    return Order(playbook=playbook, source=source, folder=folder, inputs=inputs, grants=grants)


def text_of(path: Path) -> bytes:
    """A file that somebody wrote, whole. Raises `Faulty` if it cannot be read or is larger than YAML may be."""
    try:
        with path.open("rb") as file:
            text = file.read(SOURCE_BYTES_MAX + 1)
    except OSError as error:
        raise Faulty([Diagnostic(source=str(path), line=0, message=error.strerror or str(error))]) from error
    if len(text) > SOURCE_BYTES_MAX:
        raise Faulty([Diagnostic(source=str(path), line=0, message=f"larger than {SOURCE_BYTES_MAX} bytes")])
    return text
