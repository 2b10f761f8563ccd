"""Does a verification spec parse into what it says, or into every fault it has?"""

import pytest

from earnest.contracts.spec import Acceptance, parse_spec
from earnest.foundation.errors import Faulty

HEAD = "format: earnest-spec-v1\ntitle: Digit sum\ntext: Write solution.py\n"
CRITERIA = "criteria:\n  - id: C7\n    text: it is there\n    check: {kind: files, required: [solution.py]}\n"


def faults(text: str) -> list[str]:
    with pytest.raises(Faulty) as caught:
        parse_spec(text, "s.yaml")
    return [str(fault) for fault in caught.value.diagnostics]


def test_a_spec_says_what_its_text_says() -> None:
    spec = parse_spec(HEAD + CRITERIA, "s.yaml")
    assert (spec.title, spec.acceptance) == ("Digit sum", Acceptance.MACHINE)
    assert [(criterion.id, criterion.required) for criterion in spec.criteria] == [("C7", True)]


def test_a_criterion_for_people_needs_no_check() -> None:
    spec = parse_spec(HEAD + "acceptance: buyer\ncriteria: [it is beautiful]\n", "s.yaml")
    assert spec.criteria[0].check is None
    assert spec.criteria[0].id == "C1"


def test_what_must_never_be_touched_is_a_criterion_and_words_are_one_for_people() -> None:
    spec = parse_spec(HEAD + "never: [tests/, no network]\nacceptance: buyer\ncriteria: [it is beautiful]\n", "s.yaml")
    place, words = spec.criteria[1:]
    assert (place.id, words.id, words.check) == ("N1", "N2", None)
    assert place.check is not None
    assert place.check.config == {"edit": "*", "never": ("tests", "tests/**")}
    assert faults(HEAD + CRITERIA + "never: no network\n") == [
        "s.yaml:8: never: 'no network' is no path, and nobody is there to judge whether it was done"
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (HEAD + "criteria: [it is beautiful]\n", "s.yaml:4: criteria[0]: acceptance is machine, so each"),
        (HEAD + "criteria: []\n", "s.yaml:4: criteria: must have 1 to 50 items"),
        (HEAD + CRITERIA + "accepted: x\n", "s.yaml:8: unknown key 'accepted'; did you mean 'acceptance'?"),
        (HEAD + CRITERIA + "acceptance: me\n", "s.yaml:8: acceptance: must be one of machine, buyer, proposer, human"),
        (HEAD + CRITERIA.replace("C7", "'C 7'"), "s.yaml:5: criteria[0].id: 'C 7' must be letters"),
        (HEAD + CRITERIA + "    required: false\n", "s.yaml:5: criteria: at least one criterion must be required"),
        (HEAD + CRITERIA + "    check: {}\n", "s.yaml:8: the key 'check' is already on line 7"),
        (CRITERIA, "s.yaml:1: the key 'format' is missing"),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, fault: str) -> None:
    assert any(found.startswith(fault) for found in faults(text)), faults(text)
