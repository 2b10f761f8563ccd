"""A data directory in which things were run, before its platform: what waits is decided in the browser, as it is by
commands; the journal is verified; a stream outlives its server.
"""

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import expect

from earnest.app import places
from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.engine.facts import MESSAGE, STARTED, UNKNOWN
from earnest.foundation.canonical import JsonObject
from earnest.foundation.facts import Fact
from earnest.testing.served import PROGRAM, ServedPlatform, served

from ..test_edit_commands import PLAYBOOK
from ..test_review_command import SPEC
from .conftest import Opened
from .test_in_chromium import AXE, LIVE_MS, REFUSED, serious
from .town import MARKUP

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]
CRASHED = "run_01JZZZZZZZZZZZZZZZZZZZZZZZ"
CALC = "def add(a, b):\n    return a - b\n"
RESTART_MS = 20_000
TIDY = """\
format: earnest-playbook-v1
intent: Tidy up
task_class: tidy
criteria: []
subtasks:
  - id: tidy
    intent: Tidy
    criteria: [{{text: it is done, check: {{kind: command, command: "test -s done"}}}}]
    approaches:
      - id: rm
        steps: [{{tool: shell, args: {{command: "rm {target}/draft && echo yes > done"}}, writes: [{target}]}}]
"""


@dataclass(frozen=True, kw_only=True)
class Own:
    """The platform, the file that a run has changed, and that run."""

    platform: ServedPlatform
    calc: Path
    edited: str
    folder: Path

    def command(self, *words: str) -> str:
        done = subprocess.run(
            [*PROGRAM, *words], env=environment(self.platform.home), capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "EARNEST_HOME": str(home)}


def record(home: Path, *facts: Fact) -> None:
    with contextlib.closing(Database.open(places.books(home), SystemClock())) as database:
        for fact in facts:
            database.write_sync(lambda transaction, fact=fact: transaction.record(fact))  # type: ignore[misc]


@contextlib.contextmanager
def serving_again(platform: ServedPlatform) -> Iterator[None]:
    """Another process at the same address, over the same data directory."""
    command = [*PROGRAM, "serve", "--json", "--port", platform.url.rpartition(":")[2], "--home", str(platform.home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(platform.home)) as process:
        try:
            yield
        finally:
            process.terminate()


@contextlib.contextmanager
def running(own: Own, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    command, home = [*PROGRAM, *words], own.platform.home
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(home)) as process:
        yield process


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    """An accepted change, a review with a rubric, and an effect of which a crash left open whether it happened."""
    folder = tmp_path_factory.mktemp("own")
    home, calc, work = folder / "home", folder / "calc", folder / "work"
    for one in (calc, work):
        one.mkdir()
    (calc / "calc.py").write_text(CALC)
    (work / "harbour.svg").write_text("<svg/>")
    (folder / "spec.yaml").write_text(SPEC.replace("it can be followed", f"it can be followed {MARKUP[:30]!r}"))
    (folder / "mend.yaml").write_text(PLAYBOOK.replace("EXTRA", "").replace("git log --oneline && ", ""))
    words = [*PROGRAM, "run", "--json", str(folder / "mend.yaml")]
    ran = subprocess.run(words, env=environment(home), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    words = [*PROGRAM, "verify", str(folder / "spec.yaml"), str(work)]
    assert subprocess.run(words, env=environment(home), capture_output=True, check=False).returncode == 2
    at_ms = SystemClock().now_ms()
    started: JsonObject = {"playbook": {"intent": f"Send the letter {MARKUP}"}, "source": "letter.yaml"}
    asked: JsonObject = {"key": "send/1/1", "wording": f"mail grandmother {MARKUP}", "why": "no `look` can tell"}
    record(
        home,
        Fact(kind=STARTED, subject=CRASHED, at_ms=at_ms, body=started),
        Fact(kind=UNKNOWN, subject=CRASHED, at_ms=at_ms, body=asked),
    )
    with served(home, environment(home)) as platform:
        platform.become_operator()
        yield Own(platform=platform, calc=calc / "calc.py", edited=json.loads(ran.stdout)["run"], folder=folder)


async def test_an_accepted_change_is_applied_and_taken_back_and_a_conflict_is_told(opened: Opened, own: Own) -> None:
    async with opened(own.platform.operator_key, url=own.platform.url, allowed=(REFUSED,)) as page:
        waiting = page.locator("li", has_text="accepted change of your files")
        await waiting.get_by_role("button", name="Apply it").click()
        await expect(waiting).to_have_count(0)
        assert "a + b" in own.calc.read_text()
        await page.goto(f"/runs/{own.edited}")
        own.calc.write_text("mine now\n")
        await page.get_by_role("button", name="Take it back").click()
        await expect(page.locator("#apply output")).to_contain_text("calc.py")
        assert own.calc.read_text() == "mine now\n"
        own.calc.write_text(CALC.replace("-", "+"))
        await page.get_by_role("button", name="Take it back").click()
        await expect(page.locator("#standing")).to_contain_text("undone")
        assert own.calc.read_text() == CALC
        await expect(page.get_by_role("button", name="Apply it")).to_be_visible()


async def test_what_a_crash_left_open_is_answered_once(opened: Opened, own: Own) -> None:
    async with opened(own.platform.operator_key, url=own.platform.url, bypass_csp=True) as page:
        item = page.locator("li", has_text="mail grandmother")
        await expect(item).to_contain_text(MARKUP)
        await page.evaluate(AXE.read_text())
        assert await serious(page) == []
        await item.get_by_role("button", name="It did not").click()
        await expect(item).to_have_count(0)
        await page.goto(f"/runs/{CRASHED}")
        await expect(page.locator("#head")).not_to_contain_text("Did this happen?")


@pytest.mark.parametrize("button", ["Allow it, this once", "No"])
async def test_a_run_that_needs_leave_gets_its_answer_here(opened: Opened, own: Own, button: str) -> None:
    target = own.folder / "letters" / button[:2]
    target.mkdir(parents=True)
    (target / "draft").write_text("dear grandmother")
    playbook = own.folder / f"{button[:2]}.yaml"
    playbook.write_text(TIDY.format(target=target))
    with running(own, "run", "--new", "--await-leave", "--json", str(playbook)) as run:
        async with opened(own.platform.operator_key, url=own.platform.url, bypass_csp=True) as page:
            item = page.locator("li", has_text="May it do this?")
            await expect(item).to_contain_text(f"{target}  (a folder of 1 files, 16 bytes", timeout=RESTART_MS)
            await page.evaluate(AXE.read_text())
            assert await serious(page) == []
            await item.get_by_role("button", name=button).click()
            await expect(item).to_have_count(0)
        ended = json.loads(run.communicate(timeout=60)[0])
    assert ended["directive"] == ("accept" if button != "No" else "abandon"), ended
    assert (target / "draft").exists() is (button == "No")


async def test_a_review_of_a_rubric_is_decided_with_scores(opened: Opened, own: Own) -> None:
    async with opened(own.platform.operator_key, url=own.platform.url) as page:
        item = page.locator("li", has_text="it can be followed")
        await item.get_by_text("Decide", exact=True).click()
        await item.get_by_label("clear").fill("4")
        await item.get_by_label("Why").fill("One finds the way.")
        await item.get_by_role("button", name="Decide by these scores").click()
        await expect(item).to_have_count(0)
    assert "approved by operator" in own.command(
        "review", "show", re.findall(r"rev_\w+", own.command("review", "list", "--all"))[0]
    )


async def test_the_journal_is_verified_on_the_spot_by_operator_and_auditor(opened: Opened, own: Own) -> None:
    platform = own.platform
    issued = platform.ask("POST", "/operator/keys", {"scope": "aud", "handle": "arthur"}, key=platform.operator_key)
    for key in (platform.operator_key, issued["key"]):
        async with opened(key, url=platform.url, bypass_csp=True) as page:
            await page.goto("/audit")
            await page.get_by_role("button", name="Verify the journal").click()
            await expect(page.locator("form.call output")).to_contain_text("Intact.", timeout=60_000)
            await expect(page.locator("form.call output")).to_have_class("good")
            assert await serious(page) == []


async def test_an_auditor_reads_the_commands_and_is_refused(opened: Opened, own: Own) -> None:
    platform = own.platform
    issued = platform.ask("POST", "/operator/keys", {"scope": "aud", "handle": "anna"}, key=platform.operator_key)
    async with opened(issued["key"], url=platform.url, allowed=(REFUSED,)) as page:
        await page.goto(f"/runs/{own.edited}")
        await expect(page.get_by_text(f"earnest apply {own.edited}")).to_be_visible()
        status = await page.evaluate(
            f"fetch('/api/v1/operator/runs/{own.edited}/apply', {{method: 'POST', body: '{{}}', headers: "
            "{'Content-Type': 'application/json', 'Idempotency-Key': 'aud'}}).then((answer) => answer.status)"
        )
        assert status == 403
    assert own.calc.read_text() == CALC


async def test_what_is_said_on_the_bus_is_shown_as_it_is_said(opened: Opened, own: Own) -> None:
    async with opened(own.platform.operator_key, url=own.platform.url, bypass_csp=True) as page:
        await page.goto(f"/runs/{own.edited}")
        await expect(page.locator("#bus")).to_contain_text("PlanReady")
        await expect(page.locator("#bus")).to_contain_text("R2 planner")
        assert await serious(page) == []
        await page.goto(f"/runs/{CRASHED}")
        await page.wait_for_timeout(500)
        body: JsonObject = {
            "id": "m1",
            "kind": "StopRequested",
            "sender": "user",
            "causation_id": None,
            "payload": {"cause": "budget", "detail": MARKUP},
        }
        record(own.platform.home, Fact(kind=MESSAGE, subject=CRASHED, at_ms=SystemClock().now_ms(), body=body))
        await expect(page.locator("#bus")).to_contain_text(MARKUP, timeout=LIVE_MS)
        assert await page.evaluate("window.pwned") is None


async def test_a_stream_comes_back_when_the_server_does_and_what_was_missed_is_shown(opened: Opened, own: Own) -> None:
    lost = (
        "ERR_CONNECTION_REFUSED",
        "ERR_INCOMPLETE_CHUNKED",
        "ERR_CONNECTION_RESET",
        "ERR_EMPTY_RESPONSE",
        "[object Event]",
    )
    async with opened(own.platform.operator_key, url=own.platform.url, allowed=lost) as page:
        await page.goto("/runs")
        await page.wait_for_timeout(500)
        own.platform.process.kill()
        own.platform.process.wait()
        await expect(page.locator("#offline")).to_be_visible()
        started: JsonObject = {"playbook": {"intent": "Begun while nobody looked"}, "source": "missed.yaml"}
        missed = Fact(kind=STARTED, subject=f"{CRASHED[:-1]}Y", at_ms=SystemClock().now_ms(), body=started)
        record(own.platform.home, missed)
        with serving_again(own.platform):
            await expect(page.locator("#offline")).to_be_hidden(timeout=RESTART_MS)
            await expect(page.get_by_text("Begun while nobody looked")).to_be_visible(timeout=LIVE_MS)
            await page.wait_for_timeout(1_000)
            later = Fact(kind=STARTED, subject=f"{CRASHED[:-1]}X", at_ms=SystemClock().now_ms(), body=started)
            record(own.platform.home, later)
            await expect(page.get_by_text("Begun while nobody looked")).to_have_count(2, timeout=LIVE_MS)
