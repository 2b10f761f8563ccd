"""Cited files: whether one exists in what was handed in, and holds what is quoted."""

from typing import Final

from earnest.effects.hands.workspace.snapshot import Snapshot
from earnest.verification.paths import read_entry
from earnest.verification.visible import squeezed, without_unseen

CITED_BYTES_MAX: Final = 4 * 1024 * 1024
"""Of one file that is quoted from."""
ALL_CITED_BYTES_MAX: Final = 32 * 1024 * 1024
SEARCHED_CHARACTERS_MAX: Final = 1 << 30
"""By all quotations of a submission together."""
QUOTE_CHARACTERS_MIN: Final = 5
"""Of a quotation, spaces not counted: anything shorter is found anywhere."""


class CitedFiles:
    """The files of a submission, each read once. `but` are those that cannot testify for themselves."""

    def __init__(self, snapshot: Snapshot, *but: str) -> None:
        self._snapshot = snapshot
        self._entries = {entry.path: entry for entry in snapshot.entries if entry.path not in but}
        self._but = but
        self._texts: dict[str, str | None] = {}
        self._read_bytes = 0
        self._searched = 0

    def __contains__(self, path: str) -> bool:
        return path in self._entries

    def fault(self, path: str, quote: str | None) -> str | None:
        """What is wrong with a citation, or None. Runs of white space count as one space."""
        if path in self._but:
            return f"cites {path!r}, which is where it stands itself"
        if path not in self:
            return f"cites {path[:200]!r}, which is not there"
        if quote is None:
            return None
        wanted = squeezed(without_unseen(quote))
        if len(wanted.replace(" ", "")) < QUOTE_CHARACTERS_MIN:
            return f"quotes {quote[:40]!r}: a quotation has at least {QUOTE_CHARACTERS_MIN} characters"
        text = self._text(path)
        if text is None:
            return f"quotes {path!r}, which is no text, or too large to be looked into"
        self._searched += len(text)
        found = self._searched <= SEARCHED_CHARACTERS_MAX and wanted in text
        return None if found else f"quotes {quote[:80]!r}, which is not in {path!r}, or one of too many"

    def _text(self, path: str) -> str | None:
        if path not in self._texts:
            entry = self._entries[path]
            self._texts[path] = None
            self._read_bytes += entry.size_bytes
            if entry.size_bytes <= CITED_BYTES_MAX and self._read_bytes <= ALL_CITED_BYTES_MAX:
                try:
                    self._texts[path] = squeezed(without_unseen(read_entry(self._snapshot, entry).decode()))
                except UnicodeDecodeError:
                    return None
        return self._texts[path]
