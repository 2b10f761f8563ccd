"""What of a text must not be written down: secrets that are known, and what looks like one."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

SECRET_CHARACTERS_MIN: Final = 8
"""Shorter values stand in too many texts by chance."""
REDACTED: Final = "[redacted]"

_NAME: Final = r"(?:api[_-]?key|access[_-]?key|secret|token|password|passwd|authorization)"
_VARIABLE: Final = re.compile(rf"{_NAME}s?$|_key$|_pass$", re.IGNORECASE)
_SHAPES: Final = (
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*",
    rf"(?P<name>{_NAME}[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?)(?:(?:bearer|basic)\s+)?[^\s\"',;]{{{SECRET_CHARACTERS_MIN},}}",
    r"(?P<scheme>\bbearer\s{1,4})[\w.~+/=-]{8,}",
    r"\b(?:sk|rk|hf|gh[pousr]|github_pat|glpat|xox[abprs])[-_][\w-]{12,}",
    r"\bAKIA[0-9A-Z]{12,}",
)
_FIRST: Final = "-abghprstx"
"""What these begin with. Most characters of a text are none of them, and are passed over quickly."""


class Redaction:
    """Takes secrets out of texts."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = sorted({one for one in secrets if len(one) >= SECRET_CHARACTERS_MIN}, key=len, reverse=True)
        first = "".join(re.escape(secret[0]) for secret in known)
        secrets = "|".join((*map(re.escape, known), *_SHAPES))
        self._pattern = re.compile(f"(?=[{_FIRST}{first}])(?:{secrets})", re.IGNORECASE)

    def of(self, text: str) -> str:
        """The text with `[redacted]` for each secret; the name before a value stays."""
        return self._pattern.sub(lambda found: f"{found['name'] or found['scheme'] or ''}{REDACTED}", text)


def secrets_in(environment: Mapping[str, str]) -> Iterator[str]:
    """The values of variables whose name says that they are secret."""
    return (value for name, value in environment.items() if _VARIABLE.search(name))
