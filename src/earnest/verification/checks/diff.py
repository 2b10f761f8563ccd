"""Check kind `diff`: a run's change of the user's files stays within what it may touch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.contracts.never import EVERY_EDIT
from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.effects.hands.edits.text_diff import changed_lines
from earnest.effects.hands.workspace.snapshot import Snapshot
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.foundation.text import listed
from earnest.verification.paths import is_match, path_fault
from earnest.verification.plugin import Base, ConfiguredCheck, Findings, Subject, looking

PATTERNS_MAX: Final = 100
PATTERN_CHARACTERS_MAX: Final = 1_024
COUNT_MAX: Final = 10_000_000
SHOWN_MAX: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    """What may differ. `edit` empty: the only one that the run has, `*`: all. `only` empty: any path."""

    edit: str
    only: tuple[str, ...]
    never: tuple[str, ...]
    files_max: int
    files_min: int
    lines_max: int


def _measure(bounds: _Bounds, subject: Subject) -> Findings:
    """See docs/checks/diff.md. Compares the snapshot with what was taken in; runs nothing."""
    if bounds.edit == EVERY_EDIT:
        return _findings_of_all(bounds, subject)
    name = bounds.edit or next(iter(subject.bases), "")
    base = subject.bases.get(name)
    if base is None or (not bounds.edit and len(subject.bases) > 1):
        known = ", ".join(subject.bases) or "none"
        return Findings(passed=None, reason=f"there is no edit {name!r} to compare with: the run has {known}")
    return _findings(bounds, name, base, subject.snapshot)


def _read(reader: NodeReader, node: Node, _base_folder: Path | None) -> _Bounds:
    entries = reader.mapping(
        node, required=(), optional=("edit", "only", "never", "files_max", "files_min", "lines_max")
    )
    if not entries.keys() - {"edit"}:
        reader.fault(node, "bounds nothing: give only, never, files_max, files_min or lines_max")
    if "edit" in entries and entries["edit"].value == EVERY_EDIT and entries.keys() != {"edit", "never"}:
        reader.fault(node, "of every edit at once nothing but 'never' can be asked")
    return _Bounds(
        edit=reader.text(entries["edit"], at_most=PATTERN_CHARACTERS_MAX) if "edit" in entries else "",
        only=_patterns(reader, entries.get("only")),
        never=_patterns(reader, entries.get("never")),
        files_max=reader.integer(entries.get("files_max"), low=0, high=COUNT_MAX, default=COUNT_MAX),
        files_min=reader.integer(entries.get("files_min"), low=0, high=COUNT_MAX, default=0),
        lines_max=reader.integer(entries.get("lines_max"), low=0, high=COUNT_MAX, default=COUNT_MAX),
    )


def _patterns(reader: NodeReader, node: Node | None) -> tuple[str, ...]:
    patterns = reader.texts(node, at_most=PATTERNS_MAX, characters_max=PATTERN_CHARACTERS_MAX)
    for pattern in patterns:
        fault = path_fault(pattern)
        if node is not None and fault:
            reader.fault(node, f"{pattern!r} {fault}")
    return patterns


def _findings(bounds: _Bounds, name: str, base: Base, snapshot: Snapshot) -> Findings:
    changed = _changed(name, base, snapshot)
    problems = [f"{path} may not change" for path in changed if not _may_change(bounds, path)]
    if not bounds.files_min <= len(changed) <= bounds.files_max:
        problems.append(f"{len(changed)} files changed, {bounds.files_min} to {bounds.files_max} may")
    lines = 0
    if bounds.lines_max < COUNT_MAX:
        for path in changed:
            count = _lines(path, base, snapshot)
            if count is None:
                problems.append(f"{path} is no text whose lines could be counted")
            else:
                lines += count
        if lines > bounds.lines_max:
            problems.append(f"{lines} lines were added and removed, {bounds.lines_max} may be")
    measured = {"files": len(changed)} | ({"lines": lines} if bounds.lines_max < COUNT_MAX else {})
    reason = listed(problems, SHOWN_MAX) or f"{len(changed)} files of {name} differ, all within the bounds"
    return Findings(passed=not problems, reason=reason, evidence=tuple(changed[:SHOWN_MAX]), measured=measured)


def _findings_of_all(bounds: _Bounds, subject: Subject) -> Findings:
    """Patterns begin within an edit, or with its name. What lies in no edit has come."""
    changed: dict[str, tuple[str, ...]] = {}
    for name, base in subject.bases.items():
        changed |= {path: (path, path.removeprefix(f"{name}/")) for path in _changed(name, base, subject.snapshot)}
    paths = (entry.path for entry in subject.snapshot.entries)
    changed |= {path: (path,) for path in paths if not any(_within(path, name) for name in subject.bases)}
    touched = sorted(path for path, names in changed.items() if not all(_may_change(bounds, one) for one in names))
    reason = listed([f"{path} may not change" for path in touched], SHOWN_MAX)
    return Findings(
        passed=not touched,
        reason=reason or f"{len(changed)} files differ, none of them where nothing may",
        evidence=tuple(touched[:SHOWN_MAX]),
        measured={"files": len(changed)},
    )


def _changed(name: str, base: Base, snapshot: Snapshot) -> list[str]:
    """The files that came, went or differ, in order of path. Folders and links are no files."""
    now = {entry.path: (entry.digest, entry.mode_executable) for entry in snapshot.entries if _within(entry.path, name)}
    before = {path: (e.digest, e.executable) for path, e in base.entries.items() if e.kind is EntryKind.FILE}
    return sorted(path for path in now.keys() | before.keys() if now.get(path) != before.get(path))


def _within(path: str, name: str) -> bool:
    return path == name or path.startswith(name + "/")


def _may_change(bounds: _Bounds, path: str) -> bool:
    if any(is_match(path, pattern) for pattern in bounds.never):
        return False
    return not bounds.only or any(is_match(path, pattern) for pattern in bounds.only)


def _lines(path: str, base: Base, snapshot: Snapshot) -> int | None:
    before = base.entries.get(path)
    now = snapshot.entry(path)
    if before is not None and now is not None and before.digest == now.digest:
        return 0
    former = base.content(path) if before is not None else None
    count = changed_lines(former, (snapshot.folder / path).read_bytes() if now else None)
    return None if count is None else count.added + count.removed


CHECK = ConfiguredCheck(kind="diff", version=1, read=_read, measure=looking(_measure))
