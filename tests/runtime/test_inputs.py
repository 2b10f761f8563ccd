"""Can an input show what is private?"""

from pathlib import Path

import pytest

from earnest.foundation.errors import Refused
from earnest.runtime.order import refuse_private


@pytest.mark.parametrize("shown", ["", ".ssh", ".ssh/keys", "data", "data/runs"])
def test_an_input_that_holds_or_lies_in_what_is_private_is_refused(tmp_path: Path, shown: str) -> None:
    for name in (".ssh/keys", "data/runs", "project"):
        (tmp_path / name).mkdir(parents=True)
    with pytest.raises(Refused) as caught:
        refuse_private([(tmp_path / shown)], tmp_path, tmp_path / "data")
    assert caught.value.code == "input_private"


def test_what_lies_beside_it_may_be_given(tmp_path: Path) -> None:
    for name in (".ssh/keys", "data/runs", "project"):
        (tmp_path / name).mkdir(parents=True)
    refuse_private([tmp_path / "project"], tmp_path, tmp_path / "data")
