"""Do the records bear a judge out? Each rule by itself; the lies in tests/engine/liars try them together."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from earnest.contracts.criterion import Criterion, Mode
from earnest.effects.hands.tools.failures import ToolFailure, environmental, logical
from earnest.effects.hands.tools.programs import shell_programs
from earnest.effects.hands.tools.record import ToolRecord, excerpt
from earnest.effects.hands.workspace.changes import Change
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.foundation.canonical import JsonValue, digest_bytes
from earnest.foundation.failures import FailureClass
from earnest.verification.core import failure_class
from earnest.verification.records.demands import demand_of, paths_in
from earnest.verification.records.evidence import FileText, WorkRecords, is_one_program, pieces
from earnest.verification.records.proofs import only_lists, only_says, only_shows
from earnest.verification.records.rulings import Citation, JudgeOpinion, RecordRuling, ruled


def shell(
    command: str,
    out: str = "",
    err: str = "",
    *,
    failure: ToolFailure | None = None,
    wrote: dict[str, str] | None = None,
) -> ToolRecord:
    """The record of a command."""
    return ToolRecord(
        tool="shell",
        tool_ids=frozenset(f"shell:{name}" for name in shell_programs(command)) or frozenset({"shell"}),
        target=command,
        args={"command": command},
        call_digest=digest_bytes(command.encode()),
        ok=failure is None,
        exit_code=0 if failure is None else 1,
        failure=failure,
        output_excerpt=excerpt(out.encode(), err.encode()),
        output_digest="",
        output_bytes=len(out) + len(err),
        duration_ms=1,
        started_at_ms=1_795_305_600_000,
        changed=tuple(map(change, (wrote or {}).items())),
        sandbox="",
    )


def change(file: tuple[str, str]) -> Change:
    path, text = file
    return Change(path=path, kind=EntryKind.FILE, digest=digest_bytes(text.encode()), size_bytes=len(text))


def ruling(
    text: str, calls: Sequence[ToolRecord], *cites: tuple[str, str], met: bool = True, **files: str
) -> RecordRuling:
    """What comes of an opinion. `files` are those of the workspace, `_` for the dot of a name."""
    texts = {
        name.replace("_", "."): FileText(digest=digest_bytes(content.encode()), text=content)
        for name, content in files.items()
    }
    opinion = JudgeOpinion(
        criterion=Criterion(id="C1", text=text),
        met=met,
        citations=tuple(Citation(call=call, quote=quote) for call, quote in cites),
        reason="so it is",
    )
    return ruled(opinion, WorkRecords(calls=tuple(calls), texts=texts, inputs=("source",)))


def stdout_of(record: ToolRecord) -> list[str]:
    return [piece.text for piece in pieces(record)]


COUNT = shell("wc -l source/a.py", "2 source/a.py\n")


def test_a_quotation_that_was_recorded_is_evidence_and_names_its_call() -> None:
    found = ruling("The answer says how long source/a.py is", [COUNT], ("c1", "2  source/a.py")).findings
    assert found.passed is True
    assert found.evidence == (f"c1 {COUNT.call_digest}: 2 source/a.py",)


def test_a_yes_without_a_reference_is_a_no() -> None:
    found = ruling("The answer says how long source/a.py is", [COUNT]).findings
    assert (found.passed, found.reason) == (False, "the judge refers to nothing that was recorded")


def test_a_no_needs_no_reference() -> None:
    found = ruling("It is so", [COUNT], met=False).findings
    assert (found.passed, found.reason) == (False, "the judge finds: so it is")


def test_no_word_of_stderr_is_evidence() -> None:
    both = shell("python3 job.py", "started\n", "upload complete\n")
    assert stdout_of(both) == ["started\n"]
    assert ruling("The upload is done", [both], ("c1", "upload complete")).findings.passed is False
    only_err = replace(both, output_excerpt="[stderr]\nupload complete\n")
    assert ruling("The upload is done", [only_err], ("c1", "upload complete")).findings.passed is False


def test_an_output_that_imitates_labels_only_loses_by_it() -> None:
    forged = shell("python3 job.py", "one\n[stderr]\ntwo\n", "[stdout]\nthree")
    assert stdout_of(forged) == ["one"]


def test_what_was_cut_out_of_an_output_joins_nothing() -> None:
    long = shell("python3 job.py", "".join(f"row {n}\n" for n in range(2_000)))
    assert len(stdout_of(long)) == 2
    assert ruling("The rows are there", [long], ("c1", "row 1999")).findings.passed is True
    assert ruling("The rows are there", [long], ("c1", "row 700")).findings.passed is False
    assert ruling("The rows are there", [long], ("c1", "characters left out")).findings.passed is False


@pytest.mark.parametrize("quote", ["", "   ", "…", "2 so", "\u200b\u200b"])
def test_a_quotation_has_enough_letters_or_is_a_whole_line(quote: str) -> None:
    assert ruling("The answer gives a length", [COUNT], ("c1", quote)).findings.passed is False


def test_a_file_counts_only_as_the_call_left_it() -> None:
    made = shell("python3 gen.py > out.txt", wrote={"out.txt": "total 12\n"})
    assert ruling("out.txt holds the total", [made], ("c1", "total 12"), out_txt="total 12\n").findings.passed is True
    assert ruling("out.txt holds the total", [made], ("c1", "total 12"), out_txt="total 12 \n").findings.passed is False
    assert ruling("out.txt holds the total", [made], ("c1", "total 12")).findings.passed is False


@pytest.mark.parametrize(
    ("kind", "said"), [(EntryKind.GONE, "removed old.py"), (EntryKind.FOLDER, "made folder old.py")]
)
def test_a_change_that_leaves_nothing_to_read_is_quoted_by_what_was_done(kind: EntryKind, said: str) -> None:
    call = replace(shell("./tidy"), changed=(Change(path="old.py", kind=kind, digest=None),))
    about = "The change of old.py is made: old.py is removed or made a folder"
    assert ruling(about, [call], ("c1", said)).findings.passed is True
    elsewhere = ruling("The answer says how long source/a.py is", [call], ("c1", said)).findings
    assert (elsewhere.passed, "that old.py was changed is not what is asked for" in elsewhere.reason) == (False, True)
    assert ruling(about, [call], ("c1", said.replace("old", "new"))).findings.passed is False


def test_a_failure_is_environmental_only_if_the_call_it_is_about_says_so() -> None:
    fetch = shell("curl -o page.html https://x/", failure=environmental("network", "exit code 6"))
    build = shell("make", failure=logical("exit_code", "exit code 2"))
    about_the_page = ruling("page.html is there", [fetch, build], ("c2", "built it"))
    assert failure_class(ruling("page.html is there", [build, fetch], met=False).calls) is FailureClass.ENVIRONMENTAL
    assert failure_class(ruling("It is built", [fetch, build], ("c2", "x"), met=False).calls) is FailureClass.LOGICAL
    assert about_the_page.findings.passed is False


def test_what_a_plausible_criterion_asks_for_may_be_written_by_hand() -> None:
    poem = shell("cat > poem.txt <<'E'\nSoft rain\nE", wrote={"poem.txt": "Soft rain, and buds\n"})
    records = WorkRecords(
        calls=(replace(poem, args={"command": "x Soft rain, and buds"}),),
        texts={"poem.txt": FileText(digest=digest_bytes(b"Soft rain, and buds\n"), text="Soft rain, and buds\n")},
    )
    opinion = JudgeOpinion(
        criterion=Criterion(id="C1", text="It speaks of spring", mode=Mode.PLAUSIBLE),
        met=True,
        citations=(Citation(call="c1", quote="Soft rain"),),
        reason="",
    )
    assert ruled(opinion, records).findings.passed is True
    assert ruled(replace(opinion, criterion=Criterion(id="C1", text="It rains")), records).findings.passed is False


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("counts.txt lists what is in `source/lib/b.py`, as in 3.5 or e.g. v1.2.", ["counts.txt", "source/lib/b.py"]),
        ("The folder out/ holds ./main.c", ["out/", "main.c"]),
        ("It uses Node.js, see https://x.org/a.html or example.com; and/or 1/2, 80 km/h", []),
        ("/work/a/../b.md is written.", ["b.md"]),
        ('"report.txt" and (data.tar.gz)', ["report.txt", "data.tar.gz"]),
    ],
)
def test_what_looks_like_a_path_is_taken_for_one(text: str, paths: list[str]) -> None:
    assert list(paths_in(text)) == paths


def test_a_files_name_is_no_word_of_the_sentence() -> None:
    demand = demand_of(Criterion(id="C1", text="created.txt and answer.md and passed.log hold today.txt"))
    assert (demand.acts, demand.answers, demand.measures, demand.today) == (False, False, False, False)


@pytest.mark.parametrize(
    "command",
    [
        *("make || true", "make; ls", "make &", "echo $(make)", 'bash -c "make; true"', "! make", "make 'unclosed"),
        *("if make; then :; fi", "timeout 9 sh -c 'make; true'", "eval 'make; true'", "make | cat", "sort <(make)"),
        *("find . -exec make {} +", "make && ls", "", "cat > a <<'E'\nx\nE\npython3 a"),
    ],
)
def test_of_several_parts_that_nobody_has_seen_nothing_is_believed(command: str) -> None:
    record = shell(command, "5 passed\n")
    assert not is_one_program(record)
    assert [piece.against for piece in pieces(record)] == ["nobody saw how its parts ended"]


@pytest.mark.parametrize("command", ["make", "make -C d all > log 2>&1", "X=1 make", "make 'a; b'", " make \n"])
def test_the_status_of_a_single_program_needs_no_witness(command: str) -> None:
    assert [piece.against for piece in pieces(shell(command, "5 passed\n"))] == [""]


def test_calls_that_only_say_list_or_show_are_told_from_those_that_compute() -> None:
    assert [only_says(shell(c)) for c in ("echo x | rev", "printf x", "rev <<< x", "echo x | wc -c", "tr a b < f")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert [only_lists(shell(c)) for c in ("ls -l", "stat a && ls", "ls | wc -l")] == [True, True, False]
    assert [only_shows(shell(c)) for c in ("cat a b", "head -3 a", "grep x a")] == [True, True, False]


@pytest.mark.parametrize(
    ("args", "lists"),
    [({"name": "*.pdf"}, True), ({"name": "*.pdf", "text": ""}, True), ({"name": "*.pdf", "text": "total"}, False)],
)
def test_a_search_by_name_only_lists_as_glob_does_and_one_by_content_looks_inside(
    args: dict[str, JsonValue], lists: bool
) -> None:
    assert only_lists(replace(shell(""), tool="search_files", tool_ids=frozenset({"search_files"}), args=args)) == lists
