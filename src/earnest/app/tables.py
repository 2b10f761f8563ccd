"""A settings file, and its tables as the values that they stand for, by pydantic, with all that is wrong at once."""

import difflib
import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_type_hints
from urllib.parse import urlsplit

from earnest.effects.ground.faults import why
from earnest.foundation.bounds import Fitting, Whole
from earnest.foundation.errors import Diagnostic

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Fault = Callable[[str, str], None]
"""Notes a fault, and the key at whose line it stands."""
SHOWN_CHARACTERS_MAX: Final = 60
TRUTH: Final = {"1": True, "true": True, "0": False, "false": False}
_Form = TypeVar("_Form", bound="DataclassInstance")


class SettingsFile:
    """The settings file: what it says (nothing, if it cannot be read), and what is wrong with it so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._text = ""
        self.values: dict[str, Any] = {}
        self.faults: list[Diagnostic] = []
        try:
            self._text = path.read_text(encoding="utf-8")
            self.values = tomllib.loads(self._text)
        except FileNotFoundError:
            pass
        except OSError as error:
            self.fault(why(error))
        except UnicodeDecodeError:
            self.fault("the file must be UTF-8 text")
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"at line (\d+)", str(error))
            self.fault(f"not TOML: {error}", line=int(line[1]) if line else 0)

    def fault(self, message: str, key: str = "", *, line: int = 0) -> None:
        """Note a fault, on the first line that begins with `key` if one is given."""
        line = self.line_of(key) if key and self.line_of(key) else line
        self.faults.append(Diagnostic(source=str(self.path), line=line, message=message))

    def line_of(self, key: str) -> int:
        """The first line that begins with `key`, or 0."""
        found = re.search(rf"^[ \t]*\[?[ \t]*{re.escape(key)}\b", self._text, re.MULTILINE)
        return self._text.count("\n", 0, found.start()) + 1 if found else 0


def read_table(given: object, default: _Form, place: str, fault: Fault, beside: Collection[str] = ()) -> _Form:
    """What the table named `place` says, over `default`, a dataclass; what is wrong goes to `fault` and is left out.

    What stands `beside` the members is passed over. Where each member alone is right, the words and keys of the form's
    `contradictions()`, if it has that method, are faults, too.
    """
    label = f"[{place}] " if place else ""
    if not isinstance(given, dict):
        fault(f"{place} must be a table, [{place}]", place)
        return default
    good: dict[str, Any] = {}
    own = {name: value for name, value in given.items() if name not in beside}
    for name, value in own.items():
        try:
            good[name] = _member(type(default), name, value, beside)
        except ValueError as error:
            fault(f"{label}{error}", name)
    found = replace(default, **good)
    contradictions: Callable[[], Iterable[tuple[str, ...]]] = getattr(found, "contradictions", tuple)
    for words, *keys in contradictions() if good.keys() == own.keys() else ():
        fault(f"{label}{words}", next((key for key in keys if key in own), keys[0]))
    return found


def _member(form: type, name: str, value: object, beside: Collection[str] = ()) -> Any:
    """A value of TOML as that member of `form`: texts are members of enumerations and lists are tuples, as in JSON.

    Raises `ValueError` that says what it must be; of texts it tells nothing, for some are secret.
    """
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - most homes set nothing, and do without

    kinds = get_type_hints(form, include_extras=True)
    if name not in kinds:
        raise ValueError(f"there is no {name!r}; {hint(name, dict.fromkeys([*kinds, *beside]))}")
    try:
        text = json.dumps(value, default=str, ensure_ascii=False).encode(errors="replace")
        return TypeAdapter(kinds[name]).validate_json(text, strict=True)
    except ValidationError:
        raise ValueError(_wanted(name, kinds[name], value)) from None


def over(table: object, form: type, variables: Mapping[str, str], environment: Mapping[str, str]) -> Any:
    """The table of `form`, over which those variables win that say something; what is no table is left as it is."""
    if not isinstance(table, dict):
        return table
    texts = {name: environment.get(variable, "").strip() for name, variable in variables.items()}
    return {**table, **as_told(form, {name: text for name, text in texts.items() if text})}


def as_told(form: type, texts: Mapping[str, str]) -> dict[str, object]:
    """Texts of the environment as the numbers and flags that they say, where a member of `form` is one."""
    kinds = get_type_hints(form) if texts else {}
    told: dict[str, object] = dict(texts)
    for name, text in texts.items():
        if kinds.get(name) is bool:
            told[name] = TRUTH.get(text.lower(), text)
        elif kinds.get(name) is int and re.fullmatch("[0-9]{1,9}", text):
            told[name] = int(text)
    return told


def is_address(text: str) -> bool:
    """True for `http(s)://HOST[:PORT]/PATH`."""
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


ADDRESS: Final = Fitting(lambda text: not text or is_address(text), "http(s)://HOST[:PORT]/PATH")


def hint(name: str, known: Iterable[str]) -> str:
    """What may have been meant by a name that is unknown."""
    near = difflib.get_close_matches(name, known := tuple(known), n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"


def _wanted(name: str, kind: Any, value: object) -> str:
    shown = f"{name} is {repr(value)[:SHOWN_CHARACTERS_MAX]}: it must be"
    for mark in getattr(kind, "__metadata__", ()):
        if isinstance(mark, Whole):
            return f"{shown} a whole number from {mark.low} to {mark.high}"
        if isinstance(mark, Fitting):
            return f"{name} must be {mark.wanted}"
    if kind is bool:
        return f"{shown} true or false"
    return f"{shown} one of {', '.join(kind)}" if issubclass(kind, StrEnum) else f"{name} must be a text"
