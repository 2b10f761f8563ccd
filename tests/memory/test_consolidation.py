"""Do clear experiences become a rule, and does a refuted rule fall, by the numbers and never for the wrong sign?"""

from dataclasses import replace

import pytest
from megrams import START_MS, TAG, megram

from earnest.foundation.canonical import canonical_bytes
from earnest.foundation.errors import Broken, Refused
from earnest.memory.consolidation import (
    CONTENTS_MAX,
    DEMOTED_K,
    DREAMER,
    Cluster,
    Distilled,
    MemoryRevision,
    RevisionReason,
    consolidated,
    demoted,
    fall,
    has_fallen,
)
from earnest.memory.megram import HYPOTHESES, NO_RUN, NOTES, Level, Megram, MegramState
from earnest.memory.potential import Potentials, direct_potentials
from earnest.memory.thinking import LAWS, PERSONA_ID, persona, proposal

WORDS = Distilled(rule="prefer wc", hypothesis="try awk")


def cluster(count: int, state: MegramState = MegramState.ACCEPT, rules: tuple[Megram, ...] = ()) -> Cluster:
    events = tuple(
        replace(megram(f"m{number}", state, at_ms=START_MS - number), run_id=f"run{number % 2}")
        for number in range(count)
    )
    return Cluster(tag=TAG, potentials=direct_potentials(events, START_MS), events=events, rules=rules)


def a_rule(sigma: float = 1.0) -> Megram:
    return consolidated(cluster(6, MegramState.ACCEPT if sigma > 0 else MegramState.ABANDON), WORDS, START_MS).remember[
        0
    ]


@pytest.mark.parametrize(
    ("attention", "decision", "ripe"),
    [
        (5.0, 3.0, True),
        (5.0, -3.0, True),
        (5.0, 2.99, False),
        (4.99, 3.0, False),
        (9.0, 0.0, False),
        (5.0 - 1e-12, -3.0 + 1e-12, True),
    ],
)
def test_a_cluster_is_ripe_from_five_and_three_on(attention: float, decision: float, ripe: bool) -> None:
    potentials = Potentials(attention=attention, decision=decision)
    state = MegramState.ACCEPT if decision > 0 else MegramState.ABANDON
    assert replace(cluster(2, state), potentials=potentials).ripe is ripe


def test_a_rule_needs_two_tasks_or_two_agents_that_found_the_same() -> None:
    two = cluster(6)
    one_task = replace(two, events=tuple(replace(event, run_id="run") for event in two.events))
    two_agents = replace(one_task, events=(replace(one_task.events[0], agent="other"), *one_task.events[1:]))
    against = replace(one_task, events=(replace(cluster(1, MegramState.ABANDON).events[0]), *one_task.events[1:]))
    between_runs = replace(two, events=tuple(replace(event, run_id=NO_RUN) for event in two.events))
    found = [one.ripe for one in (two, one_task, two_agents, against, between_runs)]
    assert found == [True, False, True, False, True]


def test_a_rule_takes_the_place_of_its_events_and_does_not_decay() -> None:
    found = cluster(6)
    revision = consolidated(found, WORDS, START_MS)
    rule, idea = revision.remember
    assert revision.forget == tuple(event.id for event in found.events)
    assert (rule.level, rule.k, rule.sigma, rule.f, rule.content) == (Level.C, 0.0, 1.0, 1.0, "prefer wc")
    assert (idea.space, idea.entity, idea.sigma, idea.content) == (TAG.space, HYPOTHESES, 0.0, "try awk")


def test_a_rule_of_failures_says_what_to_avoid() -> None:
    rule = consolidated(cluster(6, MegramState.ABANDON), Distilled(rule="not wc"), START_MS).remember[0]
    assert (rule.sigma, rule.state) == (-1.0, MegramState.ABANDON)


def test_a_new_rule_replaces_one_that_says_the_same() -> None:
    old = replace(a_rule(), id="rule_old")
    revision = consolidated(cluster(7, rules=(old,)), Distilled(rule="prefer wc still"), START_MS)
    assert "rule_old" in revision.forget
    assert [one.level for one in revision.remember] == [Level.C]


def test_what_a_user_had_remembered_is_neither_replaced_nor_lowered() -> None:
    note = replace(a_rule(-1.0), id="note_1", agent="user")
    revision = consolidated(cluster(7, rules=(note,)), Distilled(rule="prefer wc"), START_MS)
    assert "note_1" not in revision.forget
    assert [one.id for one in revision.remember if one.id == "note_1"] == []
    assert not has_fallen(note, Potentials(attention=9.0, decision=9.0))


@pytest.mark.parametrize(
    ("sigma", "decision", "fallen"),
    [
        (1.0, -3.1, True),
        (1.0, -1.0, False),
        (1.0, 0.1, False),
        (-1.0, 3.1, True),
        (-1.0, 1.0, False),
        (-1.0, -3, False),
    ],
)
def test_a_rule_falls_only_when_experience_outweighs_what_it_was_made_of(
    sigma: float, decision: float, fallen: bool
) -> None:
    """By the sign of decision alone, every constraint would fall at once."""
    assert has_fallen(a_rule(sigma), Potentials(attention=1.0, decision=decision)) is fallen


def test_of_a_fallen_rule_knowledge_remains_under_the_same_id() -> None:
    rule = a_rule()
    assert (demoted(rule).level, demoted(rule).k, demoted(rule).sigma) == (Level.K, DEMOTED_K, rule.sigma)
    assert fall(rule) == MemoryRevision(why=RevisionReason.DEMOTED, forget=(rule.id,), remember=(demoted(rule),))


def test_the_rule_of_the_same_newest_event_has_the_same_short_id() -> None:
    ids = {consolidated(cluster(count), WORDS, START_MS + count).remember[0].id for count in (6, 7)}
    assert len(ids) == 1
    assert len(ids.pop()) == len("rule_") + 16


def test_a_rule_is_distilled_from_the_ten_newest() -> None:
    assert cluster(20).newest == cluster(20).events[:CONTENTS_MAX]


@pytest.mark.parametrize(
    "revision", [consolidated(cluster(6), WORDS, START_MS), fall(a_rule()), persona("a clerk", "Ada", START_MS)]
)
def test_a_revision_survives_its_fact(revision: MemoryRevision) -> None:
    import json

    assert MemoryRevision.from_json(json.loads(canonical_bytes(revision.to_json()))) == revision


@pytest.mark.parametrize("body", [{}, {"why": "x", "forget": [], "remember": []}, {"why": "demoted", "forget": 1}])
def test_what_is_no_revision_is_not_read_as_one(body: dict[str, str]) -> None:
    with pytest.raises(Broken):
        MemoryRevision.from_json(body)


def test_a_persona_is_proposed_from_rules_that_held_and_from_nothing_else() -> None:
    rule = a_rule()
    sure = Potentials(attention=4.0, decision=2.0)
    assert proposal([(rule, sure)]) == f"I prefer: {rule.content}"
    assert proposal([(a_rule(-1.0), replace(sure, decision=-2.0))]).startswith("I avoid: ")
    doubtful = (Potentials(attention=2.4, decision=2.0), Potentials(attention=9.0, decision=-2.0))
    assert [proposal([(rule, one)]) for one in doubtful] == ["", ""]
    note = replace(rule, space=NOTES.space, entity=NOTES.entity)
    assert proposal([(note, sure), (replace(rule, level=Level.M), sure)]) == ""
    many = proposal([(replace(rule, id=f"c{at}", content="x\ny" * 500), sure) for at in range(50)])
    assert len(many.splitlines()) == 10
    assert persona(many, "Ada", START_MS)


def test_a_persona_is_approved_by_somebody_and_takes_the_place_of_the_last() -> None:
    revision = persona(" a careful clerk ", "Ada", START_MS)
    (megram_of_it,) = revision.remember
    assert revision.forget == (PERSONA_ID,)
    assert (megram_of_it.level, megram_of_it.content, megram_of_it.agent) == (Level.T, "a careful clerk", "Ada")
    assert len(LAWS) == 4


@pytest.mark.parametrize(("text", "by"), [("", "Ada"), ("x" * 4_001, "Ada"), ("clerk", " "), ("clerk", "A\x1bda")])
def test_a_persona_out_of_bounds_is_refused(text: str, by: str) -> None:
    with pytest.raises(Refused) as refusal:
        persona(text, by, START_MS)
    assert refusal.value.code == "persona_invalid"


def test_the_dreamer_is_named_as_the_author() -> None:
    assert {one.agent for one in consolidated(cluster(6), WORDS, START_MS).remember} == {DREAMER}
