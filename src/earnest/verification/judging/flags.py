"""What in the work should a person see before a model's yes counts? Raised in code, before any model is asked."""

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from earnest.verification.judging.orders import folded, gives_orders
from earnest.verification.judging.prompt import BLANK_LETTERS, ShownFile

FLAGS_MAX: Final = 20
PRINTABLE_SHARE_PERCENT: Final = 85
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
_VERDICT: Final = re.compile(
    r"[\"'`]?\b(?:verdict|ok|met|passed|approved|verified|accepted|is_correct|grade|judg(?:e)?ment)\b[\"'`]?\s*(?::|=|=>)\s*"
    r"[\"'`]?(?:true|false|verified|not_verified|approved|accepted|pass(?:ed)?|yes|ok|10|100)\b"
)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{32,}={0,2}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}[ :,]?){24,}")
_ESCAPES: Final = re.compile(
    r"(?:\\x[0-9a-fA-F]{2}){8,}|(?:\\u\{?[0-9a-fA-F]{4}\}?){8,}|(?:%[0-9a-fA-F]{2}){8,}|(?:&#x?[0-9a-fA-F]+;){6,}|"
    r"(?:[01]{8}[ ,]*){8,}|(?:\b[01]?\d?\d[ ,]+){24,}|(?:[.\-]{1,5}[ /]+){12,}"
)
_PLACEHOLDER: Final = re.compile(
    r"lorem ipsum|\b(?:insert|add|put|write|place) (?:\w+ ){0,3}here\b|\byour (?:text|answer|content|name|code) here\b|"
    r"\bas an ai (?:language )?model\b|\bto be (?:written|done|completed|determined)\b|\bcoming soon\b|"
    r"[\[<{](?:your|insert|todo|tbd|placeholder)\b"
)
_FILLER: Final = re.compile(r"(?:todo|tbd|tba|fixme|xxx+|placeholder|n/?a|none|test|foo|bar|asdf|[\W_])++")


def flags_of(files: Sequence[ShownFile]) -> tuple[str, ...]:
    """What was found, as `what in path`; at most `FLAGS_MAX`. Empty work is a flag of its own."""
    found = [f"{what} in {file.path!a}" for file in files for what in _found(f"{file.path}\n{file.text}", file.text)]
    if not any(file.text.strip() for file in files):
        found.append("there is no text in the work")
    return tuple(found[:FLAGS_MAX])


def _found(everything: str, text: str) -> Iterator[str]:
    visible = folded(everything).replace("\\", "")
    yield from (what for what, holds in _RULES if holds(everything))
    if _VERDICT.search(visible):
        yield "something like a verdict"
    if gives_orders(everything):
        yield "orders about the verdict"
    if _PLACEHOLDER.search(visible) or (text.strip() and _FILLER.fullmatch(folded(text).strip())):
        yield "placeholder text"


def _has_hidden_characters(text: str) -> bool:
    """Format, control, private and unassigned characters, tags and letters that look like nothing.

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
            return True
    return False


def _joins(character: str, before: str, after: str) -> bool:
    """Keycaps are the one case where an emoji variant follows ASCII."""
    if character in _EMOJI_VARIANTS:
        return not before.isascii() or before in _KEYS
    return not before.isascii() and not after.isascii()


def _varies(character: str) -> bool:
    """True for variation selectors other than the two of emoji: they can carry any bytes unseen."""
    return "\ufe00" <= character <= "\ufe0d" or "\U000e0100" <= character <= "\U000e01ef"


def _has_encoded_text(text: str) -> bool:
    """Runs that decode to text, long runs that may hold anything, and long chains of escapes."""
    return (
        _ESCAPES.search(text) is not None
        or any(len(run) > 200 or _is_text(_unbase64(run)) for run in _BASE64.findall(text) if not run.isalpha())
        or any(len(run[0]) > 130 or _is_text(_unhex(run[0])) for run in _HEX.finditer(text))
    )


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


_RULES: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    ("hidden characters", _has_hidden_characters),
    ("a comment that is not shown", lambda text: _COMMENT.search(text) is not None),
    ("text styled to be unseen", lambda text: _HIDING.search(text) is not None),
    ("an encoded block", _has_encoded_text),
)
