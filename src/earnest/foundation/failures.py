"""Why something failed: the one distinction that steers what is changed next (seed artoo, R4a)."""

from enum import StrEnum


class FailureClass(StrEnum):
    """Logical: the approach is wrong. Environmental: the world was in the way."""

    LOGICAL = "logical"
    ENVIRONMENTAL = "environmental"
