"""What of a saved check holds for today's inputs alone: what stands in them, or was counted, and nobody asked for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from earnest.contracts.criterion import CheckSpec
from earnest.foundation.canonical import JsonValue, canonical_text

_WORD: Final = re.compile(r"[^\W\d_]{4,}|\d\d+")
_NUMBER: Final = re.compile(r"\d+")
_TIMES: Final = re.compile(r"\{[\d,]+\}")
"""How often, in a pattern."""
_FIGURES: Final = re.compile(r"\d+(?:(?:\\\.|,)\d+)*")
_LITERALS: Final = re.compile(r"const|enum|exact|headings|((stdout|stderr)_)?(contains|regex)")
"""Where a check says what must stand there; without it, it asks for less."""
_WHOLE: Final = frozenset({"cases", "command", "program"})
"""What a check cannot do without: if that names today's data, so does the check."""
_LEAST: Final = frozenset({"items_min", "min", "min_bytes", "rows_min"})
_MOST: Final = frozenset({"items_max", "max", "max_bytes", "rows_max"})


class Today:
    """The words and numbers that stand in what was `given`, but for those that the user `asked` for."""

    def __init__(self, given: Iterable[str], asked: str) -> None:
        self._asked, said = asked, asked.casefold()
        self._words = frozenset(word for text in given for word in _words(text) if word not in said)
        self._counts = frozenset(map(int, _NUMBER.findall(asked)))

    def pins(self, text: str) -> bool:
        """True if the text says what only today's inputs do."""
        return not self._words.isdisjoint(_words(text))

    def general(self, check: CheckSpec) -> CheckSpec | None:
        """The check without what it takes from today's inputs; None if nothing of it is left."""
        if check.kind == "diff":  # it bounds what may be changed
            return check
        if any(self.pins(canonical_text(value)) for key, value in check.config.items() if key in _WHOLE):
            return None
        config = self._general(check.config)
        assert isinstance(config, Mapping)
        general = CheckSpec(kind=check.kind, config=config)
        return None if check.kind == "outside" and general != check else general

    def _general(self, value: JsonValue) -> JsonValue:
        match value:
            case Mapping():
                kept = {key: self._kept(key, inner) for key, inner in value.items()}
                shown = {key: inner for key, inner in kept.items() if inner is not None or value[key] is None}
                asks = shown.keys() == value.keys() or "path" not in shown or shown.keys() - {"path"}
                return shown if asks else {**shown, "min_bytes": 1}
            case [*items]:
                return [self._general(item) for item in items]
        return value

    def _states(self, literal: JsonValue) -> bool:
        """True if it pins, or says a number of two figures that nobody asked for: it was counted or summed up."""
        if isinstance(literal, int | float):
            return not isinstance(literal, bool) and literal not in self._counts
        text = canonical_text(literal)
        return self.pins(text) or any(
            len(figures) > 1 and int(figures) not in self._counts for figures in _NUMBER.findall(_TIMES.sub("", text))
        )

    def _kept(self, key: str, value: JsonValue) -> JsonValue:
        match value:
            case str() if key == "sha256" or (key == "exact" and value.strip() not in self._asked):
                return None
            case str() | int() | float() if _LITERALS.fullmatch(key):
                return None if self._states(value) else value
            case [*items] if _LITERALS.fullmatch(key):
                return [item for item in items if not self._states(item)] or None
            case int() if key in _LEAST and value not in self._counts:
                return min(value, 1)
            case int() if key in _MOST and value not in self._counts:
                return None
        return self._general(value)


def pattern_of(quote: str, text: str, today: Today | None) -> str | None:
    """What finds the quotation, whose blanks were folded; as a whole line, where it is one.

    Where inputs were read (`today`), any number stands for one, and anything for a word of theirs.
    """
    shown = [r"\S+" if today and today.pins(word) else re.escape(word) for word in quote.split()]
    words = r"\s+".join(shown)
    if today:
        words = _FIGURES.sub(lambda _: r"[\d.,]*\d", words)
    found = (pattern for pattern in (rf"(?m)^[ \t]*{words}[ \t]*$", words) if words and re.search(pattern, text))
    return next(found, None)


def _words(text: str) -> Sequence[str]:
    return _WORD.findall(text.casefold())
