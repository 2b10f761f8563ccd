"""Can a request be refused with a code that is not in the closed list of problems?"""

from earnest.surfaces.web.problems import CODES

from .source import argument, calls, expect_none, modules, shown, words

ROOMS = (
    "identity",
    "ledger",
    "market",
    "runtime/market",
    "surfaces/web",
    "effects/outside/artifacts",
    "effects/outside/rails",
)
OUR_OWN_MISTAKES = {
    "transfer_exists": "a transfer's id is made of what it is for, so it cannot come twice with other content",
}
"""Answered as `internal_error`."""


def test_whatever_the_market_refuses_is_in_the_list_of_problems() -> None:
    unlisted = set()
    for path in (path for room in ROOMS for path in modules(f"src/earnest/{room}")):
        for call, function in calls(path, "Refused"):
            for code in words(path, argument(call, "code", 0), function) or {"unreadable"}:
                if code not in CODES and code not in OUR_OWN_MISTAKES:
                    unlisted.add(f"{shown(path)}:{call.lineno} {code}")
    expect_none(unlisted, "refused with a code that is no problem")
