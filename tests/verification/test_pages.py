"""Do the pages about playbooks, specs and checks say what the parsers take?"""

import re
from pathlib import Path

import pytest

from earnest.contracts.criterion import CheckSpec
from earnest.contracts.playbook_reading import parse_playbook
from earnest.contracts.spec import parse_spec
from earnest.contracts.yaml_source import read_yaml
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.sandbox.api import ExecutionLimits
from earnest.verification.limits import LIMITS, read_limits
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier

DOCS = Path(__file__).parents[2] / "docs"
VERIFIER = Verifier(registry=Registry(), sandbox=None, clock=VirtualClock())
KINDS = sorted(path.stem for path in (DOCS / "checks").glob("*.md"))


def examples(page: str) -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S)


def test_the_example_playbook_is_a_playbook() -> None:
    text, *_ = examples("playbooks.md")
    tools = {"shell", "read_file", "write_file", "glob"}
    playbook = parse_playbook(text, "playbooks.md", tools=tools, check_faults=VERIFIER.check_faults)
    assert [subtask.sequence for subtask in playbook.subtasks] == [1, 2]


def test_the_example_spec_is_a_spec() -> None:
    (text,) = examples("specs.md")
    assert len(parse_spec(text, "specs.md", check_faults=VERIFIER.check_faults).criteria) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_check_has_no_faults(kind: str) -> None:
    for text in examples(f"checks/{kind}.md"):
        config = read_yaml(text, kind).json()
        assert isinstance(config, dict)
        entries = dict(config["check"])
        assert entries.pop("kind") == kind
        limits = entries.pop("limits", None)
        assert VERIFIER.check_faults(CheckSpec(kind=kind, config=entries, limits=limits)) == []


def test_every_limit_stands_in_the_page_with_its_default() -> None:
    page = (DOCS / "specs.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]*\| (\d+) to (\d+) \| (\d+) \|$", page, re.M)
    written = {name: (int(low), int(high), int(default)) for name, low, high, default in rows}
    assert written == {
        name: (limit.low, limit.high, getattr(ExecutionLimits(), limit.field) // limit.unit)
        for name, limit in LIMITS.items()
    }
    assert read_limits({name: low for name, (low, _, _) in written.items()})[1] == []
