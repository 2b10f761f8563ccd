"""What a submission asserts about itself, and which of it was measured to be false.

An assertion proves nothing. It is read for one purpose: who states what the measurement shows to be otherwise has said
something untrue, and that weighs more than a failure (seed accountability, ground truth contradiction).
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from earnest.effects.hands.workspace.snapshot import Snapshot
from earnest.foundation.canonical import JsonValue
from earnest.verification.paths import read_entry
from earnest.verification.strict_json import NotStrictJson, strict_json

FILE_NAME: Final = "earnest-assertions.json"
FORMAT: Final = "earnest-assertions-v1"
FILE_BYTES_MAX: Final = 64 * 1024
TEXT_CHARACTERS_MAX: Final = 1_000

Scalar: TypeAlias = bool | int | float | str
Assertions: TypeAlias = Mapping[str, Mapping[str, Scalar]]
"""Of each criterion, by id: the asserted value of each measure, by name."""


def read_assertions(snapshot: Snapshot) -> Assertions:
    """What the submission asserts; empty without such a file. Raises `NotStrictJson` if it cannot be told."""
    entry = snapshot.entry(FILE_NAME)
    if entry is None:
        return {}
    if entry.size_bytes > FILE_BYTES_MAX:
        raise NotStrictJson(f"{FILE_NAME} has more than {FILE_BYTES_MAX} bytes")
    match strict_json(read_entry(snapshot, entry)):
        case {"format": format_, "assertions": Mapping() as criteria, **rest} if format_ == FORMAT and not rest:
            return {identity: _values(identity, values) for identity, values in criteria.items()}
    raise NotStrictJson(f"{FILE_NAME} must hold exactly the keys format ({FORMAT}) and assertions")


def contradictions(asserted: Mapping[str, Scalar], measured: Mapping[str, Scalar]) -> Sequence[str]:
    """Every assertion about what was measured to be otherwise, in words. 3 and 3.0 are the same, 1 and true are not."""
    return [
        f"it was asserted that {name} is {_shown(value)}, and measured otherwise"
        for name, value in asserted.items()
        if name in measured and (isinstance(value, bool) != isinstance(measured[name], bool) or value != measured[name])
    ]


def _values(identity: str, values: JsonValue) -> Mapping[str, Scalar]:
    if not isinstance(values, Mapping):
        raise NotStrictJson(f"{FILE_NAME}: the assertions about {identity[:64]!r} must be an object")
    found: dict[str, Scalar] = {}
    for name, value in values.items():
        if not isinstance(value, bool | int | float | str) or len(str(value)) > TEXT_CHARACTERS_MAX:
            raise NotStrictJson(f"{FILE_NAME}: {identity[:64]}.{name[:64]} must be a number, text, true or false")
        found[name] = value
    return found


def _shown(value: Scalar) -> str:
    return repr(value)[:80]
