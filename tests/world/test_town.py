"""The town's rules: positions follow from time alone, and what is near is near."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.foundation.errors import Refused
from earnest.foundation.instants import HOUR_MS
from earnest.world.places import PLACES, SIDE, Cell, cell_of, distance, home_of, hour_at, place_at
from earnest.world.resident import arrives_at_ms, has_arrived, headed, is_bound_for, newcomer, position
from earnest.world.talk import HEARERS_MAX, NEAR_CELLS, hearers

CELLS = st.builds(Cell, st.integers(0, SIDE - 1), st.integers(0, SIDE - 1))
NOW = 1_780_000_000_000


@given(st.lists(st.tuples(CELLS, st.integers(0, 40_000)), min_size=1, max_size=8))
def test_somebody_walks_a_cell_a_second_whatever_they_decide_on_the_way(way: list[tuple[Cell, int]]) -> None:
    now_ms, one = NOW, newcomer("act_1", NOW)
    for to, waited_ms in way:
        before = position(one, now_ms)
        was_there = has_arrived(one, now_ms)
        one, turned = headed(one, to, "", "", now_ms)
        assert turned == (not was_there)
        assert position(one, now_ms) == before
        now_ms += waited_ms
        here = position(one, now_ms)
        assert distance(before, here) <= waited_ms // 1_000
        assert max(here) < SIDE
        assert has_arrived(one, now_ms) == (now_ms - one.set_out_ms >= distance(before, to) * 1_000 // 1_000 * 1_000)
    assert position(one, arrives_at_ms(one)) == way[-1][0]
    assert is_bound_for(one, way[-1][0])


@given(st.text(min_size=1, max_size=40))
def test_everybody_has_a_home_on_the_map_and_always_the_same(account_id: str) -> None:
    home = home_of(account_id)
    assert home == home_of(account_id) == cell_of("home", account_id)
    assert 24 <= home.y < SIDE
    assert home not in PLACES.values()
    assert place_at(home, account_id) == "home"


def test_places_are_known_by_name_and_others_are_refused() -> None:
    assert place_at(cell_of("cafe", "act_1"), "act_1") == "cafe"
    assert place_at(Cell(0, 0), "act_1") == ""
    with pytest.raises(Refused, match="no place 'moon'"):
        cell_of("moon", "act_1")


def test_those_within_five_cells_hear_the_nearest_first_and_not_the_speaker() -> None:
    here = Cell(10, 10)
    folk = [headed(newcomer(f"act_{at:03}", NOW), Cell(10 + at % 8, 10), "", "", NOW)[0] for at in range(200)]
    later_ms = NOW + 3_600_000
    heard = hearers("act_000", here, folk, later_ms)
    assert len(heard) == HEARERS_MAX
    assert "act_000" not in heard
    cells = [int(one[4:]) % 8 for one in heard]
    assert cells == sorted(cells)
    assert max(cells) <= NEAR_CELLS


@pytest.mark.parametrize(
    ("passed_ms", "pace", "expected"),
    [
        (0, 1, (1, 0, "night")),
        (6 * HOUR_MS, 1, (1, 6, "morning")),
        (24 * HOUR_MS, 1, (2, 0, "night")),
        (HOUR_MS, 60, (3, 12, "afternoon")),
        (HOUR_MS // 60, 1_080, (1, 18, "evening")),
        (-5, 1, (1, 0, "night")),
    ],
)
def test_the_towns_hour_follows_from_the_platforms_clock(
    passed_ms: int, pace: int, expected: tuple[int, int, str]
) -> None:
    assert hour_at(NOW + passed_ms, NOW, pace) == expected
