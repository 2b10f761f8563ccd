"""Is a judge set up by file and environment, with every fault named and the key kept out of sight?"""

import pytest

from earnest.app.judging_settings import JudgeSettings, read_judge
from earnest.app.verifiers import judges_for
from earnest.effects.ground.clock import SeededChance, VirtualClock

URL = "http://127.0.0.1:11434/v1"


def read(table: object, **environment: str) -> tuple[JudgeSettings, list[str]]:
    faults: list[str] = []
    return read_judge(table, environment, lambda words, _key: faults.append(words)), faults


def test_the_environment_wins_over_the_file() -> None:
    table = {"base_url": URL, "model": "small", "may_judge_itself": True}
    environment = {"VERIFY_LLM_MODEL": "large", "VERIFY_LLM_API_KEY": "k", "VERIFY_LLM_MAY_JUDGE_ITSELF": "false"}
    assert read(table, **environment) == (JudgeSettings(base_url=URL, model="large", api_key="k"), [])
    assert read({}) == (JudgeSettings(), [])


@pytest.mark.parametrize(
    ("table", "environment", "part"),
    [
        ({"base_url": URL}, {}, "base_url is given without model"),
        ({}, {"VERIFY_LLM_MODEL": "m"}, "model is given without base_url"),
        ({"base_url": "127.0.0.1:80", "model": "m"}, {}, "must be http(s)"),
        ({"base_url": "http://x:port/v1", "model": "m"}, {}, "must be http(s)"),
        ({"base_url": "http://[::1", "model": "m"}, {}, "must be http(s)"),
        ({"url": URL}, {}, "there is no 'url'"),
        ({"model": 7}, {}, "model must be a text"),
        ({}, {"VERIFY_LLM_MAY_JUDGE_ITSELF": "perhaps"}, "may_judge_itself is 'perhaps': it must be true or false"),
    ],
)
def test_a_judge_set_up_wrongly_is_a_fault(table: object, environment: dict[str, str], part: str) -> None:
    _, faults = read(table, **environment)
    assert any(part in fault for fault in faults), faults


def test_the_key_is_not_shown() -> None:
    judge = JudgeSettings(base_url=URL, model="m", api_key="very-secret")
    judges = judges_for(judge, VirtualClock(), SeededChance(), None)  # type: ignore[arg-type]
    assert judges.model is not None
    assert judges.model.endpoint.api_key == "very-secret"
    assert "very-secret" not in repr((judge, judges.model.endpoint))
