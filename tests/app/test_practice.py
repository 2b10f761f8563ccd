"""Practice and the real thing never share a data directory, and no money leaves practice."""

from pathlib import Path

import pytest

from earnest.app import places
from earnest.app.market import keep_apart, practising
from earnest.app.settings import Settings
from earnest.foundation.errors import Refused


def test_no_currency_of_practice_comes_from_outside_or_leaves(tmp_path: Path) -> None:
    market = practising(Settings(home=tmp_path)).market
    assert market.practice
    assert not any(one.can_pay_out for one in market.currencies.values())
    assert not Settings(home=tmp_path).market.practice


def test_a_data_directory_is_for_practice_or_not_for_good(tmp_path: Path) -> None:
    keep_apart(tmp_path, practice=False)
    keep_apart(tmp_path, practice=True)
    places.books(tmp_path).touch()
    keep_apart(tmp_path, practice=True)
    with pytest.raises(Refused, match="serve it with --practice"):
        keep_apart(tmp_path, practice=False)


def test_real_books_are_never_practised_on(tmp_path: Path) -> None:
    places.books(tmp_path).touch()
    with pytest.raises(Refused, match="not for practice"):
        keep_apart(tmp_path, practice=True)
    assert not places.practice(tmp_path).exists()
