"""Flags that a person should see before a model's yes counts, raised in code before any model is asked."""

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from earnest.verification.judging.orders import folded
from earnest.verification.judging.prompt import BLANK_LETTERS, ShownFile

FLAGS_MAX: Final = 20
PRINTABLE_SHARE_PERCENT: Final = 85
EXCERPT_CHARACTERS: Final = 80
ECHO_CHARACTERS_MIN: Final = 12
REPETITION_WORDS_MIN: Final = 60
REPETITION_SHARE: Final = 12
MARKDOWN: Final = (".md", ".markdown")
FENCES: Final = ("```", "~~~")
_EMOJI_VARIANTS: Final = frozenset("\ufe0e\ufe0f")
_JOINERS: Final = _EMOJI_VARIANTS | frozenset("\u200c\u200d")
_KEYS: Final = frozenset("0123456789#*")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
_COMMENT: Final = re.compile(r"<!--|<!\[CDATA\[|^[ \t]*\[(?://|comment|_+)\]:?\s*[#(<]", re.MULTILINE | re.IGNORECASE)
_HIDING: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d])|<details\b|<template\b|"
    r"<script\b|<[a-z][^<>]{0,300}\s(?:hidden|aria-hidden)\b|color\s*:\s*(?:white|#fff(?:fff)?|transparent)\b|\\phantom\{",
    re.IGNORECASE,
)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{32,}={0,2}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}[ :,]?){24,}")
_ESCAPES: Final = re.compile(
    r"(?:\\x[0-9a-fA-F]{2}){8,}|(?:\\u\{?[0-9a-fA-F]{4}\}?){8,}|(?:%[0-9a-fA-F]{2}){8,}|(?:&#x?[0-9a-fA-F]+;){6,}|"
    r"(?:[01]{8}[ ,]*){8,}|(?:\b[01]?\d?\d[ ,]+){24,}|(?:[.\-]{1,5}[ /]+){12,}"
)
_SPAN: Final = re.compile(r"`[^`]+`")
_WORD: Final = re.compile(r"\w+")
_FILLER: Final = re.compile(r"(?:todo|tbd|tba|fixme|xxx+|placeholder|n/?a|none|test|foo|bar|asdf|[\W_])++")


def flags_of(files: Sequence[ShownFile], criteria: Sequence[str] = ()) -> tuple[str, ...]:
    """What was found, as `what in path, line n: excerpt`; at most `FLAGS_MAX`. Empty work is a flag of its own."""
    echoed = [words for words in map(_words, criteria) if len(words) >= ECHO_CHARACTERS_MIN]
    found = [flag for file in files for flag in _found(file, echoed)]
    if not any(file.text.strip() for file in files):
        found.append("there is no text in the work")
    return tuple(found[:FLAGS_MAX])


def _found(file: ShownFile, echoed: Sequence[str]) -> Iterator[str]:
    """In a name, too. What Markdown shows as code is no comment, no style and no message: everybody sees it."""
    shown = _outside_code(file.text) if file.path.casefold().endswith(MARKDOWN) else file.text
    for what, position in _RULES:
        if position(file.path) is not None:
            yield f"{what} in the name {file.path!a}"
        text = file.text if position is _hidden_character else shown
        if (at := position(text)) is not None:
            yield f"{what} in {file.path!a}, {_where(text, at)}"
    words = _words(file.text)
    if any(criterion in words for criterion in echoed):
        yield f"a criterion repeated in its own words in {file.path!a}, {_echo(file.text, echoed)}"
    if file.text.strip() and (_FILLER.fullmatch(folded(file.text).strip()) or _is_repetition(words.split())):
        yield f"filler in {file.path!a}, {_where(file.text, 0)}"


def _where(text: str, at: int) -> str:
    begin = max(text.rfind("\n", 0, at) + 1, at - EXCERPT_CHARACTERS // 4)
    excerpt = text[begin : begin + EXCERPT_CHARACTERS].partition("\n")[0]
    return f"line {text.count(chr(10), 0, at) + 1}: {excerpt!a}"


def _echo(text: str, echoed: Sequence[str]) -> str:
    """Where: the line that a criterion begins or continues on, as well as that can be told."""
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        words = _words(line)
        if words and any(one in words or (len(words) > len(one) // 3 and words in one) for one in echoed):
            return f"line {number}: {line.strip()[:EXCERPT_CHARACTERS]!a}"
    return "over several lines"


def _words(text: str) -> str:
    """Letters and digits alone, folded, one blank between words."""
    return " ".join(_WORD.findall(folded(text)))


def _is_repetition(words: Sequence[str]) -> bool:
    """Many words, of which few differ. A number differs from another."""
    return len(words) >= REPETITION_WORDS_MIN and len(set(words)) * REPETITION_SHARE <= len(words)


def _outside_code(text: str) -> str:
    """Markdown in which the letters of code blocks and code spans are blanks."""
    lines = []
    fence = ""
    for line in text.split("\n"):
        mark = line.lstrip(" ")[:3]
        if mark in FENCES and (not fence or mark == fence):
            fence = "" if fence else mark
            lines.append(" " * len(line))
        elif fence:
            lines.append(" " * len(line))
        else:
            lines.append(_SPAN.sub(lambda found: " " * len(found[0]), line))
    return "\n".join(lines)


def _hidden_character(text: str) -> int | None:
    """The first of format, control, private and unassigned characters, tags and letters that look like nothing.

    Joiners and emoji variants count where they join nothing: beside ASCII or at an edge.
    """
    for at, character in enumerate(text):
        if character.isascii():
            hidden = not character.isprintable() and character not in "\t\n\r\f"
        elif character in _JOINERS:
            hidden = not _joins(character, text[at - 1 : at], text[at + 1 : at + 2])
        else:
            hidden = character in BLANK_LETTERS or unicodedata.category(character) in _UNSEEN or _varies(character)
        if hidden:
            return at
    return None


def _joins(character: str, before: str, after: str) -> bool:
    """Keycaps are the one case where an emoji variant follows ASCII."""
    if character in _EMOJI_VARIANTS:
        return not before.isascii() or before in _KEYS
    return not before.isascii() and not after.isascii()


def _varies(character: str) -> bool:
    """True for variation selectors other than the two of emoji: they can carry any bytes unseen."""
    return "\ufe00" <= character <= "\ufe0d" or "\U000e0100" <= character <= "\U000e01ef"


def _encoded_text(text: str) -> int | None:
    """The first run that decodes to text, long run that may hold anything, or long chain of escapes."""
    found = [run.start() for run in [_ESCAPES.search(text)] if run]
    for pattern, length_max, decoded in ((_BASE64, 200, _unbase64), (_HEX, 130, _unhex)):
        for run in pattern.finditer(text):
            if (pattern is _HEX or not run[0].isalpha()) and (len(run[0]) > length_max or _is_text(decoded(run[0]))):
                found.append(run.start())
                break
    return min(found, default=None)


def _first(pattern: re.Pattern[str]) -> Callable[[str], int | None]:
    def position(text: str) -> int | None:
        found = pattern.search(text)
        return found.start() if found else None

    return position


def _unbase64(run: str) -> bytes:
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(body[: len(body) // 4 * 4], validate=True)
    except binascii.Error:
        return b""


def _unhex(run: str) -> bytes:
    digits = re.sub(r"[ :,]", "", run)
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _is_text(data: bytes) -> bool:
    """Mostly printable ASCII: random bytes are a third of it."""
    printable = sum(32 <= byte < 127 or byte in b"\n\t" for byte in data)
    return bool(data) and printable * 100 >= len(data) * PRINTABLE_SHARE_PERCENT


_RULES: Final[tuple[tuple[str, Callable[[str], int | None]], ...]] = (
    ("a hidden character", _hidden_character),
    ("a comment that is not shown", _first(_COMMENT)),
    ("text styled to be unseen", _first(_HIDING)),
    ("an encoded block", _encoded_text),
)
