"""Looks are recorded together, silence is told once, and no mail is lost."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from earnest.effects.ground.clock import SystemClock
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Refused, Unavailable
from earnest.identity.key import Caller
from earnest.identity.presence import Presence
from earnest.identity.service import ACCOUNTS, PRESENCE_SEEN, PRESENCES
from earnest.market.disputes.dispute import Dispute, DisputeState
from earnest.market.service import DISPUTES
from earnest.runtime.desk import StoryContext
from earnest.runtime.market.letters import TRIES_MAX, Letters
from earnest.runtime.market.presence import Presences, disputes_changed, due
from earnest.runtime.recompute import recompute

from .conftest import Town

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
OWNER = "owner@example.org"


class Mailbox:
    """A mailer that keeps what it is given, or fails."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []
        self.failure: Exception | None = None

    async def send(self, to: str, subject: str, text: str) -> None:
        if self.failure is not None:
            raise self.failure
        self.sent.append((to, subject, text))


@pytest.fixture
def worker(town: Town) -> Caller:
    who = town.somebody("worker")

    def own(entry: StoryContext) -> JsonObject:
        ACCOUNTS.change(entry.transaction, entry.now_ms, who.account, replace(who.account, mail=OWNER))
        return {}

    town.act(None, own)
    return who


@pytest.fixture
def presences(town: Town) -> Presences:
    return Presences(town.market.desk)


def row(town: Town, who: Caller) -> Presence:
    return town.database.read_sync(lambda reader: PRESENCES.find(reader, who.id))


def timers(town: Town) -> int:
    """What the clock does for presences; how many were due."""
    now_ms = town.market.desk.now_ms()
    keys = town.database.read_sync(
        lambda reader: [each.account_id for each in PRESENCES.where(reader, "wake_ms <= ?", (now_ms,))]
    )
    for key in keys:
        town.act(None, partial(due, terms=town.market.terms, key=key))
    return len(keys)


def case(who: Caller, name: str, now_ms: int) -> Dispute:
    return Dispute(
        id=name,
        claim_id=f"clm_{name}",
        revision=1,
        raiser="act_other",
        respondent=who.id,
        state=DisputeState.OPEN,
        currency="USD",
        amount_micro=9,
        stake_micro=1,
        reason="",
        criteria="[]",
        opened_at_ms=now_ms,
        stake_by_ms=now_ms,
        hard_limit_ms=now_ms + 21 * DAY_MS,
        respond_by_ms=now_ms + 5 * DAY_MS,
        awaiting="respondent",
        respondent_unread=1,
        last_message_at_ms=now_ms,
    )


def changed(who: Caller, does: Callable[[StoryContext], int]) -> Callable[[StoryContext], JsonObject]:
    def act(entry: StoryContext) -> JsonObject:
        does(entry)
        disputes_changed(entry, who.id)
        return {}

    return act


async def test_many_looks_are_one_fact_and_the_last_of_each_account_counts(town: Town, presences: Presences) -> None:
    people = [town.somebody(f"agent{number}") for number in range(5)]
    before = town.database.last_seq
    for _ in range(3):
        for who in people:
            presences.looked(who.id, town.market.desk.now_ms(), 1_800)
        town.clock.jump_ms(1_000)
    assert await presences.flush() == 5
    assert await presences.flush() == 0
    assert town.database.last_seq == before + 1
    (fact,) = town.database.read_sync(lambda reader: list(reader.facts(kind=PRESENCE_SEEN)))
    assert len(fact.body["seen"]) == 5  # type: ignore[arg-type]
    assert row(town, people[0]).seen_at_ms == town.market.desk.now_ms() - 1_000


async def test_the_last_look_is_known_before_it_is_recorded_and_after_a_restart(
    town: Town, worker: Caller, presences: Presences
) -> None:
    assert await presences.seen_at_ms(worker.id) is None
    now_ms = town.market.desk.now_ms()
    presences.looked(worker.id, now_ms, 1_800)
    assert await presences.seen_at_ms(worker.id) == now_ms
    assert await Presences(town.market.desk).seen_at_ms(worker.id) is None
    await presences.flush()
    assert await Presences(town.market.desk).seen_at_ms(worker.id) == now_ms


async def test_the_last_action_is_kept_beside_the_last_look(town: Town, worker: Caller, presences: Presences) -> None:
    now_ms = town.market.desk.now_ms()
    presences.looked(worker.id, now_ms, 1_800)
    await presences.flush()
    presences.acted(worker.id, "submitted evidence on clm_1", now_ms + 1_000)
    await presences.flush()
    found = row(town, worker)
    assert (found.last_action, found.last_action_at_ms) == ("submitted evidence on clm_1", now_ms + 1_000)
    assert found.seen_at_ms == now_ms


async def test_looks_that_cannot_be_recorded_are_kept_for_the_next_time(
    town: Town, worker: Caller, presences: Presences, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> JsonObject:
        raise Unavailable("too many writes wait for the database")

    presences.looked(worker.id, town.market.desk.now_ms(), 1_800)
    with monkeypatch.context() as patch:
        patch.setattr(town.market.desk, "tick", full)
        with pytest.raises(Unavailable):
            await presences.flush()
    assert await presences.flush() == 1


@pytest.mark.parametrize(("expected_s", "silent_s"), [(1_800, 86_401), (86_400, 129_601)])
async def test_silence_is_told_once_an_episode(
    town: Town, worker: Caller, presences: Presences, expected_s: int, silent_s: int
) -> None:
    mailbox = Mailbox()
    letters = Letters(town.market.desk, mailbox)
    for episode in (1, 2):
        presences.looked(worker.id, town.market.desk.now_ms(), expected_s)
        await presences.flush()
        town.clock.jump_ms((silent_s - 1) * 1_000)
        assert timers(town) == 0
        town.clock.jump_ms(1_000)
        assert timers(town) == 1
        for _ in range(3):
            await letters.send_due()
            town.clock.jump_ms(3 * DAY_MS)
            assert timers(town) == 0
        assert len(mailbox.sent) == episode
    to, subject, text = mailbox.sent[0]
    assert (to, subject) == (OWNER, "@worker is silent since 2026-05-28T20:26:40Z")
    assert worker.id in text


async def test_disputes_that_pile_up_are_told_once_until_they_do_not(
    town: Town, worker: Caller, presences: Presences
) -> None:
    mailbox = Mailbox()
    letters = Letters(town.market.desk, mailbox)
    now_ms = town.market.desk.now_ms()
    first = case(worker, "dsp_1", now_ms)
    presences.looked(worker.id, now_ms, 1_800)
    await presences.flush()
    town.act(None, changed(worker, lambda entry: DISPUTES.open(entry.transaction, entry.now_ms, first)))

    async def five_days(*, answered: bool) -> int:
        for _ in range(5 * 24 + 1):
            presences.looked(worker.id, town.market.desk.now_ms(), 1_800)
            await presences.flush()
            town.clock.jump_ms(HOUR_MS)
            timers(town)
        await letters.send_due()
        return len(mailbox.sent)

    assert await five_days(answered=False) == 1
    assert mailbox.sent[0][1] == "@worker leaves disputes unanswered"
    assert await five_days(answered=False) == 1
    answered = replace(first, awaiting="raiser", respondent_unread=0)
    town.act(None, changed(worker, lambda entry: DISPUTES.change(entry.transaction, entry.now_ms, first, answered)))
    assert row(town, worker).disputes_told_at_ms is None
    again = case(worker, "dsp_2", town.market.desk.now_ms())
    town.act(None, changed(worker, lambda entry: DISPUTES.open(entry.transaction, entry.now_ms, again)))
    assert await five_days(answered=True) == 2


async def test_a_case_against_a_silent_agent_is_found_by_the_clock(town: Town, worker: Caller) -> None:
    first = case(worker, "dsp_1", town.market.desk.now_ms())
    town.act(None, changed(worker, lambda entry: DISPUTES.open(entry.transaction, entry.now_ms, first)))
    town.clock.jump_ms(6 * DAY_MS)
    assert timers(town) == 1
    assert row(town, worker).disputes_told_at_ms == town.market.desk.now_ms()


async def silent(town: Town, who: Caller) -> None:
    presences = Presences(town.market.desk)
    presences.looked(who.id, town.market.desk.now_ms(), 1_800)
    await presences.flush()
    town.clock.jump_ms(2 * DAY_MS)
    timers(town)


async def test_a_mail_waits_in_the_books_until_it_is_sent(town: Town, worker: Caller) -> None:
    await silent(town, worker)
    mailbox = Mailbox()
    mailbox.failure = Unavailable("the mail server is away")
    assert await Letters(town.market.desk, mailbox).send_due() == 0
    mailbox.failure = None
    later = Letters(town.market.desk, mailbox)  # another process, after a crash
    assert await later.send_due() == 0
    town.clock.jump_ms(60_000)
    assert await later.send_due() == 1
    assert await later.send_due() == 0
    assert row(town, worker).outbox == "[]"


async def test_a_mail_that_never_leaves_is_given_up_and_one_that_is_refused_at_once(town: Town, worker: Caller) -> None:
    await silent(town, worker)
    mailbox = Mailbox()
    mailbox.failure = Unavailable("the mail server is away")
    letters, tried = Letters(town.market.desk, mailbox), 0
    while row(town, worker).outbox != "[]":
        await letters.send_due()
        town.clock.jump_ms(6 * HOUR_MS)
        tried += 1
    assert tried == TRIES_MAX
    await silent(town, worker)
    mailbox.failure = Refused("mail_refused", "no such address")
    await letters.send_due()
    assert row(town, worker).outbox == "[]"


async def test_an_owner_without_an_address_gets_no_mail(town: Town) -> None:
    nobody = town.somebody("nobody")
    await silent(town, nobody)
    mailbox = Mailbox()
    assert await Letters(town.market.desk, mailbox).send_due() == 0
    assert row(town, nobody).outbox == "[]"
    assert row(town, nobody).silence_told_at_ms is not None


async def test_presences_follow_from_the_facts(town: Town, worker: Caller) -> None:
    await silent(town, worker)
    await Letters(town.market.desk, Mailbox()).send_due()
    assert town.database.read_sync(lambda reader: recompute(reader, SystemClock())).differences == ()
