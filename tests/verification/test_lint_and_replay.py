"""Is a spec that worthless work would pass found out, and does a kept verdict come out the same?"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from earnest.contracts.spec import parse_spec
from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.sandbox.api import Execution, ExecutionReport, ExecutionStatus
from earnest.effects.hands.workspace.kept import KeptFiles
from earnest.effects.hands.workspace.snapshot import take_snapshot
from earnest.foundation.errors import Broken, Faulty, Refused
from earnest.runtime.judging import Keeping, RecordedVerdict, judged, linted, replayed
from earnest.runtime.verdict_book import VerdictBook
from earnest.surfaces.cli.commands import program
from earnest.testing.check_conformance import ScriptedSandbox, write
from earnest.verification.lint import junk_for
from earnest.verification.registry import Registry
from earnest.verification.replay import ReplayAgreement
from earnest.verification.service import Verifier
from earnest.verification.verdict import Answer

MIB = 1024 * 1024


def fails(_: Execution) -> ExecutionReport:
    return ExecutionReport(status=ExecutionStatus.DONE, exit_code=1)


def prints_three(_: Execution) -> ExecutionReport:
    return ExecutionReport(status=ExecutionStatus.DONE, exit_code=0, stdout=b"3")


def spec_text(check: str, more: str = "") -> str:
    return (
        f"format: earnest-spec-v1\ntitle: T\ntext: Do it.\ncriteria:\n  - text: it is done\n    check: {check}\n{more}"
    )


async def complaints(
    tmp_path: Path, text: str, answer: Callable[[Execution], ExecutionReport] = fails, *, green: bool = True
) -> list[tuple[bool, str]]:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    sandbox = ScriptedSandbox(answer, green=green)
    verifier = Verifier(registry=Registry(), sandbox=sandbox, clock=VirtualClock())
    found = await linted(verifier, Registry(), parse_spec(text, "spec.yaml"), path)
    return [(one.is_grave, f"{one.criterion}:{one.line} {one.message}") for one in found]


@pytest.mark.parametrize(
    ("check", "accepted"),
    [
        ("{kind: files, required: [a.txt]}", "empty files"),
        ("{kind: files, required: [{glob: '**/*.md', min: 2}]}", "empty files"),
        ("{kind: files, required: [{path: a.txt, min_bytes: 10}]}", "random text"),
        ("{kind: files, required: [{path: a.txt, contains: done}]}", "the criterion's own text"),
        ("{kind: files, required: [{path: a.txt, contains: kind, min_bytes: 30}]}", "a copy of the spec"),
        ("{kind: json_schema, path: a.json, schema: {type: object}}", "an empty JSON object"),
        ("{kind: json_schema, path: a.json, schema: {type: array}}", "an empty JSON list"),
    ],
)
async def test_a_check_that_accepts_worthless_work_is_named(tmp_path: Path, check: str, accepted: str) -> None:
    ((is_grave, message),) = await complaints(tmp_path, spec_text(check))
    assert is_grave
    assert message.startswith("C1:6 its check accepts")
    assert accepted in message


@pytest.mark.parametrize(
    "check",
    [
        "{kind: files, required: [{path: a.md, headings: [Method]}]}",
        "{kind: json_schema, path: a.json, schema: {type: array, minItems: 1}}",
        "{kind: json_list, path: a.json, keys: {name: text}}",
        "{kind: md_table, path: a.md, columns: [Name]}",
        "{kind: stdout, program: [python3, a.py], cases: [{expected: '3'}]}",
        "{kind: command, command: [make, test]}",
    ],
)
async def test_a_check_that_refuses_all_of_it_passes(tmp_path: Path, check: str) -> None:
    assert await complaints(tmp_path, spec_text(check)) == []


async def test_an_exit_code_that_nothing_can_change_is_named(tmp_path: Path) -> None:
    ((is_grave, message),) = await complaints(tmp_path, spec_text("{kind: command, command: ['true']}"), prints_three)
    assert is_grave
    assert "does not refuse an empty submission" in message


async def test_what_cannot_be_tried_is_named_and_not_passed_over(tmp_path: Path) -> None:
    check = "{kind: stdout, program: [a], cases: [{expected: '3'}]}"
    ((is_grave, message),) = await complaints(tmp_path, spec_text(check), green=False)
    assert not is_grave
    assert "could not be tried" in message
    ((is_grave, message),) = await complaints(tmp_path, spec_text("{kind: probe, probe: inbox}"))
    assert not is_grave
    assert "the world" in message


async def test_a_criterion_without_a_check_is_named(tmp_path: Path) -> None:
    text = spec_text("{kind: json_list, path: a.json}", "  - text: it is beautiful\nacceptance: human\n")
    assert await complaints(tmp_path, text) == [(False, "C2:0 no check decides it: it waits for a person")]


def test_a_check_without_a_criterion_is_a_fault() -> None:
    with pytest.raises(Faulty, match="a check without a criterion"):
        parse_spec(spec_text("{kind: json_list, path: a}").replace("text: it is done\n    ", ""), "s")


async def test_nothing_but_a_checklist_is_mentioned(tmp_path: Path) -> None:
    ((is_grave, message),) = await complaints(tmp_path, spec_text("{kind: checklist, path: R.md}"))
    assert not is_grave
    assert "not that it is true" in message


def test_junk_has_the_names_that_a_check_asks_for() -> None:
    text = spec_text("{kind: files, required: [a/b.txt, {glob: 'c/**/*.md'}, a], forbidden: [solution.core]}")
    (criterion,) = parse_spec(text, "s").criteria
    nothing, *rest = junk_for(criterion, b"spec")
    assert nothing.files == {}
    assert set(rest[0].files) == {
        "a/b.txt",
        "c/x0.md",
        "c/x1.md",
        "c/x2.md",
        "a.py",
        "solution.core",
        "solution/core.py",
    }
    assert len(rest) == 6


class Bench:
    """A spec, a submission, a sandbox whose answer can be changed, and a book."""

    def __init__(self, tmp_path: Path) -> None:
        self.printed = b"3"
        self.moody: dict[bytes, bytes] = {}
        self.green = True
        self.folder = tmp_path
        self.book = VerdictBook(tmp_path / "verdicts", MIB)
        self.given = write(tmp_path / "given", {"s.json": b"[1]", "p.py": b"print(3)"})
        write(tmp_path / "spec", {"three.txt": b"3", "hidden/extra.txt": b"never named"})
        (self.given / "p.py").chmod(0o755)

    @property
    def verifier(self) -> Verifier:
        sandbox = ScriptedSandbox(self._report, green=self.green)
        return Verifier(registry=Registry(), sandbox=sandbox, clock=VirtualClock(), distrusted=self.book.distrusted())

    def _report(self, execution: Execution) -> ExecutionReport:
        assert isinstance(execution.work, Path)
        program = (execution.work / "p.py").read_bytes()
        return ExecutionReport(status=ExecutionStatus.DONE, exit_code=0, stdout=self.moody.get(program, self.printed))

    async def judged(self, program: bytes = b"print(3)") -> RecordedVerdict:
        """The verdict on what somebody hands in: a program is somebody's own."""
        place = self.given if program == b"print(3)" else self.folder / program.hex()
        write(place, {"s.json": b"[1]", "p.py": program})
        (place / "p.py").chmod(0o755)
        more = "  - text: prints three\n    check: {kind: stdout, program: [p], cases: [{expected_file: three.txt}]}\n"
        spec = parse_spec(spec_text("{kind: json_list, path: s.json}", more), "s")
        keeping = Keeping(book=self.book, clock=VirtualClock())
        return await judged(self.verifier, spec, self.folder / "spec", place, keep_in=keeping)

    async def agreements(self, name: str) -> list[ReplayAgreement]:
        found = await replayed(self.verifier, Registry(), self.book, name)
        return [one.agreement for one in found.comparisons]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_a_kept_verdict_comes_out_the_same_without_the_originals(bench: Bench) -> None:
    first = await bench.judged()
    (bench.given / "s.json").unlink()
    (bench.folder / "spec" / "three.txt").unlink()
    assert first.verdict.answer is Answer.VERIFIED
    assert await bench.agreements(first.id) == [ReplayAgreement.AGREES, ReplayAgreement.AGREES]
    assert await bench.agreements(first.id[:6]) == [ReplayAgreement.AGREES, ReplayAgreement.AGREES]


async def test_a_kept_verdict_says_what_was_judged_by_what_and_where(bench: Bench) -> None:
    first = await bench.judged()
    record = json.loads((bench.folder / "verdicts" / f"{first.id}.json").read_bytes())
    assert record["snapshot"] == first.verdict.snapshot
    assert record["sandbox"] == "scripted"
    assert record["check_versions"] == {"json_list": 2, "stdout": 1}
    assert record["limits"]["C2"]["wall_ms"] == 10_000
    assert record["criteria_digest"].startswith("sha256:")
    assert isinstance(record["seed"], int)
    assert [row[0] for row in record["files"]] == ["p.py", "s.json"]
    assert [row[0] for row in record["beside"]] == ["three.txt"]


async def test_work_that_answers_by_chance_costs_the_next_submitter_nothing(bench: Bench) -> None:
    honest, moody = await bench.judged(), await bench.judged(b"print(3 or 4)")
    bench.moody[b"print(3 or 4)"] = b"4"
    assert await bench.agreements(moody.id) == [ReplayAgreement.AGREES, ReplayAgreement.DISAGREES]
    assert list(bench.book.distrusted().values()) == [moody.id]
    bench.moody.clear()
    again = await bench.judged(b"print(3 or 4)")
    assert [one.answer for one in again.verdict.criteria] == [Answer.VERIFIED, Answer.UNCLEAR]
    for source in (b"print(3)", b"print(1 + 2)"):
        assert (await bench.judged(source)).verdict.answer is Answer.VERIFIED
    assert await bench.agreements(honest.id) == [ReplayAgreement.AGREES, ReplayAgreement.AGREES]


async def test_a_check_that_disagrees_over_the_work_of_two_loses_the_right_to_decide_alone(bench: Bench) -> None:
    first, second = await bench.judged(), await bench.judged(b"print(1 + 2)")
    bench.printed = b"4"
    assert await bench.agreements(first.id) == [ReplayAgreement.AGREES, ReplayAgreement.DISAGREES]
    bench.printed = b"3"
    again = await bench.judged(b"print(2 + 1)")
    assert [one.answer for one in again.verdict.criteria] == [Answer.VERIFIED, Answer.UNCLEAR]
    assert sorted(bench.book.distrusted().values()) == sorted([first.id, first.id, second.id])


async def test_two_works_of_one_submitter_are_no_two_witnesses(bench: Bench) -> None:
    verdicts = []
    for note in (b"1", b"2"):
        write(bench.given, {"note.txt": note})
        verdicts.append(await bench.judged())
    bench.printed = b"4"
    for verdict in verdicts:
        assert await bench.agreements(verdict.id) == [ReplayAgreement.AGREES, ReplayAgreement.DISAGREES]
    bench.printed = b"3"
    assert (await bench.judged(b"print(1 + 2)")).verdict.answer is Answer.VERIFIED


async def test_a_check_that_runs_nothing_has_only_itself_to_blame(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await bench.judged()
    (answer, *others) = bench.book.find(first.id).answers
    lying = replace(bench.book.find(first.id), answers=(replace(answer, answer=Answer.NOT_VERIFIED), *others))
    monkeypatch.setattr(bench.book, "find", lambda _: lying)
    assert (await bench.agreements(first.id))[0] is ReplayAgreement.DISAGREES
    assert list(bench.book.distrusted()) == [f"json_list/{Registry().check('json_list').version}"]


async def test_our_own_failure_is_no_disagreement(bench: Bench) -> None:
    first = await bench.judged()
    bench.green = False
    assert await bench.agreements(first.id) == [ReplayAgreement.AGREES, ReplayAgreement.NOT_COMPARABLE]
    assert bench.book.distrusted() == {}


async def test_a_verdict_that_was_tampered_with_is_not_replayed(bench: Bench) -> None:
    first = await bench.judged()
    path = bench.folder / "verdicts" / f"{first.id}.json"
    path.write_bytes(path.read_bytes().replace(b'"verified"', b'"unclear"'))
    with pytest.raises(Broken, match="is not what was kept"):
        await bench.agreements(first.id)
    with pytest.raises(Refused, match="no verdict is kept"):
        bench.book.find("nothing")


def test_the_oldest_content_goes_when_there_is_too_much(tmp_path: Path) -> None:
    store = KeptFiles(tmp_path / "store", 250)
    snapshots = [
        take_snapshot(write(tmp_path / f"given{at}", {"a": bytes([at]) * 100, "same": b"s"}), tmp_path / f"copy{at}")
        for at in range(3)
    ]
    for snapshot in snapshots:
        store.keep(snapshot)
    store.tidy(snapshot.entries for snapshot in reversed(snapshots))
    assert store.restore(snapshots[2].entries, tmp_path / "new").digest == snapshots[2].digest
    assert store.restore(snapshots[1].entries, tmp_path / "old").digest == snapshots[1].digest
    with pytest.raises(Refused, match="no longer kept") as caught:
        store.restore(snapshots[0].entries, tmp_path / "gone")
    assert caught.value.code == "evidence_gone"
    for kept in (tmp_path / "store").iterdir():
        kept.write_bytes(b"other")
    with pytest.raises(Broken):
        store.restore(snapshots[2].entries, tmp_path / "broken")


@pytest.mark.slow
def test_the_commands_end_as_their_page_says(tmp_path: Path) -> None:
    """One thread through all of it: judge, keep, judge again, lint."""
    write(tmp_path / "given", {"s.json": b"[1]"})
    (tmp_path / "good.yaml").write_text(spec_text("{kind: json_list, path: s.json}"))
    (tmp_path / "bad.yaml").write_text(spec_text("{kind: files, required: [s.json]}"))
    given = str(tmp_path / "given")

    def ended(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(program, list(words), env={"EARNEST_HOME": str(tmp_path / "home")})
        if isinstance(result.exception, Faulty | Refused):
            return 3, str(result.exception)
        return result.exit_code, result.output

    code, told = ended("verify", str(tmp_path / "good.yaml"), given, "--json", "--keep")
    assert code == 0
    code, told = ended("replay", json.loads(told)["id"], "--json")
    assert (code, json.loads(told)["criteria"][0]["agreement"]) == (0, "agrees")
    code, told = ended("verify", str(tmp_path / "good.yaml"), given, "--json", "--no-keep")
    assert (code, "id" in json.loads(told)) == (0, False)
    assert ended("verify", "--lint", str(tmp_path / "good.yaml"))[0] == 0
    code, told = ended("verify", "--lint", str(tmp_path / "bad.yaml"))
    assert (code, "bad.yaml:6: C1: its check accepts empty files" in told) == (3, True)
    assert ended("replay", "no-such-id")[0] == 3
