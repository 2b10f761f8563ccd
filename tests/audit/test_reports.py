"""Do the auditor's periodic reports reach the operator, and does reading go on beside them?"""

import asyncio
import contextlib
import json
from pathlib import Path

import pytest

from earnest.audit import snapshot
from earnest.audit.event import LogPosition
from earnest.audit.report import AuditReport, AuditSettings, Trigger, report_of
from earnest.audit.snapshot import keep_report
from earnest.audit.statistics import AuditFinding, FindingCode, Statistics
from earnest.effects.ground.clock import SeededChance, VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.foundation.canonical import JsonObject
from earnest.identity.account import Account, AccountKind, AccountStatus
from earnest.identity.service import ACCOUNTS, PRESENCES
from earnest.runtime.desk import Desk, StoryContext
from earnest.runtime.market.letters import AuditLetters, Letters


def a_report(*, broken: str = "") -> AuditReport:
    statistics = Statistics(broken=broken)
    return report_of(statistics, LogPosition(), trigger=Trigger.PERIODIC, now_ms=5, settings=AuditSettings())


def test_each_report_is_a_line_of_a_file_that_only_its_user_reads(tmp_path: Path) -> None:
    for broken in ("", "line 3"):
        keep_report(tmp_path / "audit.jsonl", a_report(broken=broken))
    path = tmp_path / "reports.jsonl"
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert [len(one["anomalies"]) for one in found] == [0, 1]
    assert (found[0]["tasks_observed"], found[0]["window_start"]) == (0, "1970-01-01T00:00:00.000Z")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_long_file_of_reports_is_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "REPORTS_BYTES_MAX", 10)
    keep_report(tmp_path / "audit.jsonl", a_report())
    assert not (tmp_path / "reports.jsonl").exists()
    assert len((tmp_path / "reports.jsonl.1").read_text().splitlines()) == 1


def test_only_findings_are_told_without_being_asked_for() -> None:
    assert not a_report().has_findings
    assert a_report(broken="line 3").has_findings
    assert AuditFinding(code=FindingCode.LOG_BROKEN, run_id="", detail="line 3") in a_report(broken="line 3").anomalies


class Post:
    """A mailer that keeps what it is given."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []

    async def send(self, to: str, subject: str, text: str) -> None:
        self.sent.append((to, subject, text))


async def test_findings_reach_the_operator_by_mail_once_for_all_that_wait(tmp_path: Path) -> None:
    clock, post = VirtualClock(1_780_000_000_000), Post()
    with contextlib.closing(Database.open(tmp_path / "books.sqlite", clock)) as database:
        desk = Desk(database, clock, SeededChance(1))

        def settle(entry: StoryContext) -> JsonObject:
            account = Account(
                id="act_1",
                handle="olga",
                kind=AccountKind.OPERATOR,
                status=AccountStatus.IDENTITY_VERIFIED,
                created_at_ms=1,
                mail="olga@example.org",
            )
            ACCOUNTS.open(entry.transaction, entry.now_ms, account)
            return {}

        await desk.tick(settle)
        letters = AuditLetters(desk)
        for line in ("first", "second"):
            letters.post([line])
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(letters.run(), 0.2)
        assert await Letters(desk, post).send_due() == 1
        assert [(to, text) for to, _, text in post.sent] == [("olga@example.org", "first\n")]
        assert database.read_sync(lambda reader: PRESENCES.find(reader, "act_1")).outbox == "[]"
