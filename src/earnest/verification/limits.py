"""The bounds that `limits:` of a check sets. Units for people outside, for machines inside."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from earnest.contracts.node import node_of
from earnest.contracts.reader import NodeReader
from earnest.effects.hands.sandbox.api import MIB, ExecutionLimits
from earnest.foundation.canonical import JsonObject
from earnest.verification.plugin import ConfigFault


class _Limit(NamedTuple):
    field: str
    unit: int
    low: int
    high: int


LIMITS: Final = {
    "wall_s": _Limit("wall_ms", 1000, 1, 3_600),
    "cpu_s": _Limit("cpu_ms", 1000, 1, 3_600),
    "memory_mb": _Limit("memory_bytes", MIB, 16, 16_384),
    "processes": _Limit("processes", 1, 1, 1_024),
    "open_files": _Limit("open_files", 1, 16, 4_096),
    "stdout_kb": _Limit("output_bytes", 1024, 1, 65_536),
    "file_mb": _Limit("file_bytes", MIB, 1, 4_096),
    "files_mb": _Limit("disk_bytes", MIB, 1, 4_096),
}
"""`stdout_kb` bounds stdout and stderr each; `file_mb` one file; `files_mb` all files together."""


def read_limits(limits: JsonObject | None) -> tuple[ExecutionLimits, Sequence[ConfigFault]]:
    """The limits with defaults for what is not said, and everything wrong with them."""
    if limits is None:
        return ExecutionLimits(), ()
    reader = NodeReader()
    entries = reader.mapping(node_of(limits, "limits"), required=(), optional=tuple(LIMITS))
    given = {
        limit.field: limit.unit * reader.integer(entries[name], low=limit.low, high=limit.high, default=limit.low)
        for name, limit in LIMITS.items()
        if name in entries
    }
    return replace(ExecutionLimits(), **given), [ConfigFault(fault.path, fault.message) for fault in reader.faults]
