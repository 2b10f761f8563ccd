"""Does a checklist take words that a reader sees, about each criterion once, with citations that hold?"""

from pathlib import Path

import pytest

from earnest.foundation.canonical import JsonObject
from earnest.testing.check_conformance import CheckCase, CheckConformance, judged
from earnest.verification.checks.checklist import CHECK as CHECKLIST
from earnest.verification.checks.checklist import _puts_off as puts_off
from earnest.verification.values import address_key
from earnest.verification.verdict import Answer
from earnest.verification.visible import is_placeholder, telling_words

CONFIG: JsonObject = {
    "path": "R.md",
    "criteria": {
        "C1": "solution.py adds the decimal digits of negative numbers too",
        "C2": "the log lists every run",
    },
}
FILES = {
    "solution.py": b"def digit_sum(n):\n    return sum(map(int, str(abs(n))))\n",
    "out/run.log": b"run 1: ok\nrun 2: ok\n",
}
ONE = '- [x] **C1**: takes the absolute value before splitting it; `solution.py:2` has "str(abs(n))".\n'
TWO = '- C2: captured both executions with tee into [log](out/run.log), which ends "run 2: ok".\n'


def report(*entries: str, title: str = "## Evidence") -> bytes:
    return "\n".join(["# Report", "Words.", "", title, "", *entries, "", "## Later", "C1 and C2, again.", ""]).encode()


class TestChecklist(CheckConformance):
    @pytest.fixture
    def case(self) -> CheckCase:
        return CheckCase(check=CHECKLIST, config=CONFIG, submission={**FILES, "R.md": report(ONE, TWO)})


async def told(tmp_path: Path, text: bytes, config: JsonObject = CONFIG) -> tuple[Answer, str]:
    files = {**FILES, "R.md": text}
    verdict = await judged(CheckCase(check=CHECKLIST, config=config, submission=files), tmp_path, files)
    return verdict.answer, verdict.criteria[0].reason


@pytest.mark.parametrize(
    "text",
    [
        report(ONE, TWO),
        report(TWO, ONE).replace(b"\n", b"\r\n"),
        report(ONE, TWO, title="Evidence\n---"),
        report("### C1", ONE.partition(": ")[2], "### C2", TWO.partition(": ")[2]),
        report("| id | how |\n|---|---|", "|" + ONE[6:].strip() + " |", "|" + TWO[1:].strip() + " |"),
        report(ONE, "  as C2 shows below, it was executed.", TWO),
        report(
            '- C1: \u5148\u53d6\u7edd\u5bf9\u503c\u518d\u62c6\u5206, `solution.py`: "str(abs(n))"',
            "- C2: \u0417\u0430\u043f\u0443\u0441\u043a\u0438 \u0446\u0435\u043b\u0438\u043a\u043e\u043c "
            "\u0441\u043e\u0445\u0440\u0430\u043d\u0435\u043d\u044b "
            "\u0443\u0442\u0438\u043b\u0438\u0442\u043e\u0439 tee, out/run.log: \u00abrun 2: ok\u00bb",
        ),
    ],
)
async def test_honest_evidence_of_many_shapes_is_verified(tmp_path: Path, text: bytes) -> None:
    found, reason = await told(tmp_path, text)
    assert found is Answer.VERIFIED, reason


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (report(ONE, TWO, title="## Summary"), "no sections 'Evidence'"),
        (report(ONE, TWO) + b"\n## Evidence\n", "2 sections"),
        (report(ONE, TWO, title="## Evid\u0435nce"), "no sections"),
        (report("<!--", ONE, TWO, "-->"), "C1 is not answered"),
        (report("<details><summary>more</summary>", "", ONE, TWO, "</details>"), "C1 is not answered"),
        (report("```", ONE, TWO, "```"), "C1 is not answered"),
        (report('<div style="display:none">', "", ONE, TWO, "</div>"), "what it shows cannot be told"),
        (report("<font color=white>", ONE, TWO), "what it shows cannot be told"),
        (report('[C1]: # "takes the absolute value before splitting"', TWO), "C1 is not answered"),
        (report(ONE), "C2 is not answered"),
        (report(ONE, TWO, TWO), "C2 is answered more than once"),
        (report(ONE.replace("[x]", "[ ]"), TWO), "C1 is not ticked"),
        (report('- C1, C2: captured everything with tee; `solution.py` has "str(abs(n))"'), "C2 is not answered"),
        (report(ONE, "- C2: the log lists every run"), "C2 has 0 telling words"),
        (report(ONE, "- C2: lists digits of negative numbers, decimal, adds"), "C2 has 0 telling words"),
        (report(ONE, "- C2: done, verified, all tests passed and everything works successfully"), "C2 has 0 telling"),
        (report(ONE, "- C2: lorem ipsum dolor sit amet consectetur"), "C2 has 0 telling words"),
        (report(ONE, "- C2: \u200bcaptured\u200b <!-- both executions with tee into it -->"), "C2 has 1 telling words"),
        (report(ONE, "- C2: ![captured both executions with tee](x.png)"), "C2 has 0 telling words"),
        (report(ONE, "- C2: https://captured.example/both/executions/with/tee"), "C2 has 0 telling words"),
        (report(ONE, ONE.replace("C1", "C2")), "C2 says what C1 says"),
        (report(ONE, TWO.replace("out/run.log", "out/other.log")), "C2 cites 'out/other.log', which is not there"),
        (report(ONE, TWO.replace("run 2: ok", "run 3: ok")), "which is not in 'out/run.log'"),
        (report(ONE, TWO.replace(', which ends "run 2: ok"', "")), "C2 quotes nothing"),
        (report(ONE, TWO.replace("[log](out/run.log)", "it")), "C2 cites no file"),
        (report(ONE, TWO.replace("out/run.log", "R.md")), "which is where it stands itself"),
        (b"", "no sections"),
        (b"\xff", "is not UTF-8 text"),
    ],
)
async def test_pretended_evidence_is_not_verified(tmp_path: Path, text: bytes, says: str) -> None:
    found, reason = await told(tmp_path, text)
    assert found is Answer.NOT_VERIFIED
    assert says in reason


async def test_less_can_be_asked_for(tmp_path: Path) -> None:
    text = report(
        "- C1: takes the absolute value before splitting, see solution.py",
        "- C2: captured each execution completely, tee",
    )
    assert (await told(tmp_path / "1", text))[0] is Answer.NOT_VERIFIED
    assert (await told(tmp_path / "2", text, {**CONFIG, "evidence": "words"}))[0] is Answer.VERIFIED
    assert (await told(tmp_path / "3", text, {**CONFIG, "evidence": "words", "words_min": 9}))[0] is Answer.NOT_VERIFIED


async def test_without_criteria_of_its_own_it_asks_for_those_of_the_spec(tmp_path: Path) -> None:
    found, reason = await told(tmp_path, report(ONE, TWO), {"path": "R.md"})
    assert (found, reason) == (Answer.VERIFIED, "the section 'Evidence' of R.md answers C1")


@pytest.mark.parametrize(
    "text",
    [
        "Not yet run, will be done.",
        "The export of large tables is not tested yet; this will be added next week",
        "pending: the parser reads quoted fields over several lines",
        "Noch nicht geprüft, folgt",
        "Parser, reader and quoted fields, to be implemented later",
    ],
)
def test_an_entry_that_says_it_is_not_done_is_none(text: str) -> None:
    assert puts_off(text)


@pytest.mark.parametrize(
    "text",
    [
        "The job will be run by cron at five every morning.",
        "Values not yet seen are added to the table; pending requests are answered in order.",
        "Reads the file twice and is tested with an empty one.",
        "A todo list is printed, and entries that must be done first come first",
    ],
)
def test_an_entry_about_what_the_work_does_later_is_one(text: str) -> None:
    assert not puts_off(text)


@pytest.mark.parametrize(
    "text",
    [
        "\u034f\u180e\U000e0fff\ufff0",
        "<!-- real words of its own -->",
        r"\phantom{real words}",
        "[](real/words)",
        "<rt>real words",
    ],
)
def test_what_nothing_is_drawn_of_is_no_content(text: str) -> None:
    assert is_placeholder(text)
    assert telling_words(text) == set()


def test_what_is_drawn_is_content() -> None:
    assert telling_words("![](chart.png) [parser](src/parser.py) e\u0301tude <ruby>kanji</ruby>") >= {"parser", "kanji"}


@pytest.mark.parametrize(
    "other",
    [
        "https://Example.org/a/b#top",
        "http://example.org:80/a/b",
        "https://example.org:443/a/b?",
        "https://example.org./a/./c/../b",
        "https://example.org/%61/b",
        "https://example.org/a/b/",
    ],
)
def test_one_address_in_another_form_is_the_same(other: str) -> None:
    assert address_key(other) == address_key("https://example.org/a/b")


@pytest.mark.parametrize(
    "other", ["https://example.org/a/c", "https://example.org:8080/a/b", "https://b.example.org/a/b", "a/b"]
)
def test_another_address_is_another(other: str) -> None:
    assert address_key(other) != address_key("https://example.org/a/b")


def test_hosts_in_letters_of_any_script_are_the_same_encoded() -> None:
    assert address_key("https://bücher.example/%C3%BC") == address_key("https://xn--bcher-kva.example/ü")
