"""Patterns of strangers matched against text of strangers without hanging.

With an engine that is linear in the text (the Rust `regex` crate, through jsonschema-rs): it has no look-around and no
back-references, and refuses a pattern that would grow too large.
"""

from typing import Final

from jsonschema_rs import Draft202012Validator, RegexOptions

PATTERN_CHARACTERS_MAX: Final = 1_000
PATTERN_ENGINE: Final = RegexOptions(size_limit=256 * 1024, dfa_size_limit=2 * 1024 * 1024)


def pattern_fault(pattern: str) -> str | None:
    """What is wrong with a pattern, or None."""
    if len(pattern) > PATTERN_CHARACTERS_MAX:
        return f"a pattern has at most {PATTERN_CHARACTERS_MAX} characters"
    try:
        _compiled(pattern)
    except ValueError:
        return "is no regular expression of the linear kind (no look-around, no back-references, not too large)"
    return None


def is_found(pattern: str, text: str) -> bool:
    """True if the pattern matches somewhere in `text`."""
    return _compiled(pattern).is_valid(text)


def _compiled(pattern: str) -> Draft202012Validator:
    return Draft202012Validator({"pattern": pattern}, pattern_options=PATTERN_ENGINE, offline=True)
