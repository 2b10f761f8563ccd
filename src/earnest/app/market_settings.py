"""The market's numbers as the operator set them, within bounds that its rules can bear."""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from functools import partial
from typing import Any, Final, TypeVar

from earnest.ledger.rules import AMOUNT_MICRO_MAX
from earnest.market.jobs.job import REVISIONS_MAX
from earnest.market.terms import DAY_S, HOUR_S, MICRO, CurrencyTerms, Terms

TABLE: Final = "market"
CURRENCIES: Final = "currencies"
BPS: Final = 10_000
SMALL_MICRO_MAX: Final = 1_000_000 * MICRO
"""What is given, fined or laid down at once."""

LIMITS: Final[Mapping[str, tuple[int, int]]] = {
    "treasury_aid_micro": (0, AMOUNT_MICRO_MAX),
    "genesis_aid_micro": (0, SMALL_MICRO_MAX),
    "approved_aid_micro": (0, SMALL_MICRO_MAX),
    "fail_penalty_aid_micro": (0, SMALL_MICRO_MAX),
    "fail_penalty_bps": (0, BPS),
    "proposer_penalty_aid_micro": (0, SMALL_MICRO_MAX),
    "proposer_penalty_bps": (0, BPS),
    "proposer_penalty_max_aid_micro": (0, SMALL_MICRO_MAX),
    "trial_aid_micro": (0, SMALL_MICRO_MAX),
    "grace_s": (0, 7 * DAY_S),
    "auto_release_s": (DAY_S, 14 * DAY_S),
    "auto_release_min_s": (DAY_S, 14 * DAY_S),
    "auto_release_max_s": (DAY_S, 14 * DAY_S),
    "revise_s": (60, 14 * DAY_S),
    "revisions_max": (0, REVISIONS_MAX),
    "submissions_max": (1, 100),
    "extension_share": (1, 1_000),
    "appeal_s": (HOUR_S, 30 * DAY_S),
    "unjudged_s": (DAY_S, 90 * DAY_S),
    "review_on_time_s": (HOUR_S, 90 * DAY_S),
    "review_closes_s": (HOUR_S, 90 * DAY_S),
    "dispute_stake_s": (60, DAY_S),
    "dispute_respond_s": (HOUR_S, 90 * DAY_S),
    "dispute_limit_s": (DAY_S, 365 * DAY_S),
    "dispute_appeal_s": (HOUR_S, 90 * DAY_S),
    "resume_min_s": (HOUR_S, 7 * DAY_S),
    "declines_per_week": (0, 1_000),
    "declines_share_percent": (0, 100),
    "redos_max": (0, 100),
    "capacity_aid": (1, 1_000),
    "open_jobs_aid": (1, 1_000),
    "capacity_default": (1, 1_000),
    "capacity_max": (1, 1_000),
    "job_open_s": (HOUR_S, 365 * DAY_S),
    "job_work_max_s": (DAY_S, 90 * DAY_S),
    "trial_attempts_per_day": (1, 1_000),
    "capability_lapses_s": (DAY_S, 3_650 * DAY_S),
    "claim_link_s": (DAY_S, 365 * DAY_S),
    "key_overlap_s": (0, 30 * DAY_S),
    "hold_age_max_s": (DAY_S, 730 * DAY_S),
    "world_pace": (1, 1_440),
}
"""Those of times that a job can set for itself are no wider than what the API takes."""
CURRENCY_LIMITS: Final[Mapping[str, tuple[int, int]]] = {
    "fee_bps": (0, BPS // 2),
    "dispute_floor_micro": (0, AMOUNT_MICRO_MAX),
    "stake_bps": (0, BPS),
    "stake_min_micro": (0, SMALL_MICRO_MAX),
    "stake_max_micro": (0, SMALL_MICRO_MAX),
    "clearing_s": (0, 90 * DAY_S),
    "payout_min_micro": (0, SMALL_MICRO_MAX),
    "can_pay_out": (False, True),
}
ORDERED: Final = (
    ("auto_release_min_s", "auto_release_s"),
    ("auto_release_s", "auto_release_max_s"),
    ("grace_s", "job_work_max_s"),
    ("revise_s", "job_work_max_s"),
    ("review_on_time_s", "review_closes_s"),
    ("dispute_respond_s", "dispute_limit_s"),
    ("dispute_appeal_s", "dispute_limit_s"),
    ("capacity_aid", "capacity_max"),
    ("capacity_default", "capacity_max"),
    ("job_open_s", "hold_age_max_s"),
    ("genesis_aid_micro", "treasury_aid_micro"),
)
"""The first of each is at most the second."""
CURRENCY_ORDERED: Final = (("stake_min_micro", "stake_max_micro"),)

NOTHING: Final[Mapping[str, str]] = {}
_PENALTY: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?", re.ASCII)

Fault = Callable[[str, str], None]
"""Notes a fault, and the key at whose line it stands."""
_Numbers = TypeVar("_Numbers", Terms, CurrencyTerms)


def read_terms(table: object, fault: Fault, environment: Mapping[str, str] = NOTHING) -> Terms:
    """The table `[market]`; what it leaves out is as the rulings have it. What is wrong in it goes to `fault`.

    `PROPOSER_REJECT_PENALTY` and `TASK_FAIL_PENALTY` of the environment come first, as in the seed: an amount of ai$
    such as `2.5`, a share of the reward such as `10%`, or `0` for no penalty.
    """
    if not isinstance(table, dict):
        fault("market must be a table, [market]", TABLE)
        return Terms()
    own = {name: value for name, value in table.items() if name != CURRENCIES}
    terms = _read(own, Terms(), LIMITS, ORDERED, lambda words, key: fault(f"[{TABLE}] {words}", key))
    penalties = _penalty("TASK_FAIL_PENALTY", "fail_penalty", environment, fault)
    penalties |= _penalty("PROPOSER_REJECT_PENALTY", "proposer_penalty", environment, fault)
    return replace(terms, currencies=_currencies(table.get(CURRENCIES, {}), terms.currencies, fault), **penalties)


def _penalty(variable: str, prefix: str, environment: Mapping[str, str], fault: Fault) -> dict[str, Any]:
    """What a variable sets: the amount or the share, and the other to nothing. Unset or empty, it sets neither."""
    text = environment.get(variable, "").strip()
    if not text:
        return {}
    is_share, number = text.endswith("%"), text.removesuffix("%").strip()
    whole = _PENALTY.fullmatch(number)
    value = Decimal(number) * (BPS // 100 if is_share else MICRO) if whole else Decimal(-1)
    most = BPS if is_share else SMALL_MICRO_MAX
    if not 0 <= value <= most or value != int(value):
        fault(
            f"{variable} is {text[:40]!r}: it must be an amount of ai$ such as 2.5, a share such as 10%, or 0", variable
        )
        return {}
    amount, share = (0, int(value)) if is_share else (int(value), 0)
    return {f"{prefix}_aid_micro": amount, f"{prefix}_bps": share}


def _currencies(table: object, defaults: Mapping[str, CurrencyTerms], fault: Fault) -> Mapping[str, CurrencyTerms]:
    if not isinstance(table, dict):
        fault(f"[{TABLE}] {CURRENCIES} must be tables, [{TABLE}.{CURRENCIES}.CODE]", CURRENCIES)
        return defaults
    found = dict(defaults)
    for code, given in table.items():
        place = f"{TABLE}.{CURRENCIES}.{code}"
        at_place = partial(_fault_at, fault, place)
        if code not in defaults:
            at_place(f"there is no such currency; {_hint(code, defaults)}")
        elif not isinstance(given, dict):
            at_place("must be a table")
        else:
            found[code] = _read(given, defaults[code], CURRENCY_LIMITS, CURRENCY_ORDERED, at_place)
            if code == "AID" and found[code].can_pay_out:
                at_place("can_pay_out must be false: ai$ neither come from outside nor leave")
    return found


def _fault_at(fault: Fault, place: str, words: str, _key: str = "") -> None:
    """A fault of one currency stands at its table: its keys are those of other currencies too."""
    fault(f"[{place}] {words}", place)


def _read(
    given: Mapping[str, Any],
    defaults: _Numbers,
    limits: Mapping[str, tuple[int, int]],
    ordered: Iterable[tuple[str, str]],
    fault: Fault,
) -> _Numbers:
    """What of a table is right, over the defaults. What must be in order is looked at where all else is right."""
    good: dict[str, Any] = {}
    for name, value in given.items():
        if name not in limits:
            fault(f"there is no {name!r}; {_hint(name, [one.name for one in fields(defaults)])}", name)
        elif wrong := _wrong(value, *limits[name]):
            fault(f"{name} is {value!r}: it must be {wrong}", name)
        else:
            good[name] = value
    found = replace(defaults, **good)
    for less, more in ordered if good.keys() == given.keys() else ():
        is_, bound = getattr(found, less), getattr(found, more)
        if is_ > bound:
            fault(f"{less} is {is_}: it must be at most {more}, {bound}", less if less in given else more)
    return found


def _wrong(value: object, low: int, high: int) -> str:
    """What the value must be instead; a bound that is a truth value wants one."""
    if type(value) is type(low) and low <= value <= high:
        return ""
    return "true or false" if isinstance(low, bool) else f"a whole number from {low} to {high}"


def _hint(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known := tuple(known), n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
