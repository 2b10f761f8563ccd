"""Does a busy machine make a cheat verified, or honest work turned away? What only waited may be unclear."""

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from earnest.verification.verdict import Answer

from .as_user import representative
from .case import honest
from .judging import judge_all

BUSY = 20
HONEST_SHARE = 6

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def busy() -> Iterator[None]:
    """So many processes that do nothing but use a processor."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


@pytest.mark.usefixtures("busy")
def test_on_a_busy_machine_nothing_hostile_is_verified_and_nothing_honest_turned_away() -> None:
    sound = honest()[::HONEST_SHARE]
    hostile = [case for case in representative()[::2] if Answer.VERIFIED not in case.may_be]
    outcomes = asyncio.run(judge_all([*sound, *hostile]))
    answers = {name: outcome.answer for name, outcome in outcomes.items()}
    assert [case.name for case in hostile if answers[case.name] not in case.may_be] == []
    turned_away = [name for name in (case.name for case in sound) if answers[name] is Answer.NOT_VERIFIED]
    assert turned_away == [], [outcomes[name].reason for name in turned_away]
    print(Counter(f"honest {answers[case.name]}" for case in sound), Counter(answers[case.name] for case in hostile))
