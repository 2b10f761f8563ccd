"""Check kind `files`: the required files are there, with the content they should have."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.effects.hands.workspace.snapshot import Snapshot, SnapshotEntry
from earnest.foundation.text import listed, printable
from earnest.verification.markdown import headings
from earnest.verification.paths import GLOB_SEGMENTS_MAX, is_match, path_fault, read_entry, read_sha256
from earnest.verification.patterns import is_found
from earnest.verification.plugin import ConfiguredCheck, Findings, Subject, looking
from earnest.verification.values import read_pattern

ITEMS_MAX: Final = 100
PATH_CHARACTERS_MAX: Final = 1_024
CONTENT_BYTES_MAX: Final = 4 * 1024 * 1024
"""Of a file whose content is looked into; a larger one fails."""
TEXT_CHARACTERS_MAX: Final = 1024 * 1024
MATCHES_MAX: Final = 10_000
SIZE_BYTES_MAX: Final = 1 << 40
PROBLEMS_SHOWN_MAX: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """What is required of one path, or of all files that match a glob."""

    pattern: str
    is_glob: bool
    matches_min: int
    matches_max: int
    size_min: int
    size_max: int
    sha256: str
    exact: str | None
    contains: tuple[str, ...]
    regex: str
    headings: tuple[str, ...]

    @property
    def needs_text(self) -> bool:
        return bool(self.contains or self.regex or self.headings)


def _read(reader: NodeReader, node: Node, _base_folder: Path | None) -> tuple[list[_Item], list[str]]:
    """Something must be required: what only forbids, an empty folder satisfies."""
    entries = reader.mapping(node, required=("required",), optional=("forbidden",))
    required = reader.items(entries.get("required"), at_least=1, at_most=ITEMS_MAX)
    forbidden = reader.items(entries.get("forbidden"), at_most=ITEMS_MAX)
    return [_item(reader, item) for item in required], [_pattern_path(reader, item) for item in forbidden]


def _item(reader: NodeReader, node: Node) -> _Item:
    if isinstance(node.value, str):
        node = Node(value={"path": node}, line=node.line, path=node.path)
    sizes = ("min_bytes", "max_bytes")
    entries = reader.mapping(
        node,
        required=(),
        optional=("path", "glob", "min", "max", *sizes, "exact", "contains", "regex", "sha256", "headings"),
    )
    if ("path" in entries) == ("glob" in entries):
        reader.fault(node, "give exactly one of path and glob")
    if "path" in entries and ("min" in entries or "max" in entries):
        reader.fault(node, "min and max count the matches of a glob: use min_bytes and max_bytes for a size")
    at_least = reader.integer(entries.get("min"), low=1, high=MATCHES_MAX, default=1)
    return _Item(
        pattern=_pattern_path(reader, entries.get("path") or entries.get("glob")),
        is_glob="glob" in entries,
        matches_min=at_least,
        matches_max=reader.integer(entries.get("max"), low=at_least, high=MATCHES_MAX, default=MATCHES_MAX),
        size_min=reader.integer(entries.get("min_bytes"), low=0, high=SIZE_BYTES_MAX, default=0),
        size_max=reader.integer(entries.get("max_bytes"), low=0, high=SIZE_BYTES_MAX, default=SIZE_BYTES_MAX),
        sha256=read_sha256(reader, entries.get("sha256")),
        exact=reader.text(entries["exact"], at_most=TEXT_CHARACTERS_MAX, empty=True) if "exact" in entries else None,
        contains=reader.texts(entries.get("contains"), at_most=ITEMS_MAX, characters_max=TEXT_CHARACTERS_MAX),
        regex=read_pattern(reader, entries["regex"]) if "regex" in entries else "",
        headings=reader.texts(entries.get("headings"), at_most=ITEMS_MAX, characters_max=1_000),
    )


def _pattern_path(reader: NodeReader, node: Node | None) -> str:
    path = reader.text(node, at_most=PATH_CHARACTERS_MAX)
    fault = path_fault(path) if path else None
    if path.count("/") >= GLOB_SEGMENTS_MAX:
        fault = f"has more than {GLOB_SEGMENTS_MAX} parts"
    if node is not None and fault:
        reader.fault(node, fault)
    return path


def _findings(wanted: tuple[list[_Item], list[str]], subject: Subject) -> Findings:
    """See docs/checks/files.md. Looks at the snapshot only; runs nothing."""
    required, forbidden = wanted
    snapshot = subject.snapshot
    problems: list[str] = []
    seen: list[str] = []
    for item in required:
        found = [entry for entry in snapshot.entries if _selects(item, entry)]
        seen.extend(entry.path for entry in found[:PROBLEMS_SHOWN_MAX])
        if not found:
            problems.append(f"{item.pattern} is missing")
        elif not item.matches_min <= len(found) <= item.matches_max:
            problems.append(f"{item.pattern} matches {len(found)} files")
        for entry in found:
            problems.extend(f"{entry.path} {problem}" for problem in _problems(item, entry, snapshot))
    for pattern in forbidden:
        problems.extend(
            f"{entry.path} must not be there" for entry in snapshot.entries if is_match(entry.path, pattern)
        )
    reason = listed(problems, PROBLEMS_SHOWN_MAX) or "every required file is as it should be"
    return Findings(passed=not problems, reason=reason, evidence=tuple(seen))


def _selects(item: _Item, entry: SnapshotEntry) -> bool:
    return is_match(entry.path, item.pattern) if item.is_glob else entry.path == item.pattern


def _problems(item: _Item, entry: SnapshotEntry, snapshot: Snapshot) -> list[str]:
    """What is wrong with one file. The expected content is not shown: who handed in may read this."""
    problems = []
    if not item.size_min <= entry.size_bytes <= item.size_max:
        problems.append(f"has {entry.size_bytes} bytes")
    if item.sha256 and entry.digest != f"sha256:{item.sha256}":
        problems.append("has another SHA-256")
    if item.exact is None and not item.needs_text:
        return problems
    if entry.size_bytes > CONTENT_BYTES_MAX:
        return [*problems, f"has more than {CONTENT_BYTES_MAX} bytes and was not looked into"]
    data = read_entry(snapshot, entry)
    if item.exact is not None and data != item.exact.encode():
        problems.append("has another content")
    if item.needs_text:
        try:
            problems.extend(_text_problems(item, data.decode()))
        except UnicodeDecodeError:
            problems.append("is not UTF-8 text")
    return problems


def _text_problems(item: _Item, text: str) -> list[str]:
    titles = set(headings(text)) if item.headings else set()
    return [
        *(f"does not contain {part[:80]!r}" for part in item.contains if part not in text),
        *([f"does not match {printable(item.regex)}"] if item.regex and not is_found(item.regex, text) else []),
        *(f"has no heading {title!r}" for title in item.headings if " ".join(title.split()) not in titles),
    ]


CHECK = ConfiguredCheck(kind="files", version=1, read=_read, measure=looking(_findings))
