"""Can two different things ever share a key, or a scan return what is not its own?"""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from earnest.effects.ground.kv.api import KEY_BYTES_MAX
from earnest.memory import keys
from earnest.memory.megram import DECAYS_PER_DAY, INSTANT_MS_MAX

NASTY = st.text(alphabet=st.sampled_from("|%#7Ca2\x005é漢"), max_size=12)
TEXTS = st.one_of(NASTY, st.text(), st.text(min_size=100, max_size=300), st.integers(115, 125).map("|".__mul__))
INSTANTS = st.integers(0, INSTANT_MS_MAX)


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_different_texts_are_different_segments(one: str, other: str) -> None:
    assert (keys.segment(one) == keys.segment(other)) == (one == other)


@settings(deadline=None)
@given(TEXTS)
def test_a_segment_is_bounded_and_holds_no_separator(text: str) -> None:
    segment = keys.segment(text)
    assert b"|" not in segment
    assert len(segment) <= keys.SEGMENT_BYTES_MAX


def test_no_text_is_taken_for_the_digest_of_another() -> None:
    digest = keys.segment("x" * 1_000)
    assert keys.segment(digest.decode()) != digest


@settings(deadline=None)
@given(st.tuples(TEXTS, TEXTS, TEXTS), st.tuples(TEXTS, TEXTS, TEXTS))
def test_different_triples_have_different_keys(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    assert (keys.of(keys.TAGGED, *one) == keys.of(keys.TAGGED, *other)) == (one == other)


@settings(deadline=None)
@given(TEXTS, TEXTS, TEXTS, TEXTS, TEXTS)
def test_the_prefix_of_a_pair_covers_that_pair_alone(a: str, b: str, c: str, d: str, megram_id: str) -> None:
    assume((a, b) != (c, d))
    assert keys.of(keys.TAGGED, a, b, megram_id).startswith(keys.below(keys.TAGGED, a, b))
    assert not keys.of(keys.TAGGED, c, d, megram_id).startswith(keys.below(keys.TAGGED, a, b))
    assert not keys.of(keys.CREATED, c, d, 5, megram_id).startswith(keys.below(keys.CREATED, a, b))
    assert not keys.decay_sum(c, d, "M", 0.5).startswith(keys.below(keys.SUMS, a, b))


@settings(deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_the_prefix_of_a_space_covers_that_space_alone(a: str, b: str, c: str) -> None:
    assert keys.of(keys.TAGGED, a, b, c).startswith(keys.below(keys.TAGGED, a))
    assert keys.of(keys.TAGGED, b, a, c).startswith(keys.below(keys.TAGGED, a)) == (a == b)


@pytest.mark.slow
@settings(deadline=None)
@given(INSTANTS, INSTANTS, NASTY, NASTY)
def test_keys_of_one_pair_are_in_order_of_time(early: int, late: int, one: str, other: str) -> None:
    assume(early < late)
    for index in (keys.CREATED, keys.RENEWED):
        assert keys.of(index, "s", "e", early, one) < keys.of(index, "s", "e", late, other)
    assert keys.of(keys.EXPIRIES, early, one) < keys.of(keys.EXPIRIES, late, other)
    assert (
        keys.of(keys.CREATED, "s", "e", early, one)
        < keys.of(keys.CREATED, "s", "e", late)
        <= keys.of(keys.CREATED, "s", "e", late, one)
    )


@settings(deadline=None)
@given(TEXTS, TEXTS, TEXTS, INSTANTS)
def test_every_key_fits_the_store(a: str, b: str, megram_id: str, at_ms: int) -> None:
    built = [
        keys.of(keys.RECORDS, megram_id),
        keys.of(keys.RECALLS, megram_id),
        keys.of(keys.TAGGED, a, b, megram_id),
        keys.of(keys.CREATED, a, b, at_ms, megram_id),
        keys.of(keys.RENEWED, a, b, at_ms, megram_id),
        keys.of(keys.EXPIRIES, at_ms, megram_id),
        keys.of(keys.LEVELLED, "M", megram_id),
        keys.decay_sum(a, b, "M", 0.05),
    ]
    assert len({key[:2] for key in built}) == len(built)
    assert max(map(len, built)) <= KEY_BYTES_MAX


@settings(deadline=None)
@given(TEXTS, TEXTS, st.sampled_from("MKCT"), st.sampled_from(DECAYS_PER_DAY))
def test_a_sums_key_says_its_level_and_decay(a: str, b: str, level: str, k: float) -> None:
    assert keys.decay_sum_class(keys.decay_sum(a, b, level, k)) == (level, k)
    assert keys.decay_sum(a, b, level, 0) == keys.decay_sum(a, b, level, -0.0)


@settings(deadline=None)
@given(INSTANTS)
def test_an_expiry_key_says_its_instant(at_ms: int) -> None:
    assert keys.expiry_instant_ms(keys.of(keys.EXPIRIES, at_ms, "x|y")) == at_ms
