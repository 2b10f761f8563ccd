"""YAML text as nodes with line numbers. Only the JSON part of YAML is read.

Anchors, aliases, tags, duplicate keys and keys that are not text are refused: two readers of one
promise must never see two promises.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import yaml

from earnest.contracts.node import Node, Scalar, below
from earnest.foundation.canonical import INTEGER_MAX
from earnest.foundation.errors import Diagnostic, Faulty

SOURCE_BYTES_MAX: Final = 8 * 1024 * 1024
DEPTH_MAX: Final = 32
FORMATS: Final = {
    "earnest-playbook-v1": "a playbook, which `earnest run` works",
    "earnest-spec-v1": "a specification, by which `earnest verify` judges",
}
VALUES_MAX: Final = 500_000

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER: Final = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?[0-9]{0,40}\.[0-9]{0,40}([eE][+-]?[0-9]{1,3})?", re.ASCII)
_MEANINGS: Final = (
    (
        "mapping values are not allowed",
        "a second colon, or a line indented deeper than its key: a text with ': ' stands in quotes",
    ),
    ("expected ',' or", "what opens here with [ or { is not closed, or lacks a comma"),
    ("unexpected end of stream", "the quotes that open here are not closed"),
    ("could not find expected ':'", "a key without its colon: write `key: value`"),
    ("expected <block end>", "indented unlike its neighbours, or text behind closing quotes"),
    ("did not find expected key", "indented unlike its neighbours, or text behind closing quotes"),
    (
        "did not find expected '-' indicator",
        "indented unlike its neighbours: each item begins with '-' below the first",
    ),
    ("block sequence entries are not allowed", "a list begins on a line of its own, below its key"),
    ("escape", "a backslash in double quotes begins an escape: double it, or take single quotes"),
    ("comment or line break", "behind | or > the text begins on the next line"),
    ("expected node content", "a value cannot begin so: put it in quotes"),
    ("cannot start any token", "a value cannot begin so: put it in quotes"),
)
"""What the parser says, and what it means to the writer."""
_OPENED: Final = ("expected ',' or", "unexpected end of stream", "could not find expected ':'")
"""Told where the thing began, not where reading stopped."""
_TAB: Final = re.compile(r"\btab\b|'\\t'")
_RESOLVERS: Final = yaml.SafeLoader.yaml_implicit_resolvers


def read_yaml(text: str | bytes, source: str, wanted: str = "") -> Node:
    """The one document of `text`, UTF-8 of at most `SOURCE_BYTES_MAX`. Raises `Faulty` with everything found wrong.

    Where one of `FORMATS` is `wanted`, a file of another one is refused in one line.
    """
    data = _checked_bytes(text, source)
    builder = _Builder(source, yaml.parse(data, Loader=_Loader))
    try:
        node = builder.document()
    except yaml.MarkedYAMLError as fault:
        raise Faulty([_meant(fault, data.decode(), source)]) from None
    except yaml.reader.ReaderError as fault:
        line = data.decode()[: fault.position].count("\n") + 1
        raise Faulty([Diagnostic(source=source, line=line, message=f"not YAML: {fault.reason}; remove them")]) from None
    if builder.faults:
        raise Faulty(builder.faults)
    if wanted:
        _refuse_other_format(node, source, wanted)
    return node


def _refuse_other_format(root: Node, source: str, wanted: str) -> None:
    given = root.value.get("format") if isinstance(root.value, Mapping) else None
    if given is not None and given.value != wanted and isinstance(given.value, str) and given.value in FORMATS:
        message = f"this is {FORMATS[given.value]}; here {FORMATS[wanted].partition(',')[0]} is wanted"
        raise Faulty([Diagnostic(source=source, line=given.line, message=message)])


def _meant(fault: yaml.MarkedYAMLError, text: str, source: str) -> Diagnostic:
    """What the parser could not read, in the words of whoever wrote it."""
    problem = str(fault.problem or fault.context or "something else")
    mark = (
        (any(words in problem for words in _OPENED) and fault.context_mark) or fault.problem_mark or fault.context_mark
    )
    if mark is None:
        return Diagnostic(source=source, line=0, message=f"not YAML: {problem}")
    lines = text.splitlines()
    at = lines[mark.line][mark.column :] if mark.line < len(lines) else ""
    message = next((meaning for words, meaning in _MEANINGS if words in problem), f"not YAML: {problem}")
    if at.startswith("\t") or _TAB.search(problem):
        message = "a tab: indent with spaces, for YAML takes no tabs there"
    return Diagnostic(source=source, line=mark.line + 1, message=message)


def _checked_bytes(text: str | bytes, source: str) -> bytes:
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line, message = data.count(b"\n", 0, error.start) + 1, "the file must be UTF-8 text: save it as such"
        raise Faulty([Diagnostic(source=source, line=line, message=message)]) from None
    if len(data) > SOURCE_BYTES_MAX:
        message = f"the file has {len(data)} bytes; the limit is {SOURCE_BYTES_MAX}"
        raise Faulty([Diagnostic(source=source, line=0, message=message)])
    return data


class _Builder:
    """Turns events into nodes and notes what is not JSON. Nothing is composed, so nothing can refer to itself."""

    def __init__(self, source: str, events: Iterator[yaml.Event]) -> None:
        self.faults: list[Diagnostic] = []
        self._source = source
        self._events = events
        self._values = 0

    def document(self) -> Node:
        """The node of the first and only document."""
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            raise self._stop(None, "the file is empty")
        node = self._node(next(self._events), "", 0)
        next(self._events)
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self._stop(after, "a second document begins: put it into a file of its own")
        return node

    def _node(self, event: yaml.Event, path: str, depth: int) -> Node:
        self._check(event, depth)
        line = _line(event)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(line, path, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Node] = []
            while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
                items.append(self._node(event, f"{path}[{len(items)}]", depth + 1))
            return Node(value=tuple(items), line=line, path=path)
        assert isinstance(event, yaml.ScalarEvent)
        return Node(value=self._scalar(event, line), line=line, path=path)

    def _check(self, event: yaml.Event, depth: int) -> None:
        self._values += 1
        if self._values > VALUES_MAX:
            raise self._stop(event, f"more than {VALUES_MAX} values")
        if depth > DEPTH_MAX:
            raise self._stop(event, f"nested deeper than {DEPTH_MAX}")
        if getattr(event, "anchor", None):
            raise self._stop(event, "anchors and aliases are not allowed: write the value out")
        if tag := getattr(event, "tag", None):
            raise self._stop(event, f"the tag {tag} is not allowed: write the value plainly")

    def _mapping(self, line: int, path: str, depth: int) -> Node:
        values: dict[str, Node] = {}
        key_lines: dict[str, int] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            at = _line(event)
            key = self._node(event, path, depth + 1).value
            named = key if isinstance(key, str) else ""
            child = self._node(next(self._events), below(path, named), depth + 1)
            is_merge = isinstance(event, yaml.ScalarEvent) and event.implicit[0] and event.value == "<<"
            if not isinstance(key, str) or is_merge:
                self._fault(at, "a key must be text: put it in quotes")
            elif key in values:
                self._fault(at, f"the key {key!r} is already on line {key_lines[key]}")
            else:
                key_lines[key] = at
                values[key] = child
        return Node(value=values, line=line, path=path, key_lines=key_lines)

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> Scalar:
        text = str(event.value)
        if not event.implicit[0]:  # in quotes or a block
            return text
        match _kind(text):
            case "null":
                return None
            case "bool":
                return text.lower() in {"true", "yes", "on"}
            case "int" | "float":
                return self._number(text, line)
            case _:  # text, and what YAML 1.1 takes for a date
                return text

    def _number(self, text: str, line: int) -> Scalar:
        """Decimal only: YAML 1.1 would read `010` as 8 and `1:30` as 90, which nobody means."""
        if _INTEGER.fullmatch(text) and abs(int(text)) <= INTEGER_MAX:
            return int(text)
        if _DECIMAL.fullmatch(text) and abs(float(text)) <= INTEGER_MAX:
            return float(text)
        self._fault(line, f"{text[:40]} is not a plain decimal number: write it plainly or put it in quotes")
        return None

    def _fault(self, line: int, message: str) -> None:
        self.faults.append(Diagnostic(source=self._source, line=line, message=message))

    def _stop(self, event: yaml.Event | None, message: str) -> Faulty:
        """For what makes reading on pointless."""
        self._fault(_line(event) if event else 0, message)
        return Faulty(self.faults)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _kind(text: str) -> str:
    """What YAML 1.1 takes plain text for."""
    for tag, pattern in _RESOLVERS.get(text[:1], ()):
        if pattern.match(text):
            return str(tag).removeprefix("tag:yaml.org,2002:")
    return "str"
