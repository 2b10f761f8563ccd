"""Verification specs: what a submission must be, and who accepts it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from earnest.contracts.criterion import (
    CRITERIA_MAX,
    CheckFaults,
    Criterion,
    criterion_to_json,
    no_check_faults,
    read_criteria,
)
from earnest.contracts.environment import EnvironmentSpec, environment_to_json, read_environment
from earnest.contracts.never import read_never
from earnest.contracts.node import Node, node_of
from earnest.contracts.reader import NodeReader
from earnest.contracts.yaml_source import read_yaml
from earnest.foundation.canonical import JsonObject

FORMAT: Final = "earnest-spec-v1"
TITLE_CHARACTERS_MAX: Final = 200
TEXT_CHARACTERS_MAX: Final = 20_000


class Acceptance(StrEnum):
    """Who decides: the checks alone, or a person whom they advise."""

    MACHINE = "machine"
    BUYER = "buyer"
    PROPOSER = "proposer"
    HUMAN = "human"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationSpec:
    """At least one criterion is required."""

    title: str
    text: str
    criteria: tuple[Criterion, ...]
    acceptance: Acceptance = Acceptance.MACHINE
    environment: EnvironmentSpec | None = None


def parse_spec(text: str | bytes, source: str, *, check_faults: CheckFaults = no_check_faults) -> VerificationSpec:
    """The spec that `text` is. Raises `Faulty` with every fault and its line."""
    return _spec(read_yaml(text, source, FORMAT), source, check_faults)


def spec_of_json(value: JsonObject, source: str, *, check_faults: CheckFaults = no_check_faults) -> VerificationSpec:
    """The spec that a JSON object is. Raises `Faulty` with every fault."""
    return _spec(node_of(value), source, check_faults)


def spec_to_json(spec: VerificationSpec) -> JsonObject:
    """The spec in its own format; `spec_of_json` gives it back."""
    return {
        "format": FORMAT,
        "title": spec.title,
        "text": spec.text,
        "acceptance": spec.acceptance.value,
        **environment_to_json(spec.environment),
        "criteria": [criterion_to_json(criterion) for criterion in spec.criteria],
    }


def _spec(root: Node, source: str, check_faults: CheckFaults) -> VerificationSpec:
    reader = NodeReader()
    entries = reader.mapping(
        root, required=("format", "title", "text", "criteria"), optional=("acceptance", "environment", "never")
    )
    reader.choice(entries.get("format"), [FORMAT], default=FORMAT)
    acceptance = reader.choice(entries.get("acceptance"), Acceptance, default=Acceptance.MACHINE)
    items = reader.items(entries.get("criteria"), at_least=1, at_most=CRITERIA_MAX)
    criteria = read_criteria(reader, items, check_faults)
    for item in items:
        has_check = isinstance(item.value, Mapping) and "check" in item.value
        if acceptance is Acceptance.MACHINE and not has_check:
            reader.fault(item, "acceptance is machine, so each criterion needs a check")
    judged = acceptance is not Acceptance.MACHINE
    if criteria and not any(criterion.required for criterion in criteria):
        reader.fault(entries["criteria"], "at least one criterion must be required")
    spec = VerificationSpec(
        title=reader.text(entries.get("title"), at_most=TITLE_CHARACTERS_MAX),
        text=reader.text(entries.get("text"), at_most=TEXT_CHARACTERS_MAX),
        acceptance=acceptance,
        environment=read_environment(reader, entries.get("environment"), source),
        criteria=(*criteria, *read_never(reader, entries.get("never"), check_faults, judged=judged)),
    )
    reader.raise_found(source)
    return spec
