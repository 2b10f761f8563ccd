"""Can every number of the market be set, within bounds, and is what contradicts itself named?"""

from dataclasses import fields
from pathlib import Path

import pytest

from earnest.app.server import open_server
from earnest.app.settings import read_settings, read_terms
from earnest.foundation.errors import Faulty
from earnest.market.terms import CURRENCIES, CURRENCY_ORDERED, ORDERED, CurrencyTerms, Terms

from .bounds import bounds_of

LIMITS, CURRENCY_LIMITS = bounds_of(Terms), bounds_of(CurrencyTerms)
PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def read(table: object) -> tuple[Terms, list[tuple[str, str]]]:
    faults: list[tuple[str, str]] = []
    terms = read_terms(table, lambda message, key: faults.append((key, message)))
    return terms, faults


def test_every_number_of_the_terms_is_a_setting() -> None:
    assert {one.name for one in fields(Terms)} == {*LIMITS, "currencies", "practice"}
    assert {one.name for one in fields(CurrencyTerms)} == {*CURRENCY_LIMITS, "can_pay_out"}
    assert set(Terms().currencies) == set(CURRENCIES)


def test_the_defaults_are_within_their_bounds_and_in_order() -> None:
    terms = Terms()
    for part, limits, ordered in [
        (terms, LIMITS, ORDERED),
        *((one, CURRENCY_LIMITS, CURRENCY_ORDERED) for one in terms.currencies.values()),
    ]:
        assert all(low <= getattr(part, name) <= high for name, (low, high) in limits.items())
        assert all(getattr(part, less) <= getattr(part, more) for less, more in ordered)
    assert read({}) == (terms, [])


def test_page_and_reference_say_the_same_bounds_and_defaults() -> None:
    terms, text = Terms(), PAGE.read_text(encoding="utf-8")
    reference = (PAGE.parents[1] / "deploy" / "settings.reference.toml").read_text(encoding="utf-8")
    for name, (low, high) in LIMITS.items():
        assert f"; {low} to {high}\n#{name} = {getattr(terms, name)}\n" in reference
    for name, (low, high) in CURRENCY_LIMITS.items():
        defaults = " | ".join(str(getattr(terms.currencies[code], name)) for code in CURRENCIES)
        assert f"| {low} to {high} | {defaults} |" in _row(text, name)


def _row(text: str, name: str) -> str:
    (row,) = (line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
    return row


@pytest.mark.parametrize("name", LIMITS)
def test_a_number_is_taken_up_to_its_bounds_and_not_beyond(name: str) -> None:
    low, high = LIMITS[name]
    for good in (low, high):
        terms, faults = read({name: good})
        assert getattr(terms, name) == good
        assert all("must be at most" in message for _, message in faults)
    for bad in (low - 1, high + 1, True, float(high), str(high), None):
        terms, ((key, message),) = read({name: bad})
        assert (key, terms) == (name, Terms())
        assert message == f"[market] {name} is {bad!r}: it must be a whole number from {low} to {high}"


@pytest.mark.parametrize("name", CURRENCY_LIMITS)
def test_a_number_of_a_currency_is_taken_up_to_its_bounds_and_not_beyond(name: str) -> None:
    low, high = CURRENCY_LIMITS[name]
    for good in (low, high):
        terms, _ = read({"currencies": {"USD": {name: good}}})
        assert getattr(terms.currencies["USD"], name) == good
        assert terms.currencies["AID"] == Terms().currencies["AID"]
    for bad in (low - 1, high + 1, "1"):
        terms, ((key, message),) = read({"currencies": {"USD": {name: bad}}})
        assert (key, terms) == ("market.currencies.USD", Terms())
        assert message.startswith(f"[market.currencies.USD] {name} is {bad!r}: it must be ")


@pytest.mark.parametrize(("less", "more"), ORDERED)
def test_a_minimum_is_at_most_its_maximum(less: str, more: str) -> None:
    bound = max(LIMITS[less][0], LIMITS[more][0])
    told = (less, f"[market] {less} is {bound + 1}: it must be at most {more}, {bound}")
    assert told in read({less: bound + 1, more: bound})[1]
    beside = f"[market] {less} is {bound}: it must be at most {more}"
    assert not any(message.startswith(beside) for _, message in read({less: bound, more: bound})[1])


def test_a_bound_below_a_default_is_the_fault_of_the_bound() -> None:
    _, faults = read({"capacity_max": 1, "review_closes_s": 3_600})
    assert [key for key, _ in faults] == ["review_closes_s"]


def test_what_is_wrong_alone_is_not_named_as_a_contradiction_too() -> None:
    assert [key for key, _ in read({"dispute_limit_s": 0, "dispute_respond_s": 90 * 86_400})[1]] == ["dispute_limit_s"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], "market must be a table"),
        ({"grase_s": 1}, "[market] there is no 'grase_s'; did you mean 'grace_s'?"),
        ({"currency": {}}, "[market] there is no 'currency'; did you mean 'currencies'?"),
        ({"zzz": 1}, "[market] there is no 'zzz'; known: currencies, "),
        ({"currencies": 1}, "[market] currencies must be tables"),
        ({"currencies": {"EUR": {}}}, "[market.currencies.EUR] there is no such currency; known: USD, AID"),
        ({"currencies": {"USD": 1}}, "market.currencies.USD must be a table"),
        (
            {"currencies": {"USD": {"fee": 1}}},
            "[market.currencies.USD] there is no 'fee'; did you mean 'fee_bps'?",
        ),
        ({"currencies": {"USD": {"can_pay_out": 1}}}, "[market.currencies.USD] can_pay_out is 1: it must be true or"),
        ({"currencies": {"AID": {"can_pay_out": True}}}, "[market.currencies.AID] can_pay_out must be false"),
        (
            {"currencies": {"AID": {"stake_min_micro": 1}}},
            "[market.currencies.AID] stake_min_micro is 1: it must be at most stake_max_micro, 0",
        ),
    ],
)
def test_what_is_wrong_is_named(table: object, message: str) -> None:
    _, ((_, told),) = read(table)
    assert told.startswith(message)


def test_a_fault_stands_at_its_line(tmp_path: Path) -> None:
    text = "[market]\ngrace_s = -1\n[market.currencies.USD]\nfee_bps = 1\n[market.currencies.AID]\nfee_bps = -1\n"
    (tmp_path / "settings.toml").write_text(text)
    with pytest.raises(Faulty) as faulty:
        read_settings({"EARNEST_HOME": str(tmp_path)})
    assert [one.line for one in faulty.value.diagnostics] == [2, 5]


async def test_the_platform_goes_by_what_is_set(tmp_path: Path) -> None:
    text = "[market]\nrevisions_max = 7\n[market.currencies.USD]\nfee_bps = 300\nclearing_s = 0\n"
    (tmp_path / "settings.toml").write_text(text)
    settings = read_settings({"EARNEST_HOME": str(tmp_path)})
    async with open_server(settings) as server:
        terms = server.market.terms
    assert (terms.revisions_max, terms.currencies["USD"].fee_bps, terms.currencies["USD"].clearing_s) == (7, 300, 0)
    assert terms.redos_max == Terms().redos_max


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("TASK_FAIL_PENALTY", "2.5", {"fail_penalty_aid_micro": 2_500_000, "fail_penalty_bps": 0}),
        ("TASK_FAIL_PENALTY", "0", {"fail_penalty_aid_micro": 0, "fail_penalty_bps": 0}),
        ("TASK_FAIL_PENALTY", "25%", {"fail_penalty_aid_micro": 0, "fail_penalty_bps": 2_500}),
        ("PROPOSER_REJECT_PENALTY", "3", {"proposer_penalty_aid_micro": 3_000_000, "proposer_penalty_bps": 0}),
        ("PROPOSER_REJECT_PENALTY", "0", {"proposer_penalty_aid_micro": 0, "proposer_penalty_bps": 0}),
        ("PROPOSER_REJECT_PENALTY", "12.5%", {"proposer_penalty_aid_micro": 0, "proposer_penalty_bps": 1_250}),
        ("PROPOSER_REJECT_PENALTY", "", {"proposer_penalty_aid_micro": 0, "proposer_penalty_bps": 1_000}),
    ],
)
def test_penalties_are_read_from_the_environment_as_in_the_seed(
    variable: str, text: str, expected: dict[str, int]
) -> None:
    faults: list[tuple[str, str]] = []
    table = {"fail_penalty_aid_micro": 7_000_000} if variable.startswith("TASK") else {}
    terms = read_terms(table, lambda words, key: faults.append((key, words)), {variable: text})
    assert {name: getattr(terms, name) for name in expected} == expected
    assert faults == []


@pytest.mark.parametrize("text", ["-1", "much", "101%", "1e3", "0.0000001", "1_0", "nan", "9999999999"])
def test_a_penalty_that_is_none_is_named(text: str) -> None:
    faults: list[tuple[str, str]] = []
    terms = read_terms({}, lambda words, key: faults.append((key, words)), {"TASK_FAIL_PENALTY": text})
    assert terms == Terms()
    assert [key for key, _ in faults] == ["TASK_FAIL_PENALTY"]
