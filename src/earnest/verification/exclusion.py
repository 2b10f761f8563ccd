"""Two checks that cannot both pass, whatever the work is like."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any

from earnest.contracts.criterion import Criterion
from earnest.verification.paths import is_match


def excluding(criteria: Sequence[Criterion], ids: str) -> str:
    """Which two of the criteria that `ids` names exclude each other, in words; empty if none do."""
    named = set(re.findall(r"[A-Za-z0-9_-]+", ids))
    chosen = [criterion for criterion in criteria if criterion.id in named]
    for one, other in combinations(chosen, 2):
        reason = next(chain(_clashes(one, other), _clashes(other, one)), "")
        if reason:
            return f"{one.id} and {other.id} exclude each other: {reason}"
    return ""


def _clashes(one: Criterion, other: Criterion) -> Iterator[str]:
    """What `one` requires and `other` forbids, where both look at files."""
    if one.check is None or other.check is None or {one.check.kind, other.check.kind} != {"files"}:
        return
    for item in map(_item, _listed(one.check.config.get("required"))):
        path = item.get("path")
        if not isinstance(path, str):
            continue
        for pattern in _listed(other.check.config.get("forbidden")):
            if is_match(path, str(pattern)):
                yield f"{path} must be there, and must not"
        for second in map(_item, _listed(other.check.config.get("required"))):
            if second.get("path") == path:
                yield from _content(path, item, second)


def _content(path: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    exact = one.get("exact")
    size = None if exact is None else len(exact.encode())
    if one.get("min_bytes", size or 0) > other.get("max_bytes", math.inf):
        yield f"{path} must be larger than it may"
    if exact is None:
        return
    if size is not None and size < other.get("min_bytes", 0):
        yield f"{path} must be exactly one text, and larger than that"
    if other.get("exact", exact) != exact:
        yield f"{path} must have two contents"
    parts = other.get("contains", ())
    for part in (parts,) if isinstance(parts, str) else parts:
        if part not in exact:
            yield f"{path} must be exactly one text, and contain what that does not"


def _item(required: object) -> Mapping[str, Any]:
    return required if isinstance(required, Mapping) else {"path": required}


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, Sequence) else ()
