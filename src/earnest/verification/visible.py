"""The words that a reader sees in a text, and those of them that say something.

Hidden characters, placeholders and filler are how work is pretended; the words here say so of nobody, they only do not
count.
"""

import re
import unicodedata
from typing import Final

_UNSEEN: Final = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Fillers that are letters or symbols to Unicode and nothing to the eye."""
_ASCII_CONTROLS: Final = {code: None for code in (*range(32), 127) if chr(code) not in "\n\t"}
_IGNORABLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What Unicode calls default ignorable: drawn as nothing, whatever its category."""
_MARKUP: Final = re.compile(
    r"<!--(?:[^-]|-(?!->))*+(?:-->|\Z)|\\[hv]?phantom\s*\{[^{}]*+\}?|(?<!!)\[\s*\]\([^()\n]*+\)?|<r(?:t|p|tc)\b[^<>]*+>?[^<]*+",
    re.I,
)
"""Comments, space in place of a formula, links without a text, and what stands above ruby."""
_WORD: Final = re.compile(r"\w+")
_NO_SPACES: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
"""Scripts that put no space between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese, and Korean, which puts few."""

_PLACEHOLDER: Final = re.compile(
    r"(?:t\W?b\W?[ad]\W?|(?:to\W?do|fix\W?me)(?:\s*:.*)?\W*|xx+|n\W?/\W?a|placeholder|change\W?me|replace\W?me"
    r"|foo\W?(?:bar)?|ba[rz]|asdf\w*|qwerty\w*|lorem ipsum.*|insert .* here|your .* here|coming soon"
    r"|fill (?:me|this|in)\b.*|to be (?:done|added|defined|determined|filled|decided)\b.*|<[^<>]*>|\{\{[^{}]*\}\}"
    r"|[-\u2013\u2014._?*\u2026~#\s]*)",
    re.I | re.S,
)
_FILLER_WORDS: Final = """
    a an and are as at be been both by can did do does done everything finished fine for from fully good had has
    have i in is it its me my no of ok okay on or our please see sure that the them then there these they this
    those to true was we well were will with works working worked yes you above below accomplished achieved all
    also complete completed correct correctly criteria criterion delivered ensured evidence fulfilled
    implemented indeed met pass passed passes proven requirement requirements satisfied successful successfully
    succeeded task test tested tests verified verify lorem ipsum dolor sit amet consectetur adipiscing elit sed
    eiusmod tempor incididunt ut labore et dolore magna aliqua todo tbd fixme placeholder asdf foo bar baz xxx
"""
_FILLER: Final = frozenset(_FILLER_WORDS.split())


def without_unseen(text: str) -> str:
    """The text as it is seen: compatible forms made one, and nothing that takes no room."""
    if text.isascii():
        return text.translate(_ASCII_CONTROLS)
    plain = unicodedata.normalize("NFKC", _IGNORABLE.sub("", text))
    return "".join(
        character
        for character in plain
        if character not in _UNSEEN
        and (character in "\n\t" or unicodedata.category(character) not in {"Cf", "Cc", "Cn", "Co"})
    )


def is_placeholder(text: str) -> bool:
    """True for text that stands where something should: empty, `TODO`, `n/a`, `...`, `<name>`, `lorem ipsum …`."""
    return _PLACEHOLDER.fullmatch(_MARKUP.sub(" ", without_unseen(text)).strip()) is not None


def words(text: str) -> list[str]:
    """The words in order, in small letters; a character of a script without spaces is a word."""
    found: list[str] = []
    for word in _WORD.findall(_MARKUP.sub(" ", without_unseen(text)).casefold()):
        if _NO_SPACES.search(word):
            found.extend(word)
        else:
            found.append(word)
    return found


def telling_words(text: str) -> set[str]:
    """The words that are neither filler nor single Latin letters nor digits."""
    return {word for word in words(text) if word not in _FILLER and (len(word) > 1 or not word.isascii())}


def squeezed(text: str) -> str:
    """The text with single spaces, for finding a quotation across line breaks."""
    return " ".join(text.split())
