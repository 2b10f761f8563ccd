"""The market's numbers as the operator set them, within bounds that its rules can bear."""

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, Final

from earnest.app.tables import Fault, hint, read_table
from earnest.market.terms import BPS, MICRO, OWN, SMALL_MICRO_MAX, CurrencyTerms, Terms

TABLE: Final = "market"
CURRENCIES: Final = "currencies"
NOTHING: Final[Mapping[str, str]] = {}
_PENALTY: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?", re.ASCII)


def read_terms(table: object, fault: Fault, environment: Mapping[str, str] = NOTHING) -> Terms:
    """The table `[market]`; what it leaves out is as the rulings have it. What is wrong in it goes to `fault`.

    `PROPOSER_REJECT_PENALTY` and `TASK_FAIL_PENALTY` of the environment come first, as in the seed: an amount of ai$
    such as `2.5`, a share of the reward such as `10%`, or `0` for no penalty.
    """
    terms = read_table(table, Terms(), TABLE, fault, beside=(CURRENCIES,))
    penalties = _penalty("TASK_FAIL_PENALTY", "fail_penalty", environment, fault)
    penalties |= _penalty("PROPOSER_REJECT_PENALTY", "proposer_penalty", environment, fault)
    return replace(
        terms,
        currencies=_currencies(table.get(CURRENCIES, {}) if isinstance(table, dict) else {}, terms.currencies, fault),
        **penalties,
    )


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
            at_place(f"[{place}] there is no such currency; {hint(code, defaults)}")
        else:
            found[code] = read_table(given, defaults[code], place, at_place)
            if code == OWN and found[code].can_pay_out:
                at_place(f"[{place}] can_pay_out must be false: ai$ neither come from outside nor leave")
    return found


def _fault_at(fault: Fault, place: str, words: str, _key: str = "") -> None:
    """A fault of one currency stands at its table: its keys are those of other currencies too."""
    fault(words, place)
