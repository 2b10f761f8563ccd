"""Rules for one value of a list or one cell of a table."""

import contextlib
import posixpath
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final
from urllib.parse import quote, unquote_to_bytes, urlsplit

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.foundation.canonical import INTEGER_MAX, JsonValue
from earnest.foundation.text import printable
from earnest.verification.patterns import PATTERN_CHARACTERS_MAX, is_found, pattern_fault
from earnest.verification.visible import is_placeholder, without_unseen

CHOICES_MAX: Final = 100
TEXT_CHARACTERS_MAX: Final = 10_000
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_HOST: Final = re.compile(r"[^\s.:/@]+(?:\.[^\s.:/@]+)+\.?")


class Type(StrEnum):
    """`url` and `date` (2026-11-21) are text of that form."""

    ANY = "any"
    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LIST = "list"
    OBJECT = "object"
    URL = "url"
    DATE = "date"


class Repeats(StrEnum):
    """What equal items are: counted once towards a minimum, counted each time, or a fault."""

    ONCE = "once"
    ALLOWED = "allowed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRule:
    """`low` and `high` bound a number, and the visible characters of a text. A placeholder counts as no value."""

    type: Type = Type.ANY
    required: bool = True
    low: int | None = None
    high: int | None = None
    regex: str | None = None
    one_of: tuple[str, ...] = ()
    placeholders: bool = False


def read_rule(reader: NodeReader, node: Node) -> ValueRule:
    """The rule that a config writes; a plain word is a type."""
    if isinstance(node.value, str):
        return ValueRule(type=reader.choice(node, Type, default=Type.ANY))
    entries = reader.mapping(
        node, required=(), optional=("type", "required", "min", "max", "regex", "one_of", "placeholders")
    )
    low, high = (_bound(reader, entries.get(name)) for name in ("min", "max"))
    if low is not None and high is not None and low > high:
        reader.fault(node, f"min is {low} and max is {high}: nothing lies between")
    regex = entries.get("regex")
    return ValueRule(
        type=reader.choice(entries.get("type"), Type, default=Type.ANY),
        required=reader.boolean(entries.get("required"), default=True),
        low=low,
        high=high,
        regex=read_pattern(reader, regex) if regex is not None else None,
        one_of=reader.texts(entries.get("one_of"), at_least=1, at_most=CHOICES_MAX, characters_max=TEXT_CHARACTERS_MAX),
        placeholders=reader.boolean(entries.get("placeholders"), default=False),
    )


def value_fault(rule: ValueRule, value: JsonValue) -> str | None:
    """What is wrong with a JSON value, or None."""
    if not _IS_OF[rule.type](value):
        return f"is no {rule.type}"
    if isinstance(value, str):
        return _text_fault(rule, value)
    if isinstance(value, bool) or value is None:
        return "is null" if value is None else None
    if isinstance(value, int | float):
        return _bounds_fault(rule, value, "is")
    return _bounds_fault(rule, len(value), "has the size")


def cell_fault(rule: ValueRule, text: str) -> str | None:
    """What is wrong with a table's cell, or None. An empty cell is no value."""
    shown = without_unseen(text).strip().strip("`").strip()
    match rule.type:
        case Type.INTEGER if _INTEGER.fullmatch(shown):
            return _bounds_fault(rule, int(shown), "is")
        case Type.NUMBER if _NUMBER.fullmatch(shown):
            return _bounds_fault(rule, float(shown), "is")
        case Type.INTEGER | Type.NUMBER:
            return f"is no {rule.type}"
        case Type.ANY | Type.TEXT | Type.URL | Type.DATE:
            return value_fault(rule, shown)
        case _:
            return f"cannot be of the type {rule.type}"


def is_url(text: str) -> bool:
    """True for an absolute http or https address of a host with a dot, without credentials."""
    if not text.isprintable() or any(character.isspace() for character in text):
        return False
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in {"http", "https"}
            and parts.username is None
            and _HOST.fullmatch(parts.hostname or "") is not None
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        return False


def address_key(text: str) -> str:
    """What two ways of writing one address have in common; any other text as it is.

    Scheme, capitals and a last dot of the host, the usual port, escapes of what needs none, `.` and `..`, an empty
    query and the fragment make no difference.
    """
    if not is_url(text):
        return text
    parts = urlsplit(text)
    host = unicodedata.normalize("NFKC", parts.hostname or "").rstrip(".")
    with contextlib.suppress(UnicodeError):
        host = host.encode("idna").decode()
    port = "" if parts.port in {None, 80, 443} else f":{parts.port}"
    path = posixpath.normpath("/" + _plainly_escaped(parts.path).lstrip("/"))
    return f"//{host.lower()}{port}{path}?{_plainly_escaped(parts.query)}"


def _plainly_escaped(text: str) -> str:
    """With each byte escaped that has to be, and no other."""
    return quote(unquote_to_bytes(text), safe="/?:@!$&'()*+,;=~-._")


def _text_fault(rule: ValueRule, text: str) -> str | None:
    shown = without_unseen(text).strip()
    if not shown and rule.required:
        return "is empty"
    if not rule.placeholders and is_placeholder(text):
        return f"is a placeholder ({shown[:40]!r})"
    if (rule.type is Type.URL and not is_url(text)) or (rule.type is Type.DATE and not _is_date(text)):
        return f"is no {rule.type}"
    if rule.regex is not None and not is_found(rule.regex, text):
        return f"does not match {printable(rule.regex[:80])}"
    if rule.one_of and text not in rule.one_of:
        return "is none of the words allowed"
    return _bounds_fault(rule, len(shown), "has the length")


def _bounds_fault(rule: ValueRule, amount: float, what: str) -> str | None:
    if (rule.low is not None and amount < rule.low) or (rule.high is not None and amount > rule.high):
        return f"{what} {amount}"
    return None


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _bound(reader: NodeReader, node: Node | None) -> int | None:
    return None if node is None else reader.integer(node, low=-INTEGER_MAX, high=INTEGER_MAX, default=0)


def read_pattern(reader: NodeReader, node: Node) -> str:
    """A config's pattern; what is wrong with it is noted."""
    pattern = reader.text(node, at_most=PATTERN_CHARACTERS_MAX)
    if fault := pattern_fault(pattern):
        reader.fault(node, fault)
    return pattern


_IS_OF: Final[Mapping[Type, Callable[[JsonValue], bool]]] = {
    Type.ANY: lambda _: True,
    Type.TEXT: lambda value: isinstance(value, str),
    Type.URL: lambda value: isinstance(value, str),
    Type.DATE: lambda value: isinstance(value, str),
    Type.BOOLEAN: lambda value: isinstance(value, bool),
    Type.INTEGER: lambda value: isinstance(value, int) and not isinstance(value, bool),
    Type.NUMBER: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    Type.LIST: lambda value: isinstance(value, Sequence) and not isinstance(value, str),
    Type.OBJECT: lambda value: isinstance(value, Mapping),
}
