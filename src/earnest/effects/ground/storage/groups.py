"""Parts of group commits: whose they are, and what they are told."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from earnest.effects.ground.storage.driver import is_denied
from earnest.effects.ground.storage.known_rows import Ahead
from earnest.effects.ground.storage.transaction import Transaction
from earnest.foundation.errors import Broken, EarnestError, Refused

GROUP_MAX: Final = 512
"""Parts of one commit: bounds the time that the first of them waits for the last."""
HALVED_MIN: Final = 8
"""So many who wait are two groups, of which one is made while the server commits the other."""


@dataclass(frozen=True, slots=True)
class Part:
    """Somebody's function, and where the answer goes. `loop` is None where a thread waits."""

    fn: Callable[[Transaction], object]
    answer: "asyncio.Future[Any] | Future[Any]"
    loop: asyncio.AbstractEventLoop | None
    ahead: Ahead = ()


Outcome: TypeAlias = tuple[Part, object, BaseException | None]


@dataclass(frozen=True, slots=True)
class Group:
    """What was written together: its parts, what they are told then, its newest fact and the kinds of all."""

    parts: list[Part]
    outcomes: list[Outcome]
    last_seq: int
    kinds: frozenset[str]


class GroupLostError(Exception):
    """The engine gave up the transaction in the middle of a part."""


def as_told(error: BaseException) -> BaseException:
    """The error as its caller may see it."""
    if is_denied(error):
        refusal: EarnestError = Refused(
            "statement_not_allowed", f"a transaction reads and changes rows; facts are recorded: {error}"
        )
    elif isinstance(error, StopIteration):  # a future cannot hold it
        refusal = Broken("a transaction ran past the end of an iterator")
    else:
        return error
    refusal.__cause__ = error
    return refusal
