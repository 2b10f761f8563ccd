"""The JSON object in a model's answer: the first complete one that fits, whatever stands around it."""

import json
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final, NoReturn

from earnest.effects.outside.llm.fitting import misfits
from earnest.foundation.canonical import INTEGER_MAX, JsonObject, JsonValue, canonical_bytes
from earnest.foundation.text import printable

ANSWER_CHARACTERS_MAX: Final = 4 * 1024 * 1024
DEPTH_MAX: Final = 64
MARKS_MAX: Final = 256
"""How many thoughts and objects, broken ones too, are looked at."""
NAMES_CHARACTERS_MAX: Final = 200

_MARK: Final = re.compile(r"""(?P<opens><think(?:ing)?>)|(?P<closes></think(?:ing)?>)|\{(?=\s*["}])""", re.I)
_CLOSES: Final = re.compile(r"</think(?:ing)?>", re.I)
_EXTENT: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
"""Finds where an object ends; what stands in it is looked at afterwards."""


class NoAnswer(ValueError):
    """Why there is no answer in a text, for the model's second attempt. It may quote the model: data, one line."""

    def __init__(self, reason: str) -> None:
        super().__init__(printable(reason))


def read_answer(text: str, form: JsonObject) -> JsonObject:
    """The first complete JSON object in `text` that has this form (see `misfits`). Raises `NoAnswer`.

    Prose, code blocks and further objects around it are passed over, and so are thoughts: what stands between
    `<think>` and `</think>`, after an opening tag that is never closed, or before a closing one that was never opened.
    Nothing is mended. What is taken has a canonical form (RFC 8785), no key twice and at most `DEPTH_MAX` levels. Takes
    time linear in the text.
    """
    if len(text) > ANSWER_CHARACTERS_MAX:
        raise NoAnswer(f"it is longer than {ANSWER_CHARACTERS_MAX} characters")
    fault = "it holds no JSON object"
    for found in _spoken(text):
        if isinstance(found, dict):
            fault = "; ".join(misfits(form, found))
            if not fault:
                return found
        else:
            fault = str(found)
    raise NoAnswer(fault)


def _spoken(text: str) -> list[JsonObject | NoAnswer]:
    """Every object outside thoughts, or what is wrong where one begins."""
    found: list[JsonObject | NoAnswer] = []
    at = 0
    for _ in range(MARKS_MAX):
        mark = _MARK.search(text, at)
        if mark is None:
            break
        at = mark.end()
        if mark["opens"]:
            closing = _CLOSES.search(text, at)
            if closing is None:
                found.append(NoAnswer("it thinks, and says nothing afterwards"))
                break
            at = closing.end()
        elif mark["closes"]:
            found.clear()
        else:
            try:
                _, at = _EXTENT.raw_decode(text, mark.start())
                found.append(_strict(text[mark.start() : at]))
            except json.JSONDecodeError as error:  # what was whole within it is only a part
                at = max(at, error.pos)
                found.append(NoAnswer(f"no JSON at character {error.pos}: {error.msg}"))
            except RecursionError:
                raise NoAnswer(f"nested deeper than {DEPTH_MAX}") from None
            except ValueError as error:
                found.append(NoAnswer(str(error)))
    return found


def _strict(text: str) -> JsonObject:
    """The value of a text that is known to be an object. Raises `ValueError` for what not every reader reads alike."""
    value: JsonObject = _STRICT.decode(text)
    for _ in islice(_levels(value), DEPTH_MAX, None):
        raise ValueError(f"nested deeper than {DEPTH_MAX}")
    canonical_bytes(value)
    return value


def _unrepeated(pairs: list[tuple[str, JsonValue]]) -> JsonValue:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError(f"a key is there twice among {', '.join(value)[:NAMES_CHARACTERS_MAX]}")
    return value


def _short(text: str) -> int:
    return int(text) if len(text) < 40 else _no_number(text)


def _exact(text: str) -> float:
    return number if abs(number := float(text)) <= INTEGER_MAX else _no_number(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:40]} is no number of JSON")


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_unrepeated, parse_int=_short, parse_float=_exact, parse_constant=_no_number
)


def _levels(value: JsonObject) -> Iterator[object]:
    """The containers of each level, from the outermost."""
    level: list[Any] = [value]
    while level:
        yield level
        inner = chain.from_iterable(item.values() if isinstance(item, dict) else item for item in level)
        level = [one for one in inner if isinstance(one, dict | list)]
