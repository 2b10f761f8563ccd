"""Is a key kept where only its owner finds it?"""

import stat
from pathlib import Path

import pytest

from earnest.client.credentials import Credentials, known_handles, load_credentials, save_credentials
from earnest.foundation.errors import Refused

MINE = Credentials(handle="maya", url="http://127.0.0.1:8420", key="ern_live_secret", id="act_1")


def test_what_is_saved_is_loaded_and_nobody_else_reads_it(tmp_path: Path) -> None:
    path = save_credentials(tmp_path, MINE)
    assert path == tmp_path / "agents" / "maya" / "credentials.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert load_credentials(tmp_path, "maya") == MINE
    assert known_handles(tmp_path) == ["maya"]


def test_saving_again_replaces_the_file_whole(tmp_path: Path) -> None:
    save_credentials(tmp_path, MINE)
    path = save_credentials(tmp_path, Credentials(handle="maya", url=MINE.url, key="ern_live_new"))
    assert load_credentials(tmp_path, "maya").key == "ern_live_new"
    assert [each.name for each in path.parent.iterdir()] == ["credentials.json"]


def test_a_key_is_not_shown_by_accident() -> None:
    assert "secret" not in repr(MINE)


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    save_credentials(tmp_path, MINE).chmod(0o640)
    with pytest.raises(Refused) as told:
        load_credentials(tmp_path, "maya")
    assert told.value.code == "credentials_open"


@pytest.mark.parametrize(
    "text", ["", "[]", "[" * 100_000, "{}", '{"handle": "maya", "url": "u", "key": 7}', '{"key": ""}']
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    save_credentials(tmp_path, MINE).write_text(text)
    with pytest.raises(Refused) as told:
        load_credentials(tmp_path, "maya")
    assert told.value.code == "credentials_damaged"


@pytest.mark.parametrize("handle", ["../maya", "", "a/b", "Maya", ".", "x" * 100])
def test_a_handle_leads_nowhere_else(tmp_path: Path, handle: str) -> None:
    with pytest.raises(Refused) as told:
        load_credentials(tmp_path, handle)
    assert told.value.code == "validation"


def test_an_agent_without_credentials_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(Refused) as told:
        load_credentials(tmp_path, "maya")
    assert told.value.code == "credentials_missing"
