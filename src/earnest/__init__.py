"""earnest makes AI agents keep their word: promise, work, evidence, verdict, consequence."""

from importlib import import_module
from typing import TYPE_CHECKING

from earnest.foundation.version import VERSION

if TYPE_CHECKING:
    from earnest.surfaces.library import (
        Answer,
        Contract,
        EarnestError,
        Faulty,
        Refused,
        Run,
        Verdict,
        Waits,
        resume,
        resume_async,
        run,
        run_async,
        verify,
        verify_async,
    )

__all__ = [
    "Answer",
    "Contract",
    "EarnestError",
    "Faulty",
    "Refused",
    "Run",
    "Verdict",
    "Waits",
    "resume",
    "resume_async",
    "run",
    "run_async",
    "verify",
    "verify_async",
]
__version__ = VERSION


def __getattr__(name: str) -> object:
    """The Python interface, loaded when it is first used: most that import `earnest` want one room of it."""
    if name not in __all__:
        raise AttributeError(f"module 'earnest' has no attribute {name!r}")
    return getattr(import_module("earnest.surfaces.library"), name)
