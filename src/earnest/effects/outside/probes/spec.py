"""A probe as the operator set it up, with the expected value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from earnest.effects.outside.probes.api import Reading, Value
from earnest.foundation.canonical import JsonValue
from earnest.foundation.errors import Unavailable

WALL_S_DEFAULT: Final = 10
WALL_S_MAX: Final = 300
_PORT_MAX: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the value must be. At least one of the three is given."""

    equals: Value = None
    at_least: float | None = None
    at_most: float | None = None

    def __str__(self) -> str:
        parts = (
            f"equal to {self.equals!r}" if self.equals is not None else "",
            f"at least {self.at_least:g}" if self.at_least is not None else "",
            f"at most {self.at_most:g}" if self.at_most is not None else "",
        )
        return " and ".join(part for part in parts if part)

    def reading(self, value: Value) -> Reading:
        """What a measured value means. Raises `Unavailable` if a text is to be compared with a number."""
        return Reading(value=value, as_expected=value is not None and self._holds(value), expectation=str(self))

    def _holds(self, value: bool | int | float | str) -> bool:
        if self.equals is not None and (
            isinstance(value, bool) != isinstance(self.equals, bool) or value != self.equals
        ):
            return False
        if self.at_least is None and self.at_most is None:
            return True
        if isinstance(value, bool | str):
            raise Unavailable("the probe measured no number, and a number was expected")
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSpec:
    """One table `[probes.NAME]` of the settings. `config` is for the measuring process of its kind."""

    kind: str
    config: Mapping[str, JsonValue]
    expectation: Expectation
    wall_s: int = WALL_S_DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Key:
    """One key of a kind: its type, whether it must be there, and what else must be true of it."""

    type: type
    required: bool = False
    valid: Callable[[JsonValue], bool] = lambda _: True
    rule: str = ""


def _is_absolute(value: JsonValue) -> bool:
    return isinstance(value, str) and Path(value).is_absolute()


def _is_one_of(*words: str) -> Callable[[JsonValue], bool]:
    return lambda value: value in words


def _is_command(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(part, str) and "\0" not in part for part in value)


def _begins_with(*beginnings: str) -> Callable[[JsonValue], bool]:
    return lambda value: isinstance(value, str) and value.startswith(beginnings)


_HTTP: Final = _begins_with("http://", "https://")
_DATABASE: Final = _begins_with("sqlite:///", "postgresql://", "postgresql+psycopg://")


KINDS: Final[Mapping[str, Mapping[str, _Key]]] = {
    "file": {"path": _Key(type=str, required=True, valid=_is_absolute, rule="must be an absolute path")},
    "command": {
        "command": _Key(type=list, required=True, valid=_is_command, rule="must be a list of texts"),
        "folder": _Key(type=str, valid=_is_absolute, rule="must be an absolute path"),
        "measure": _Key(type=str, valid=_is_one_of("exit_code", "stdout"), rule="must be exit_code or stdout"),
    },
    "http": {
        "url": _Key(type=str, required=True, valid=_HTTP, rule="must begin with http:// or https://"),
        "json": _Key(type=str),
        "token_variable": _Key(type=str),
    },
    "sql": {
        "url": _Key(type=str, required=True, valid=_DATABASE, rule="must begin with sqlite:/// or postgresql://"),
        "query": _Key(type=str, required=True),
    },
    "imap": {
        "host": _Key(type=str, required=True),
        "port": _Key(type=int, valid=lambda port: isinstance(port, int) and 0 < port <= _PORT_MAX, rule="1 to 65535"),
        "tls": _Key(type=bool),
        "user": _Key(type=str, required=True),
        "password_variable": _Key(type=str, required=True),
        "folder": _Key(type=str),
        "search": _Key(type=str),
    },
}
"""What each kind takes beside `kind`, `wall_s` and the expectation."""

_EXPECTED: Final = ("equals", "at_least", "at_most")
_DEFAULTS: Final[Mapping[str, Expectation]] = {
    "command": Expectation(equals=0),
    "http": Expectation(equals=200),
}


def read_probe(table: Mapping[str, JsonValue], faults: list[str]) -> ProbeSpec | None:
    """The probe of one table; everything wrong with it is added to `faults`, and then there is none."""
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        faults.append(f"kind must be one of {', '.join(KINDS)}")
        return None
    keys = KINDS[kind]
    before = len(faults)
    known = ("kind", *keys, "wall_s", *_EXPECTED)
    faults.extend(f"unknown key {name!r}; known keys: {', '.join(known)}" for name in table if name not in known)
    for name, key in keys.items():
        if name not in table:
            faults.extend([f"the key {name!r} is missing"] if key.required else [])
        elif type(table[name]) is not key.type or table[name] in ("", []) or not key.valid(table[name]):
            faults.append(f"{name} is {table[name]!r}: {key.rule or f'must be a {key.type.__name__}'}")
    wall_s = table.get("wall_s", WALL_S_DEFAULT)
    if type(wall_s) is not int or not 1 <= wall_s <= WALL_S_MAX:
        faults.append(f"wall_s must be a whole number from 1 to {WALL_S_MAX}")
    expectation = _expectation(table, kind, faults)
    if len(faults) > before or expectation is None:
        return None
    config = {name: table[name] for name in keys if name in table}
    return ProbeSpec(kind=kind, config=config, expectation=expectation, wall_s=int(str(wall_s)))


def _expectation(table: Mapping[str, JsonValue], kind: str, faults: list[str]) -> Expectation | None:
    given = {name: table[name] for name in _EXPECTED if name in table}
    equals, bounds = given.get("equals"), [given.get("at_least"), given.get("at_most")]
    if "equals" in given and not isinstance(equals, bool | int | float | str):
        faults.append("equals must be a number, text, true or false")
        return None
    if any(bound is not None and (isinstance(bound, bool) or not isinstance(bound, int | float)) for bound in bounds):
        faults.append("at_least and at_most must be numbers")
        return None
    plain = not given and table.get("measure", "exit_code") == "exit_code" and "json" not in table
    if plain and kind in _DEFAULTS:
        return _DEFAULTS[kind]
    if not given:
        faults.append("give what is expected: equals, at_least or at_most")
        return None
    low, high = (float(bound) if isinstance(bound, int | float) else None for bound in bounds)
    return Expectation(
        equals=equals if isinstance(equals, bool | int | float | str) else None, at_least=low, at_most=high
    )
