"""Check kind `json_list`: a file holds a list with enough items, each of them as it should be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.effects.hands.workspace.snapshot import Snapshot
from earnest.foundation.canonical import JsonValue, canonical_bytes
from earnest.foundation.text import listed
from earnest.verification.citations import CitedFiles
from earnest.verification.paths import read_json, read_path
from earnest.verification.plugin import ConfiguredCheck, Findings, Subject, looking
from earnest.verification.strict_json import NotStrictJson
from earnest.verification.values import Repeats, Type, ValueRule, address_key, is_url, read_rule, value_fault
from earnest.verification.visible import squeezed, without_unseen

ITEMS_MAX: Final = 100_000
KEYS_MAX: Final = 100
KEY_CHARACTERS_MAX: Final = 200
PROBLEMS_SHOWN_MAX: Final = 20
_DATE: Final = ValueRule(type=Type.DATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Citation:
    """The keys that name a source and what is quoted from it."""

    source: str
    quote: str | None
    allow_urls: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    path: str
    at: tuple[str, ...]
    items_min: int
    items_max: int
    item: ValueRule | None
    keys: Mapping[str, ValueRule]
    other_keys: bool
    repeats: Repeats
    unique: tuple[str, ...]
    citation: _Citation | None


def _read(reader: NodeReader, node: Node, _base_folder: Path | None) -> _Config:
    entries = reader.mapping(
        node,
        required=("path",),
        optional=("at", "items_min", "items_max", "item", "keys", "other_keys", "repeats", "unique", "citation"),
    )
    low = reader.integer(entries.get("items_min"), low=1, high=ITEMS_MAX, default=1)
    keys = reader.names(entries.get("keys"))
    if len(keys) > KEYS_MAX:
        reader.fault(entries["keys"], f"must have at most {KEYS_MAX} entries")
    if "item" in entries and keys:
        reader.fault(entries["item"], "give either item, for plain values, or keys, for objects")
    citation = entries.get("citation")
    at = reader.text(entries.get("at"), at_most=KEY_CHARACTERS_MAX)
    return _Config(
        path=read_path(reader, entries.get("path")),
        at=tuple(at.split(".")) if at else (),
        items_min=low,
        items_max=reader.integer(entries.get("items_max"), low=low, high=ITEMS_MAX, default=ITEMS_MAX),
        item=read_rule(reader, entries["item"]) if "item" in entries else None,
        keys={name: read_rule(reader, child) for name, child in keys.items()},
        other_keys=reader.boolean(entries.get("other_keys"), default=True),
        repeats=Repeats(reader.choice(entries.get("repeats"), list(Repeats), default=Repeats.ONCE)),
        unique=reader.texts(entries.get("unique"), at_most=KEYS_MAX, characters_max=KEY_CHARACTERS_MAX),
        citation=_citation(reader, citation) if citation is not None else None,
    )


def _citation(reader: NodeReader, node: Node) -> _Citation:
    entries = reader.mapping(node, required=("source",), optional=("quote", "urls"))
    quote = entries.get("quote")
    return _Citation(
        source=reader.text(entries.get("source"), at_most=KEY_CHARACTERS_MAX),
        quote=reader.text(quote, at_most=KEY_CHARACTERS_MAX) if quote is not None else None,
        allow_urls=reader.boolean(entries.get("urls"), default=True),
    )


def _findings(wanted: _Config, subject: Subject) -> Findings:
    """See docs/checks/json_list.md. Looks at the snapshot only; runs nothing.

    Every item is looked at, however many are wrong before it.
    """
    snapshot = subject.snapshot
    try:
        items = _items(wanted, snapshot)
    except NotStrictJson as problem:
        return Findings(passed=False, reason=f"{wanted.path}: {problem}", evidence=(wanted.path,))
    problems = [*_count_problems(wanted, items), *_item_problems(wanted, items, snapshot), *_twins(wanted, items)]
    if problems:
        reason = f"{wanted.path}: {listed(problems, PROBLEMS_SHOWN_MAX)}"
    else:
        reason = f"all {len(items)} items of {wanted.path} are as they should be"
    return Findings(passed=not problems, reason=reason, evidence=(wanted.path,), measured={"items": len(items)})


def _items(wanted: _Config, snapshot: Snapshot) -> Sequence[JsonValue]:
    value = read_json(snapshot, wanted.path)
    for key in wanted.at:
        if not isinstance(value, Mapping) or key not in value:
            raise NotStrictJson(f"there is nothing at {'.'.join(wanted.at)!r}")
        value = value[key]
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise NotStrictJson("it is no list")
    return value


def _count_problems(wanted: _Config, items: Sequence[JsonValue]) -> Iterator[str]:
    """Padding gains nothing: towards the minimum equal texts and objects count once, unless told otherwise."""
    seen = {canonical_bytes(_levelled(item)) for item in items if not _counts_each_time(item)}
    different = len(seen) + sum(map(_counts_each_time, items))
    count = len(items) if wanted.repeats is Repeats.ALLOWED else different
    if count < wanted.items_min:
        yield f"{count} {'different ' if count < len(items) else ''}items, at least {wanted.items_min} wanted"
    if len(items) > wanted.items_max:
        yield f"{len(items)} items, at most {wanted.items_max} wanted"


def _counts_each_time(item: JsonValue) -> bool:
    """True for numbers, truth values and dates: that two are equal says nothing."""
    return isinstance(item, bool | int | float) or (isinstance(item, str) and value_fault(_DATE, item) is None)


def _item_problems(wanted: _Config, items: Sequence[JsonValue], snapshot: Snapshot) -> Iterator[str]:
    files = CitedFiles(snapshot, wanted.path)
    for number, item in enumerate(items, start=1):
        if wanted.item is not None and (fault := value_fault(wanted.item, item)):
            yield f"item {number} {fault}"
        if wanted.keys or wanted.unique or wanted.citation:
            yield from (f"item {number} {problem}" for problem in _object_problems(wanted, item, files))
        elif wanted.item is None and (fault := value_fault(ValueRule(), item)):
            yield f"item {number} {fault}"


def _object_problems(wanted: _Config, item: JsonValue, files: CitedFiles) -> Iterator[str]:
    if not isinstance(item, Mapping):
        yield "is no object"
        return
    for key, rule in wanted.keys.items():
        if key not in item:
            if rule.required:
                yield f"has no key {key!r}"
        elif fault := value_fault(rule, item[key]):
            yield f"has a {key!r} that {fault}"
    if not wanted.other_keys:
        yield from (f"has the key {key[:80]!r}, which is not wanted" for key in item if key not in wanted.keys)
    if wanted.citation is not None and (fault := _citation_fault(wanted.citation, item, files)):
        yield fault


def _citation_fault(citation: _Citation, item: Mapping[str, JsonValue], files: CitedFiles) -> str | None:
    """An address is looked at, not fetched: what stands there is not proven."""
    source = item.get(citation.source)
    quote = item.get(citation.quote) if citation.quote is not None else None
    if not isinstance(source, str):
        return f"has no source in {citation.source!r}"
    if citation.quote is not None and not isinstance(quote, str):
        return f"has no quotation in {citation.quote!r}"
    if citation.allow_urls and is_url(source):
        return None
    return files.fault(source, quote if isinstance(quote, str) else None)


def _twins(wanted: _Config, items: Sequence[JsonValue]) -> Iterator[str]:
    """Items that are the same in what must differ. Case and unseen characters make no difference."""
    for key in (*([None] if wanted.repeats is Repeats.REFUSED else []), *wanted.unique):
        first: dict[bytes, int] = {}
        for number, item in enumerate(items, start=1):
            if key is not None and not (isinstance(item, Mapping) and key in item):
                if isinstance(item, Mapping):
                    yield f"item {number} has no key {key!r}"
                continue
            value = item[key] if key is not None and isinstance(item, Mapping) else item
            same = first.setdefault(canonical_bytes(_levelled(value)), number)
            if same != number:
                yield f"item {number} is item {same} again" + (f" in {key!r}" if key is not None else "")


def _levelled(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return f"text {squeezed(address_key(without_unseen(value)).casefold())}"
    if isinstance(value, Mapping):
        return {key: _levelled(child) for key, child in value.items()}
    if isinstance(value, Sequence):
        return [_levelled(child) for child in value]
    if isinstance(value, bool) or value is None:
        return value
    return f"number {int(value) if value == int(value) else value}"  # of any size, and 3.0 is 3


CHECK = ConfiguredCheck(kind="json_list", version=2, read=_read, measure=looking(_findings))
