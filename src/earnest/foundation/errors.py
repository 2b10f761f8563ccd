"""Three kinds of failure, a run that waits, and the diagnostic that a fault in somebody's text becomes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from earnest.foundation.canonical import JsonObject, JsonValue


class EarnestError(Exception):
    """The root of all that this package raises on purpose."""


class Refused(EarnestError):
    """The rules say no. `code` is stable and listed in docs/refusals.md; the message is for people.

    `details` are further members for programs, of JSON.
    """

    def __init__(self, code: str, message: str, **details: "JsonValue") -> None:
        super().__init__(message)
        self.code = code
        self.details: JsonObject = details


class Unavailable(EarnestError):
    """Something outside failed. Trying again after `retry_after_ms` may work; None means nobody knows when."""

    def __init__(self, message: str, *, retry_after_ms: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_ms = retry_after_ms


class Waits(EarnestError):
    """A run stopped and has not ended: it goes on when it is resumed. `asks` if a person has to answer first."""

    def __init__(self, run_id: str, why: str, *, asks: bool = False) -> None:
        super().__init__(f"{run_id} waits: {why}")
        self.run_id = run_id
        self.why = why
        self.asks = asks


class Broken(EarnestError):
    """A promise of our own was not kept. Stop, roll back, say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """A fault in text that somebody wrote. `line` counts from 1; 0 means the file as a whole.

    `column` counts the characters of the line from 1, a tab as one; 0 means the line as a whole.
    """

    source: str
    line: int
    message: str
    column: int = 0

    def __str__(self) -> str:
        numbers = [str(number) for number in (self.line, self.column) if number]
        return f"{':'.join([self.source, *numbers])}: {self.message}"


class Faulty(EarnestError):
    """Text with faults: all of them are collected, none is dropped."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(diagnostic) for diagnostic in self.diagnostics))
