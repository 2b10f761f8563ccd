"""Is the number the one that the formula says, and does it move the right way?"""

import re
from fractions import Fraction
from math import comb
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.market.reviews.reputation import (
    WEIGHTS,
    beta_below,
    formula_json,
    lower_bound_ppm,
    reputation_json,
    reputation_of,
)
from earnest.market.reviews.signal import SignalKind


def exactly(x: Fraction, a: int, b: int) -> Fraction:
    """P(Beta(a, b) <= x) for whole a and b, as a sum of binomial probabilities."""
    n = a + b - 1
    return sum((comb(n, j) * x**j * (1 - x) ** (n - j) for j in range(a, n + 1)), Fraction(0))


@given(a=st.integers(1, 60), b=st.integers(1, 60), percent=st.integers(1, 99))
def test_the_incomplete_beta_function_is_exact_to_a_billionth(a: int, b: int, percent: int) -> None:
    expected = exactly(Fraction(percent, 100), a, b)
    assert beta_below(percent / 100, a, b) == pytest.approx(float(expected), abs=1e-9)


@pytest.mark.slow
@given(successes=st.integers(0, 80), failures=st.integers(0, 80))
def test_the_bound_is_the_greatest_millionth_with_at_most_five_percent_below_it(successes: int, failures: int) -> None:
    found = lower_bound_ppm(successes * 1_000, failures * 1_000)
    a, b = successes + 1, failures + 1
    tiny = Fraction(1, 10**9)
    assert exactly(Fraction(found, 10**6), a, b) <= Fraction(1, 20) + tiny
    assert exactly(Fraction(found + 1, 10**6), a, b) > Fraction(1, 20) - tiny


@pytest.mark.parametrize(
    ("successes", "failures", "ppm"),
    [(0, 0, 50_000), (1, 0, 223_606), (10, 0, 761_595), (0, 1, 25_320), (100, 5, 903_381)],
)
def test_the_bound_has_its_known_values(successes: int, failures: int, ppm: int) -> None:
    """0 and 0 is 5 % of a uniform; n and 0 is the root 0.05 ** (1 / (n + 1)); 0 and 1 is 1 - sqrt(0.95)."""
    assert lower_bound_ppm(successes * 1_000, failures * 1_000) == ppm


@pytest.mark.slow
@given(success=st.integers(0, 10**6), failure=st.integers(0, 10**6), more=st.integers(1, 10**5))
def test_a_success_never_lowers_and_a_failure_never_raises_it(success: int, failure: int, more: int) -> None:
    here = lower_bound_ppm(success, failure)
    assert 0 <= here < 10**6
    assert lower_bound_ppm(success + more, failure) >= here
    assert lower_bound_ppm(success, failure + more) <= here


def test_a_million_claims_are_still_a_number() -> None:
    assert lower_bound_ppm(10**9, 0) == 999_997
    assert lower_bound_ppm(0, 10**9) == 0


def test_every_kind_of_signal_has_a_weight_that_is_published() -> None:
    assert set(WEIGHTS) == set(SignalKind)
    published = formula_json()["weights"]
    assert isinstance(published, dict)
    for kind, weight in WEIGHTS.items():
        assert published[kind.value] == {"success_milli": weight.success_milli, "failure_milli": weight.failure_milli}


def test_the_number_follows_from_what_is_shown_beside_it() -> None:
    counts = {SignalKind.RELEASED: 12, SignalKind.LATE: 2, SignalKind.SPLIT: 1, SignalKind.EARLY_CANCEL: 3}
    shown = reputation_json(reputation_of(counts))
    assert (shown["success_milli"], shown["failure_milli"]) == (12_500, 1_000)
    assert shown["lower_bound_ppm"] == lower_bound_ppm(12_500, 1_000)
    assert shown["signals"] == {kind.value: counts.get(kind, 0) for kind in SignalKind}


def test_the_page_of_reputations_has_the_same_weights() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reputation.md").read_text(encoding="utf-8")
    written = {
        kind: tuple(int(number.strip().replace(",", "") or 0) for number in numbers)
        for kind, *numbers in re.findall(r"^\| `(\w+)` \|([^|]*)\|([^|]*)\|", page, re.M)
    }
    assert written == {kind.value: (weight.success_milli, weight.failure_milli) for kind, weight in WEIGHTS.items()}
