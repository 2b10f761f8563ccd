"""Taking work in to be judged: a private copy, what it asserts of itself, and whether an edit kept its links.

An assertion proves nothing. It is read for one purpose: who states what the measurement shows to be otherwise has said
something untrue, and that weighs more than a failure (seed accountability, ground truth contradiction).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from earnest.effects.hands.edits.taking import EDIT_LIMITS
from earnest.effects.hands.workspace.archive import take_submission
from earnest.effects.hands.workspace.snapshot import Seen, Snapshot, SnapshotLimits, take_snapshot
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.foundation.canonical import JsonValue, digest_bytes
from earnest.foundation.errors import Broken, Refused
from earnest.verification.paths import read_entry
from earnest.verification.plugin import Base
from earnest.verification.strict_json import NotStrictJson, strict_json

FILE_NAME: Final = "earnest-assertions.json"
FORMAT: Final = "earnest-assertions-v1"
FILE_BYTES_MAX: Final = 64 * 1024
TEXT_CHARACTERS_MAX: Final = 1_000
Scalar: TypeAlias = bool | int | float | str
Assertions: TypeAlias = Mapping[str, Mapping[str, Scalar]]
"""Of each criterion, by id: the asserted value of each measure, by name."""
EDIT_SNAPSHOT_LIMITS: Final = SnapshotLimits(
    files=EDIT_LIMITS.entries, size_bytes=EDIT_LIMITS.size_bytes, depth=EDIT_LIMITS.depth, links=True
)

LayOut: TypeAlias = Callable[[Path], tuple[Path, Path | None]]
"""Writes work below an empty folder. Answers where it lies and where the files lie that its checks name. May raise
`OSError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What was taken in, what it asserts, and a flag if that cannot be told."""

    snapshot: Snapshot
    base_folder: Path | None = None
    asserted: Assertions
    flags: tuple[str, ...]


def taken_in(
    lay_out: LayOut, scratch: Path, limits: SnapshotLimits, seen: Seen | None, bases: Mapping[str, Base]
) -> Taken:
    """Take work in. A folder in `scratch` is ours alone already.

    Raises `Refused` for what cannot be taken in, `snapshot_refused` too where an edit's links are not those of its
    base: what cannot be applied is not judged. Raises `OSError` where the reading fails.
    """
    work, base_folder = lay_out(scratch)
    if seen is not None or (work.is_relative_to(scratch) and work.is_dir()):
        snapshot = take_snapshot(work, None, limits, seen)
    else:
        snapshot = take_submission(work, scratch / "snapshot", limits)
    for name, base in bases.items():
        _refuse_other_links(snapshot, name, base)
    return taken_of(snapshot, base_folder)


def taken_of(snapshot: Snapshot, base_folder: Path | None = None) -> Taken:
    """What is there already, with what it asserts."""
    asserted: Assertions = {}
    flags: tuple[str, ...] = ()
    try:
        asserted = read_assertions(snapshot)
    except (NotStrictJson, Broken, OSError) as error:
        flags = (f"its assertions cannot be read: {error}",)
    return Taken(snapshot=snapshot, base_folder=base_folder, asserted=asserted, flags=flags)


def _refuse_other_links(snapshot: Snapshot, name: str, base: Base) -> None:
    was = {path: entry.digest for path, entry in base.entries.items() if entry.kind is EntryKind.LINK}
    now = {path: digest_bytes(to.encode()) for path, to in snapshot.links.items() if f"{path}/".startswith(f"{name}/")}
    other = next((path for path in sorted(was.keys() | now.keys()) if was.get(path) != now.get(path)), None)
    if other is not None:
        raise Refused("snapshot_refused", f"{other!r}: a link came, went or changed, which no edit may do: put it back")


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
        f"it was asserted that {name} is {repr(value)[:80]}, and measured otherwise"
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
