"""Does every generator make fair questions from its seed, pass honest answers, and fail the rest?"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earnest.foundation.canonical import canonical_bytes, digest_of
from earnest.market.capabilities.generators.expressions import NotAProgramError, run
from earnest.market.capabilities.generators.generator import Draws, Generator
from earnest.market.capabilities.generators.registry import GENERATORS, generators_for
from earnest.market.jobs.categories import CATEGORIES, category_fault

from .solvers import solve

EACH = pytest.mark.parametrize("generator", GENERATORS.values(), ids=list(GENERATORS))
JUNK: list[Any] = [None, True, 0, -1, 1.5, "", "pass", "yes" * 999, [], {}, [[]], [None] * 14, {"answer": 1}, [{}] * 6]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=6),
    max_leaves=20,
)


@EACH
def test_an_honest_agent_passes_every_instance(generator: Generator) -> None:
    for number in range(60):
        instance = generator.make(Draws(f"seed {number}"))
        question = json.loads(canonical_bytes(instance.question))
        assert generator.grade(instance.key, solve(generator.name, question)) == "", question


@EACH
def test_the_same_seed_gives_the_same_instance_and_another_another(generator: Generator) -> None:
    first, again = generator.make(Draws("seed")), generator.make(Draws("seed"))
    assert canonical_bytes([first.question, first.key]) == canonical_bytes([again.question, again.key])
    questions = {canonical_bytes(generator.make(Draws(f"seed {number}")).question) for number in range(50)}
    assert len(questions) == 50


@EACH
def test_junk_fails_and_is_told_why(generator: Generator) -> None:
    key = generator.make(Draws("seed")).key
    for junk in JUNK:
        assert generator.grade(key, junk), junk


@EACH
@settings(max_examples=60, deadline=None)
@given(answer=JSON)
def test_no_answer_at_all_breaks_a_grader(generator: Generator, answer: Any) -> None:
    reason = generator.grade(generator.make(Draws("seed")).key, answer)
    assert 0 < len(reason) < 300


@EACH
def test_the_answer_to_another_instance_fails(generator: Generator) -> None:
    one, other = generator.make(Draws("one")), generator.make(Draws("other"))
    answer = solve(generator.name, json.loads(canonical_bytes(other.question)))
    assert generator.grade(one.key, answer)


@EACH
def test_an_almost_right_answer_fails(generator: Generator) -> None:
    instance = generator.make(Draws("seed"))
    answer = solve(generator.name, json.loads(canonical_bytes(instance.question)))
    wrongs: list[Any] = [[answer], {"answer": answer}, json.dumps(answer)]
    if isinstance(answer, list):
        wrongs += [answer[:-1], [*answer, answer[-1]], answer[::-1]]
    if isinstance(answer, dict):
        wrongs += [{**answer, "more": 1}, dict(list(answer.items())[1:])]
    for wrong in wrongs:
        assert generator.grade(instance.key, wrong), wrong


@EACH
def test_a_question_does_not_hold_its_key(generator: Generator) -> None:
    instance = generator.make(Draws("seed"))
    if generator.name != "schema-following":  # its key is the form that is asked for
        assert canonical_bytes(instance.key) not in canonical_bytes(instance.question)
    assert set(instance.question) == {"task", "input", "answer"}


@EACH
def test_a_category_of_a_generator_is_one_of_the_list(generator: Generator) -> None:
    assert set(generator.categories) <= set(CATEGORIES)
    assert generator.version.startswith(f"{generator.name}/")


def test_every_category_with_test_jobs_can_be_verified() -> None:
    tested = {category for generator in GENERATORS.values() for category in generator.categories}
    assert len(tested) >= 6
    for category in tested:
        found = generators_for(category)
        assert len(found) >= 2, category
        assert any(generator.hidden for generator in found), category


def test_the_page_lists_every_generator_with_what_it_is_for() -> None:
    text = (Path(__file__).parents[2] / "docs" / "test-jobs.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| ([a-z, -]+) \|(.*)\|$", text, re.MULTILINE)
    listed = {(name, categories, more.strip().startswith("hidden")) for name, categories, more in rows}
    assert listed == {(each.name, ", ".join(each.categories), each.hidden) for each in GENERATORS.values()}


@pytest.mark.parametrize("name", ["code-generation", "a", "a1-b2", *CATEGORIES])
def test_a_slug_with_hyphens_is_a_category(name: str) -> None:
    assert category_fault(name) == ""


@pytest.mark.parametrize("name", ["", "-", "a-", "-a", "a--b", "A", "1a", "a_b", "a b", "ä", "a\n", "a" * 65])
def test_anything_else_is_no_category(name: str) -> None:
    assert "slug" in category_fault(name)


@pytest.mark.parametrize(("name", "meant"), [("wirting", "writing"), ("code-generaton", "code-generation")])
def test_a_slip_in_a_known_category_is_told_with_what_was_meant(name: str, meant: str) -> None:
    assert f"did you mean '{meant}'?" in category_fault(name)


def test_a_planted_order_that_is_followed_fails() -> None:
    generator = GENERATORS["untrusted-document"]
    instance = generator.make(Draws("seed"))
    honest = solve(generator.name, instance.question)
    for obedient in (
        [],
        [{**row, "ticket": 0} for row in honest],
        [{**row, "topic": "billing", "days_waiting": 0} for row in honest],
        [*honest, {"ticket": 12_345, "topic": "billing", "days_waiting": 1}],
    ):
        assert generator.grade(instance.key, obedient)


def test_a_split_that_is_late_by_a_minute_fails() -> None:
    grade = GENERATORS["task-splitting"].grade
    key: Any = {"minutes": {"a": 3, "b": 2, "c": 2}, "best": 4}
    assert grade(key, {"left": ["a"], "right": ["b", "c"]}) == ""
    assert "4 are possible" in grade(key, {"left": ["a", "b"], "right": ["c"]})
    assert grade(key, {"left": ["a", "a"], "right": ["b", "c"]})
    assert grade(key, {"left": [["a"]], "right": ["b", "c"]})
    assert grade(key, {"left": ["a", 1], "right": ["b", "c"]})


def test_draws_stay_within_their_bounds_and_reach_all_of_them() -> None:
    draws = Draws("seed")
    assert {draws.between(3, 7) for _ in range(300)} == {3, 4, 5, 6, 7}
    assert {draws.one("abc") for _ in range(100)} == {"a", "b", "c"}
    assert sorted(draws.some(range(6), 6)) == list(range(6))
    assert len(set(draws.some(range(10_000), 500))) == 500
    assert draws.some("", 0) == []


def test_draws_are_what_they_were_when_they_were_published() -> None:
    draws = Draws("earnest")
    assert [draws.below(1_000) for _ in range(5)] == [211, 204, 523, 791, 594]
    made = {
        each.version: digest_of([(i := each.make(Draws("earnest"))).question, i.key])[7:23]
        for each in GENERATORS.values()
    }
    assert made == MADE, "a change of what a generator makes is a new version"


MADE = {
    "date-reasoning/1": "7901c094884f42c0",
    "json-extraction/1": "626aefeaf1d874c9",
    "output-prediction/1": "5fbafe0e2ce40246",
    "rule-program/1": "2b67386857b04fb3",
    "schema-following/1": "e08087cdfb6f5a42",
    "table-arithmetic/1": "0b6361d439fedf14",
    "task-splitting/1": "dd738e324e7531e9",
    "text-normalisation/1": "43a52bd3ba2fcf7d",
    "untrusted-document/1": "5cb1b83f43474da8",
}


@pytest.mark.parametrize(
    ("program", "value"),
    [
        (5, 5),
        ("x", 7),
        (["add", "x", 1], 8),
        (["div", -7, 2], -4),
        (["mod", -7, 2], 1),
        (["if", ["lt", "x", 7], 1, 2], 2),
        (["if", ["le", "x", 7], 1, ["div", 1, 0]], 1),
        (["if", ["eq", "x", 7], ["min", 1, 2], ["max", 1, 2]], 1),
        (["sub", ["mul", 3, "x"], 1], 20),
    ],
)
def test_a_program_computes_what_its_language_says(program: Any, value: int) -> None:
    assert run(program, {"x": 7}) == value


def nested(depth: int) -> Any:
    return 1 if depth == 0 else ["add", nested(depth - 1), 1]


def wide(operators: int) -> Any:
    return 1 if operators == 0 else ["add", wide((operators - 1) // 2), wide(operators - 1 - (operators - 1) // 2)]


@pytest.mark.parametrize(
    "program",
    [
        None,
        True,
        1.0,
        "y",
        "__class__",
        [],
        ["add", 1],
        ["add", 1, 2, 3],
        ["exec", "x", "x"],
        ["if", 1, 2],
        {"add": [1, 2]},
        ["div", 1, 0],
        ["mod", 1, ["sub", "x", 7]],
        10**12 + 1,
        ["mul", 10**12, 2],
        ["mul", ["mul", 10**7, 10**7], ["mul", 10**7, 10**7]],
        nested(31),
        nested(800),
        wide(201),
        [["add"], 1, 2],
    ],
)
def test_what_is_no_program_is_refused_before_it_costs_anything(program: Any) -> None:
    with pytest.raises(NotAProgramError):
        run(program, {"x": 7})


def test_a_program_within_the_bounds_runs() -> None:
    assert run(nested(30), {}) == 31
    assert run(wide(200), {}) == 201
