"""The member `environment` of playbooks and specs."""

import pytest

from earnest.contracts.environment import EnvironmentSpec
from earnest.contracts.spec import parse_spec, spec_of_json, spec_to_json
from earnest.foundation.errors import Faulty

SPEC = """\
format: earnest-spec-v1
title: T
text: T
environment: {environment}
criteria:
  - text: a.txt is there
    check: {{kind: files, required: [a.txt]}}
"""


def test_an_environment_is_read_with_its_lines_and_written_again() -> None:
    spec = parse_spec(SPEC.format(environment="{requirements: r.txt, programs: [git, jq]}"), "s.yaml")
    assert spec.environment == EnvironmentSpec(requirements="r.txt", programs=("git", "jq"))
    assert str(spec.environment.fault("requirements", "is wrong")) == "s.yaml:4: environment.requirements: is wrong"
    assert spec_of_json(spec_to_json(spec), "s") == spec


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ("{}", "asks for nothing"),
        ("r.txt", "must be a mapping"),
        ("{requirements: r.txt, venv: .venv}", "packages come from one place, here also from requirements"),
        ("{extra: dev}", "name that as pyproject"),
        ("{requirement: r.txt}", "did you mean 'requirements'?"),
        ("{programs: [/bin/sh]}", "must be the plain name of a program"),
        ("{programs: []}", "must have 1 to 50 items"),
    ],
)
def test_what_is_wrong_with_an_environment_is_named_with_its_line(environment: str, said: str) -> None:
    with pytest.raises(Faulty) as faulty:
        parse_spec(SPEC.format(environment=environment), "s.yaml")
    told = [str(one) for one in faulty.value.diagnostics]
    assert any(one.startswith("s.yaml:4: ") and said in one for one in told), told
