"""Are passes counted as a user waits for them, and is no bound ever passed?"""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.engine.messages import Budget, Role, Usage
from earnest.engine.model_messages import ModelAnswered, ModelTurn
from earnest.engine.spending import (
    ANSWER_TOKENS_MAX,
    Amount,
    Price,
    amount_of,
    answer_tokens_left,
    passes,
    shortage,
    usage_of,
)

PRICE = Price(prompt_micro_per_mtok=150_000, completion_micro_per_mtok=600_000)
R1 = ModelTurn(role=Role.R1)


def plan(number: int = 1, draft: int = 1) -> ModelTurn:
    return ModelTurn(role=Role.R2, round=number, attempt=draft)


def work(subtask: str = "a", attempt: int = 1, *, number: int = 1, turns: int = 1) -> list[ModelTurn]:
    return [
        ModelTurn(role=Role.R3, round=number, subtask_id=subtask, attempt=attempt, number=n + 1) for n in range(turns)
    ]


def judgement(subtask: str = "a", attempt: int = 1, *, number: int = 1) -> ModelTurn:
    return ModelTurn(role=Role.R4A, round=number, subtask_id=subtask, attempt=attempt)


def whole(number: int = 1) -> ModelTurn:
    return ModelTurn(role=Role.R4B, round=number)


MINIMAL = [R1, plan(), *work(), judgement(), whole()]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        pytest.param([], 0, id="a playbook"),
        pytest.param([R1], 1, id="a greeting"),
        pytest.param([R1, plan(), *work()], 3, id="machine-checked"),
        pytest.param(MINIMAL, 5, id="judged by models"),
        pytest.param([R1, plan(), *work(turns=7), judgement(), whole()], 5, id="further tool turns are calls"),
        pytest.param([*MINIMAL, *work(attempt=2), judgement(attempt=2)], 7, id="a correction"),
        pytest.param([R1, plan(), *work(), plan(2), *work(number=2)], 5, id="a replan, machine-checked"),
        pytest.param([R1, plan(), *work(), plan(2), *work(number=2), judgement(number=2), whole(2)], 7, id="a replan"),
        pytest.param([*MINIMAL, plan(draft=2)], 6, id="a second draft"),
        pytest.param([*MINIMAL, *work("b"), judgement("b")], 5, id="a subtask beside it"),
        pytest.param([*MINIMAL, *work("b"), judgement("b"), *work("b", 2), judgement("b", 2)], 7, id="the slower one"),
        pytest.param([*MINIMAL, *work("z"), judgement("z")], 7, id="a subtask after it"),
        pytest.param([*MINIMAL, *MINIMAL], 5, id="a repair is the same turn"),
    ],
)
def test_passes_are_those_that_follow_each_other(turns: list[ModelTurn], expected: int) -> None:
    sequences = {(number, name): sequence for number in (1, 2) for name, sequence in {"a": 1, "b": 1, "z": 2}.items()}
    assert passes(turns, sequences) == expected
    assert passes(reversed(turns), sequences) == expected


def answered(turn: ModelTurn, cost_micro: int | None, calls: int = 1) -> ModelAnswered:
    return ModelAnswered(
        turn=turn,
        model="m",
        calls=calls,
        prompt_tokens=10 * calls,
        completion_tokens=calls,
        cost_micro=cost_micro,
        duration_ms=1,
    )


def test_usage_is_the_sum_of_all_calls_and_says_what_it_does_not_know() -> None:
    answers = [answered(R1, 5), answered(plan(), None, calls=2), answered(work()[0], 0, calls=0)]
    assert usage_of(answers, {}) == Usage(
        cost_micro=5, prompt_tokens=30, completion_tokens=3, model_calls=3, passes=2, unpriced_calls=2
    )


def test_a_cost_is_rounded_up_and_never_to_nothing() -> None:
    assert PRICE.cost_micro(1_000_000, 1_000_000) == 750_000
    assert PRICE.cost_micro(1, 0) == 1
    assert PRICE.cost_micro(0, 0) == 0


@pytest.mark.parametrize(
    ("budget", "taken", "price", "words"),
    [
        (Budget(time_ms=1, tokens=10**6, model_calls=3), Amount(calls=3), PRICE, "all 3 model calls"),
        (Budget(time_ms=1, tokens=10**6, model_calls=3, cost_micro=10**9), Amount(), None, "price of m is not known"),
        (Budget(time_ms=1, tokens=1_000, model_calls=3, cost_micro=None), Amount(tokens=900), PRICE, "900 of 1000"),
        (Budget(time_ms=1, tokens=10**6, model_calls=3, cost_micro=20), Amount(cost_micro=9), PRICE, "9 of 20 mill"),
        (Budget(time_ms=1), Amount(), PRICE, "all 0 model calls"),
    ],
)
def test_what_could_pass_a_bound_is_left_nothing_and_told_why(
    budget: Budget, taken: Amount, price: Price | None, words: str
) -> None:
    assert answer_tokens_left(budget, taken, price, 100) <= 0
    assert words in shortage(budget, taken, price, "m")


def test_an_unknown_price_is_no_matter_where_money_is_not_bounded() -> None:
    budget = Budget(time_ms=1, tokens=10**6, model_calls=1, cost_micro=None)
    assert answer_tokens_left(budget, Amount(), None, 100) == ANSWER_TOKENS_MAX


def spent(amounts: Iterable[Amount]) -> Amount:
    return sum(amounts, Amount())


@given(
    tokens=st.integers(0, 50_000),
    cost_micro=st.none() | st.integers(0, 20_000),
    prompts=st.lists(st.integers(1, 9_000), max_size=8),
    prices=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
)
def test_calls_that_take_all_they_may_never_pass_a_bound(
    tokens: int, cost_micro: int | None, prompts: list[int], prices: tuple[int, int]
) -> None:
    price = Price(prompt_micro_per_mtok=prices[0], completion_micro_per_mtok=prices[1])
    budget = Budget(time_ms=1, tokens=tokens, cost_micro=cost_micro, model_calls=5)
    made: list[Amount] = []
    for prompt in prompts:
        left = answer_tokens_left(budget, spent(made), price, prompt)
        if left > 0:
            made.append(amount_of(price, prompt, left))
    assert len(made) <= 5
    assert spent(made).tokens <= tokens
    assert cost_micro is None or spent(made).cost_micro <= cost_micro
