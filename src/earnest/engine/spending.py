"""What a run's model calls have taken, and what the next one may take. (seed artoo v0.8, cost model)"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from earnest.engine.messages import Budget, Role, Usage
from earnest.engine.model_messages import ModelAnswered, ModelTurn

MTOK: Final = 1_000_000
ANSWER_TOKENS_MAX: Final = 8_192
"""What an answer may have at most, thoughts included."""
ANSWER_TOKENS_MIN: Final = 256
"""With less than this left, asking is pointless."""
MESSAGE_TOKENS_MAX: Final = 16
"""What a template may add to one message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Millionths of the configured currency for a million tokens; all 0 is free."""

    prompt_micro_per_mtok: int
    completion_micro_per_mtok: int

    @property
    def is_free(self) -> bool:
        """True for a model on one's own machine."""
        return not (self.prompt_micro_per_mtok or self.completion_micro_per_mtok)

    def cost_micro(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Rounded up."""
        total = prompt_tokens * self.prompt_micro_per_mtok + completion_tokens * self.completion_micro_per_mtok
        return -(-total // MTOK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """What calls take, or may take at most. Without a known price `cost_micro` is 0."""

    calls: int = 0
    tokens: int = 0
    cost_micro: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            cost_micro=self.cost_micro + other.cost_micro,
        )

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(
            calls=self.calls - other.calls,
            tokens=self.tokens - other.tokens,
            cost_micro=self.cost_micro - other.cost_micro,
        )


def amount_of(price: Price | None, prompt_tokens: int, completion_tokens: int) -> Amount:
    """What one call of so many tokens takes."""
    cost_micro = price.cost_micro(prompt_tokens, completion_tokens) if price else 0
    return Amount(calls=1, tokens=prompt_tokens + completion_tokens, cost_micro=cost_micro)


def prompt_tokens_max(request: bytes, messages: int) -> int:
    """No tokeniser makes more tokens than there are bytes; an endpoint's template adds a few to each message."""
    return len(request) + messages * MESSAGE_TOKENS_MAX


def answer_tokens_left(budget: Budget, taken: Amount, price: Price | None, prompt_tokens: int) -> int:
    """How many tokens the next call may be asked to answer with; below `ANSWER_TOKENS_MIN` it must not be made.

    A bound on money leaves nothing to a model without a known price.
    """
    left = min(ANSWER_TOKENS_MAX, budget.tokens - taken.tokens - prompt_tokens)
    if taken.calls >= budget.model_calls:
        return 0
    if budget.cost_micro is None:
        return left
    if price is None:
        return 0
    left_micro = (budget.cost_micro - taken.cost_micro) * MTOK - prompt_tokens * price.prompt_micro_per_mtok
    if left_micro < 0:
        return 0
    return min(left, left_micro // price.completion_micro_per_mtok) if price.completion_micro_per_mtok else left


def shortage(budget: Budget, taken: Amount, price: Price | None, model: str) -> str:
    """Why the next call is not made, in words."""
    if taken.calls >= budget.model_calls:
        return f"all {budget.model_calls} model calls of this run are made"
    if budget.cost_micro is not None and price is None:
        return f"the price of {model} is not known, and this run has a bound on cost"
    spent = f"{taken.tokens} of {budget.tokens} tokens"
    if budget.cost_micro is not None:
        spent += f" and {taken.cost_micro} of {budget.cost_micro} millionths"
    return f"the next model call could pass what this run may spend; {spent} are spent"


Sequences = Mapping[tuple[int, str], int]
"""The sequence number of each subtask, by its round and id."""


def usage_of(answers: Collection[ModelAnswered], sequences: Sequences) -> Usage:
    """The sum of all calls. An answer whose cost is not known counts among `unpriced_calls`."""
    return Usage(
        cost_micro=sum(answer.cost_micro or 0 for answer in answers),
        prompt_tokens=sum(answer.prompt_tokens for answer in answers),
        completion_tokens=sum(answer.completion_tokens for answer in answers),
        model_calls=sum(answer.calls for answer in answers),
        passes=passes((answer.turn for answer in answers if answer.calls), sequences),
        unpriced_calls=sum(answer.calls for answer in answers if answer.cost_micro is None),
    )


def passes(turns: Iterable[ModelTurn], sequences: Sequences) -> int:
    """Passes of roles with a model, one after another. Each draft of R2 is one; the further turns of others are calls.

    Subtasks of one sequence work side by side: the one with the most passes counts.
    """
    alone: set[tuple[Role, int, int, int]] = set()
    beside: dict[tuple[int, str], set[tuple[Role, int]]] = {}
    for turn in turns:
        if turn.subtask_id:
            beside.setdefault((turn.round, turn.subtask_id), set()).add((turn.role, turn.attempt))
        else:
            alone.add((turn.role, turn.round, turn.attempt, turn.number if turn.role is Role.R2 else 1))
    longest: dict[tuple[int, int], int] = {}
    for place, made in beside.items():
        group = place[0], sequences[place]
        longest[group] = max(longest.get(group, 0), len(made))
    return len(alone) + sum(longest.values())
