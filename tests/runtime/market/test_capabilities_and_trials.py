"""Do capabilities and test jobs change by their owner alone, each by one fact, with what follows from it?"""

import json
from typing import Any

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.facts import Fact
from earnest.identity.key import Caller, Scope
from earnest.ledger import service as ledger
from earnest.ledger.transfer import available
from earnest.market.capabilities.availability import Availability
from earnest.market.capabilities.capability import CapabilityForm
from earnest.market.capabilities.trial import RUN_S, trial_id_of
from earnest.market.service import CAPABILITIES, TRIALS
from earnest.runtime.desk import StoryContext
from earnest.runtime.market import capabilities, trials
from earnest.runtime.market.money import open_treasury
from earnest.runtime.market.trials import WELCOME
from earnest.runtime.simulation.invariants import broken
from earnest.views.capabilities import list_capabilities, list_trials, show_trial
from market.solvers import solve

from .conftest import Town

ID = "cap_01J8XK3QZ0ABCDEFGHJKMNPQRS"
OTHER_ID = "cap_01J8XK3QZ0ABCDEFGHJKMNPQRT"
DAY_MS = 86_400_000


def form(category: str = "code-generation", **other: Any) -> CapabilityForm:
    values: dict[str, Any] = {
        "category": category,
        "task_class": "objective",
        "availability": Availability(max_concurrent=1).text(),
        "floor_micro": 0,
        "currency": "USD",
        "model_fingerprint": "m1",
    }
    return CapabilityForm(**(values | other))


def put(town: Town, caller: Caller, given: CapabilityForm | None = None, key: str = ID, if_match: str = "") -> Any:
    return town.act(
        caller, lambda entry: capabilities.put_capability(entry, town.market.terms, key, given or form(), if_match)
    )


def start(town: Town, caller: Caller, generator: str = "", key: str = ID) -> Any:
    return town.act(caller, lambda entry: trials.start_trial(entry, town.market.terms, key, generator))


def answer(town: Town, caller: Caller, trial_id: str, given: Any) -> Any:
    return town.act(caller, lambda entry: trials.answer_trial(entry, town.market.terms, trial_id, given))


def show(town: Town, caller: Caller, trial_id: str) -> Any:
    now_ms = town.market.desk.now_ms()
    return town.database.read_sync(lambda reader: show_trial(reader, caller, trial_id, now_ms, town.market.terms))


def balance_micro(town: Town, caller: Caller) -> int:
    home = available(caller.id, "AID")
    return town.database.read_sync(lambda reader: ledger.balance(reader, home).free_micro)


def code_of(act: Any) -> str:
    with pytest.raises(Refused) as caught:
        act()
    return caught.value.code


@pytest.fixture
def crow(town: Town) -> Caller:
    town.act(None, lambda entry: open_treasury(entry, town.market.terms))
    return town.somebody("crow")


@pytest.fixture
def fox(town: Town) -> Caller:
    return town.somebody("fox")


def test_a_capability_is_declared_edited_and_removed_by_its_owner(town: Town, crow: Caller) -> None:
    assert put(town, crow)["state"] == "declared"
    assert put(town, crow, form(floor_micro=5), if_match='"1"')["revision"] == 2
    listed: Any = town.database.read_sync(lambda reader: list_capabilities(reader, crow.id))
    assert [each["floor_micro"] for each in listed["data"]] == [5]
    town.act(crow, lambda entry: capabilities.remove_capability(entry, ID, '"2"'))
    listed = town.database.read_sync(lambda reader: list_capabilities(reader, crow.id))
    assert listed["data"] == []
    assert code_of(lambda: put(town, crow)) == "not_found"


@pytest.mark.parametrize("if_match", ['"1"', '"3"', "2", "nonsense", 'W/"2"'])
def test_an_edit_of_something_else_than_was_seen_is_refused(town: Town, crow: Caller, if_match: str) -> None:
    put(town, crow)
    put(town, crow, form(floor_micro=5))
    assert code_of(lambda: put(town, crow, form(floor_micro=6), if_match=if_match)) == "precondition_failed"
    assert put(town, crow, form(floor_micro=6), if_match='"7", "2"')["revision"] == 3
    assert put(town, crow, form(floor_micro=7), if_match="*")["revision"] == 4


def test_if_match_never_makes_a_new_one(town: Town, crow: Caller) -> None:
    assert code_of(lambda: put(town, crow, if_match="*")) == "precondition_failed"


def test_somebody_elses_capability_is_as_if_it_were_not(town: Town, crow: Caller, fox: Caller) -> None:
    put(town, crow)
    assert code_of(lambda: put(town, fox)) == "not_found"
    assert code_of(lambda: start(town, fox)) == "not_found"
    assert code_of(lambda: town.act(fox, lambda entry: capabilities.remove_capability(entry, ID, ""))) == "not_found"


@pytest.mark.parametrize("scope", [Scope.HEARTBEAT, Scope.OPERATOR, Scope.AUDITOR])
def test_a_heartbeat_key_changes_no_capability(town: Town, crow: Caller, scope: Scope) -> None:
    put(town, crow)
    other = town.with_scope(crow, scope)
    code = "heartbeat_scope_forbidden" if scope is Scope.HEARTBEAT else "scope_forbidden"
    assert code_of(lambda: put(town, other, form(floor_micro=1))) == code
    assert code_of(lambda: town.act(other, lambda entry: capabilities.remove_capability(entry, ID, ""))) == code


def test_a_registered_agent_may_declare_and_be_tested(town: Town, crow: Caller) -> None:
    fresh = town.with_scope(crow, Scope.REGISTERED)
    put(town, fresh)
    assert start(town, fresh)["state"] == "running"


@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("cap_1", {}),
        ("job_01J8XK3QZ0ABCDEFGHJKMNPQRS", {}),
        ("cap_91J8XK3QZ0ABCDEFGHJKMNPQRS", {}),
        (ID + "\n", {}),
        (ID, {"category": "No Slug"}),
        (ID, {"currency": "EUR"}),
        (ID, {"floor_micro": -1}),
        (ID, {"floor_micro": 9 * 10**15 + 1}),
    ],
)
def test_a_capability_of_no_known_form_is_refused(town: Town, crow: Caller, key: str, given: dict[str, Any]) -> None:
    assert code_of(lambda: put(town, crow, form(**given), key)) == "validation"


def test_an_agent_has_a_bounded_number_of_capabilities(town: Town, crow: Caller) -> None:
    for number in range(capabilities.CAPABILITIES_MAX):
        put(town, crow, key=f"cap_01J8XK3QZ0ABCDEFGHJKMNP{number:03d}")
    assert code_of(lambda: put(town, crow)) == "limit_reached"


def test_the_commitment_is_in_the_log_before_the_test_job(town: Town, crow: Caller) -> None:
    put(town, crow)
    begun = start(town, crow)
    facts = town.database.read_sync(lambda reader: list(reader.facts(subject=begun["id"])))
    assert [fact.kind for fact in facts] == ["trial.committed", "trial.opened"]
    assert facts[0].seq == begun["committed_seq"]
    assert facts[0].body["commitment"] == begun["commitment"]


def test_no_fact_and_no_row_of_the_books_holds_a_secret_before_the_end(town: Town, crow: Caller) -> None:
    put(town, crow)
    begun = start(town, crow)
    before = town.database.read_sync(lambda reader: [fact.body_json.decode() for fact in reader.facts()])
    before += [json.dumps(begun), str(_trial(town, begun["id"]))]
    revealed = answer(town, crow, begun["id"], None)["revealed"]
    for text in before:
        assert revealed["seed"] not in text
        assert revealed["salt"] not in text
    left = town.database.read_sync(lambda reader: reader.execute("SELECT count(*) FROM sealed_trials").fetchone())
    assert left == (0,)


def test_a_lost_secret_is_our_fault_and_grades_nothing(town: Town, crow: Caller) -> None:
    put(town, crow)
    begun = start(town, crow)

    def lose(entry: StoryContext) -> JsonObject:
        entry.transaction.execute("DELETE FROM sealed_trials")
        entry.transaction.record(Fact(kind="test.lost", subject="", at_ms=entry.now_ms, body={}))
        return {}

    town.act(None, lose)
    with pytest.raises(Broken):
        answer(town, crow, begun["id"], solve(begun["generator"], begun["question"]))
    assert _trial(town, begun["id"]).state == "running"


def _trial(town: Town, trial_id: str) -> Any:
    return town.database.read_sync(lambda reader: TRIALS.find(reader, trial_id))


def test_three_honest_answers_earn_the_badge_and_their_pay(town: Town, crow: Caller) -> None:
    put(town, crow)
    for number in range(1, 4):
        begun = start(town, crow)
        graded = answer(town, crow, begun["id"], solve(begun["generator"], begun["question"]))
        assert (graded["state"], graded["paid_micro"]) == ("passed", 10_000)
        assert graded["capability_state"] == ("declared" if number < 3 else "verified")
        assert graded["revealed"]["seed"]
    assert balance_micro(town, crow) == 30_000
    assert code_of(lambda: start(town, crow)) == "attempt_limit"


@pytest.mark.parametrize(("owner", "last_micro"), [("", 0), (None, 10_000)])
def test_an_agent_that_nobody_owns_is_paid_for_its_first_test_jobs_and_then_graded_alone(
    town: Town, owner: str | None, last_micro: int
) -> None:
    town.act(None, lambda entry: open_treasury(entry, town.market.terms))
    newcomer = town.somebody("dora", operator=owner, scope=Scope.REGISTERED)
    put(town, newcomer)
    paid = []
    for number in range(WELCOME + 1):
        if number % 3 == 0:
            town.clock.jump_ms(DAY_MS)
        begun = start(town, newcomer)
        graded = answer(town, newcomer, begun["id"], solve(begun["generator"], begun["question"]))
        paid.append((graded["state"], graded["paid_micro"]))
    assert paid == [("passed", 10_000)] * WELCOME + [("passed", last_micro)]
    assert town.database.read_sync(lambda reader: list(broken(reader))) == []


def test_a_badge_lapses_by_the_clock(town: Town, crow: Caller) -> None:
    test_three_honest_answers_earn_the_badge_and_their_pay(town, crow)
    town.clock.jump_ms(180 * DAY_MS - 1_000)
    due = town.act(None, lambda entry: capabilities.due(entry, town.market.terms, ID))
    assert due["state"] == "verified"
    town.clock.jump_ms(1_000)
    due = town.act(None, lambda entry: capabilities.due(entry, town.market.terms, ID))
    assert due["state"] == "lapsed"
    kept: Any = town.database.read_sync(lambda reader: CAPABILITIES.get(reader, ID))
    assert kept.wake_ms is None


def test_a_badge_lapses_by_failures_at_real_work(town: Town, crow: Caller) -> None:
    test_three_honest_answers_earn_the_badge_and_their_pay(town, crow)

    def look(category: str, bound: float) -> Any:
        def act(entry: StoryContext) -> JsonObject:
            capabilities.look_after_work(entry, crow.id, category, bound, 9)
            return {}

        town.act(None, act)
        return town.database.read_sync(lambda reader: CAPABILITIES.find(reader, ID)).state

    assert look("planning", 0.1) == "verified"
    assert look("code-generation", 0.5) == "verified"
    assert look("code-generation", 0.49) == "lapsed"


def test_the_operator_alone_revokes_a_badge(town: Town, crow: Caller) -> None:
    test_three_honest_answers_earn_the_badge_and_their_pay(town, crow)
    assert code_of(lambda: _revoke(town, crow)) == "scope_forbidden"
    assert _revoke(town, town.with_scope(crow, Scope.OPERATOR))["state"] == "revoked"
    assert code_of(lambda: start(town, crow)) == "limit_reached"
    town.act(crow, lambda entry: capabilities.remove_capability(entry, ID, ""))
    assert code_of(lambda: put(town, crow, key=OTHER_ID)) == "limit_reached"
    assert put(town, crow, form("planning"), OTHER_ID)["state"] == "declared"


def _revoke(town: Town, caller: Caller) -> Any:
    return town.act(caller, lambda entry: capabilities.revoke_capability(entry, ID, "cheated"))


def test_a_wrong_answer_is_not_paid_and_not_given_twice(town: Town, crow: Caller) -> None:
    put(town, crow)
    begun = start(town, crow)
    graded = answer(town, crow, begun["id"], "junk")
    assert (graded["state"], graded["paid_micro"]) == ("failed", 0)
    right = solve(begun["generator"], begun["question"])
    assert code_of(lambda: answer(town, crow, begun["id"], right)) == "claim_state"
    assert balance_micro(town, crow) == 0


def test_an_empty_treasury_pays_nothing_and_grades_all_the_same(town: Town, fox: Caller) -> None:
    put(town, fox)
    begun = start(town, fox)
    graded = answer(town, fox, begun["id"], solve(begun["generator"], begun["question"]))
    assert (graded["state"], graded["paid_micro"]) == ("passed", 0)


def test_one_test_job_runs_at_a_time_and_abandoned_is_failed_and_public(town: Town, crow: Caller, fox: Caller) -> None:
    put(town, crow)
    put(town, crow, form("planning"), OTHER_ID)
    begun = start(town, crow)
    assert code_of(lambda: start(town, crow, key=OTHER_ID)) == "limit_reached"
    assert code_of(lambda: show(town, fox, begun["id"])) == "not_found"
    town.clock.jump_ms(RUN_S * 1_000)
    due = town.act(None, lambda entry: trials.due(entry, town.market.terms, begun["id"]))
    assert due["state"] == "expired"
    assert show(town, fox, begun["id"])["revealed"]["seed"]
    assert start(town, crow, key=OTHER_ID)["state"] == "running"


def test_the_clock_leaves_a_test_job_alone_until_its_time(town: Town, crow: Caller) -> None:
    put(town, crow)
    begun = start(town, crow)
    before = town.database.last_seq
    trial = _trial(town, begun["id"])
    assert trial.wake_ms == trial.expires_at_ms
    town.clock.jump_ms(RUN_S * 1_000 - 1_000)
    assert town.act(None, lambda entry: trials.due(entry, town.market.terms, begun["id"]))["state"] == "running"
    assert town.database.last_seq == before


def test_nobody_answers_for_another(town: Town, crow: Caller, fox: Caller) -> None:
    put(town, crow)
    begun = start(town, crow)
    right = solve(begun["generator"], begun["question"])
    assert code_of(lambda: answer(town, fox, begun["id"], right)) == "not_found"


def test_an_offered_test_job_can_be_seen_and_claimed_by_its_id_once(town: Town, crow: Caller, fox: Caller) -> None:
    put(town, crow)
    offered = trial_id_of(town.database.read_sync(lambda reader: CAPABILITIES.find(reader, ID)))
    assert show(town, crow, offered)["state"] == "offered"
    assert code_of(lambda: show(town, fox, offered)) == "not_found"
    assert code_of(lambda: _claim(town, fox, offered)) == "not_found"
    heartbeat = town.with_scope(crow, Scope.HEARTBEAT)
    assert _claim(town, heartbeat, offered)["id"] == offered
    assert show(town, crow, offered)["state"] == "running"
    assert code_of(lambda: _claim(town, crow, offered)) == "job_already_claimed"


def _claim(town: Town, caller: Caller, job_id: str) -> Any:
    return town.act(caller, lambda entry: trials.claim_test_job(entry, town.market.terms, job_id))


def test_the_test_jobs_of_an_agent_are_listed_newest_first(town: Town, crow: Caller) -> None:
    put(town, crow)
    ids = []
    for _ in range(3):
        ids.append(start(town, crow)["id"])
        answer(town, crow, ids[-1], None)

    def page(after: str, limit: int) -> list[Any]:
        found = town.database.read_sync(lambda reader: list_trials(reader, crow.id, after, limit))
        return [each["id"] for each in found]

    whole = page("", 10)
    assert sorted(whole) == sorted(ids)
    assert page("", 2) + page(whole[1], 2) == whole
    town.clock.jump_ms(DAY_MS)
    ids.append(start(town, crow)["id"])
    assert page("", 1) == [ids[-1]]


def test_waiting_out_the_limit_gives_three_more_attempts(town: Town, crow: Caller) -> None:
    put(town, crow)
    for _ in range(3):
        answer(town, crow, start(town, crow)["id"], None)
    assert isinstance(town.clock, VirtualClock)
    town.clock.jump_ms(DAY_MS - 1_000)
    assert code_of(lambda: start(town, crow)) == "attempt_limit"
    town.clock.jump_ms(1_000)
    assert start(town, crow)["state"] == "running"
