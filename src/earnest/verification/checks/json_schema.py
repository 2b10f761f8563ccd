"""Check kind `json_schema`: a file is strict JSON that satisfies a JSON Schema (2020-12)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from earnest.contracts.node import Node, plain
from earnest.contracts.reader import NodeReader
from earnest.foundation.canonical import JsonValue
from earnest.foundation.errors import Refused
from earnest.verification.paths import beside_fault, read_beside, read_json, read_path
from earnest.verification.plugin import CheckTools, ConfiguredCheck, Findings, Subject
from earnest.verification.schema import schema_fault
from earnest.verification.schema_process import schema_problems
from earnest.verification.strict_json import NotStrictJson, strict_json


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    path: str
    schema: JsonValue
    schema_file: str | None


async def _measure(wanted: _Config, subject: Subject, _tools: CheckTools) -> Findings:
    """See docs/checks/json_schema.md. Runs no code of the submission and needs no sandbox."""
    schema = wanted.schema
    if wanted.schema_file is not None:
        schema = await asyncio.to_thread(_schema_beside, subject.base_folder, wanted.schema_file)
    try:
        value = await asyncio.to_thread(read_json, subject.snapshot, wanted.path)
    except NotStrictJson as problem:
        return Findings(passed=False, reason=f"{wanted.path}: {problem}", evidence=(wanted.path,))
    problems = await schema_problems(schema, value)
    if problems:
        reason = f"{wanted.path} does not satisfy the schema: {'; '.join(problems)}"
        return Findings(passed=False, reason=reason, evidence=(wanted.path,))
    return Findings(passed=True, reason=f"{wanted.path} satisfies the schema", evidence=(wanted.path,))


def _read(reader: NodeReader, node: Node, base_folder: Path | None) -> _Config:
    entries = reader.mapping(node, required=("path", "schema"), optional=())
    given = entries.get("schema")
    name = given.value if given is not None and isinstance(given.value, str) else None
    schema: JsonValue = {}
    if given is not None and name is None:
        schema = _inline(reader, given)
    elif given is not None and name is not None and (fault := beside_fault(base_folder, name, _schema_beside)):
        reader.fault(given, fault)
    return _Config(path=read_path(reader, entries.get("path")), schema=schema, schema_file=name)


def _inline(reader: NodeReader, node: Node) -> JsonValue:
    if not isinstance(node.value, Mapping):
        reader.fault(node, "must be a schema (a mapping) or the name of a file beside the spec")
        return {}
    schema = plain(node.json())
    fault = schema_fault(schema)
    if fault:
        reader.fault(node, fault)
    return schema


def _schema_beside(base_folder: Path | None, name: str) -> JsonValue:
    try:
        schema = strict_json(read_beside(base_folder, name))
    except NotStrictJson as problem:
        raise Refused("bad_check_file", f"{name} is not strict JSON: {problem}") from None
    fault = schema_fault(schema)
    if fault:
        raise Refused("bad_check_file", f"{name} {fault}")
    return schema


CHECK = ConfiguredCheck(kind="json_schema", version=1, read=_read, measure=_measure)
