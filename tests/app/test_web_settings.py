"""What may agents do on the web, as the table `[web]` says, and what of it cannot be?"""

from pathlib import Path

import pytest

from earnest.app.settings import read_settings
from earnest.app.toolboxes import toolbox_for
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.tools.api import Leave
from earnest.effects.outside.web.searching import SearchEngine
from earnest.foundation.errors import Faulty


def test_without_settings_each_use_of_the_web_needs_leave(tmp_path: Path) -> None:
    tools = toolbox_for(read_settings({"EARNEST_HOME": str(tmp_path)}), VirtualClock()).tools
    assert (tools["search"].leave, tools["fetch"].leave) == (Leave.NETWORK, Leave.NETWORK)


def test_a_users_files_are_searched_first_and_without_leave(tmp_path: Path) -> None:
    tools = toolbox_for(read_settings({"EARNEST_HOME": str(tmp_path)}), VirtualClock()).tools
    assert (next(iter(tools)), tools["search_files"].leave) == ("search_files", Leave.NONE)


def test_what_the_operator_leaves_to_agents_needs_no_more_leave(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("[web]\nsearch = true\nengine = 'serper'\n")
    settings = read_settings({"EARNEST_HOME": str(tmp_path), "EARNEST_SEARCH_API_KEY": "very-secret"})
    assert (settings.web.engine, settings.web.api_key) == (SearchEngine.SERPER, "very-secret")
    assert "very-secret" not in repr(settings)
    tools = toolbox_for(settings, VirtualClock()).tools
    assert (tools["search"].leave, tools["fetch"].leave) == (Leave.NONE, Leave.NETWORK)


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ("web = 1", "settings.toml:1: web must be a table, [web]"),
        ("[web]\nsearch = 'yes'", "settings.toml:2: [web] search is 'yes': it must be true or false"),
        (
            "[web]\nengine = 'bing'",
            "settings.toml:2: [web] engine is 'bing': it must be one of duckduckgo, google, serper",
        ),
        ("[web]\nengine = 'serper'", "[web] the engine serper needs api_key (EARNEST_SEARCH_API_KEY)"),
        ("[web]\nengine = 'google'\napi_key = 'k'", "[web] the engine google needs cx"),
        ("[web]\nengine = 'serper'\napi_key = \"a\\nb\"", "api_key (EARNEST_SEARCH_API_KEY) must be printable ASCII"),
        ("[web]\nserch = true", "[web] there is no 'serch'; did you mean 'search'?"),
    ],
)
def test_what_is_wrong_is_named(table: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(table)
    with pytest.raises(Faulty) as caught:
        read_settings({"EARNEST_HOME": str(tmp_path)})
    assert fault in str(caught.value)
