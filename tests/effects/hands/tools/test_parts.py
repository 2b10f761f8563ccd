"""What is a stretch of output worth? The rule by itself, over processes as a tracer would have seen them."""

from collections.abc import Sequence

import pytest

from earnest.effects.hands.sandbox.api import Process
from earnest.effects.hands.tools.parts import RECORDED_MAX, CallParts, recorded

TYPED = "it only says what it was told to say"
OUT = ("/dev/null", "stdout", "stderr")


def ran(
    words: str,
    code: int | None,
    out: tuple[int, int],
    *,
    of: int = 1,
    program: str = "",
    files: tuple[str, ...] = OUT,
) -> Process:
    """A program, of the shell that is the line unless `of` names another."""
    name = words.partition(" ")[0]
    place = program or (name if "/" in name else f"/usr/bin/{name}")
    given = words.replace(" ", "\0") + "\0"
    holds = ("stdout" in files, True)
    return Process(parent=of, program=place, words=given, exit_code=code, out=out, holds=holds, files=files)


def fork(code: int | None, out: tuple[int, int], of: int = 1) -> Process:
    return Process(parent=of, exit_code=code, out=out)


def line(*processes: Process, total: int) -> list[Process]:
    """The processes of a line of bash; the first of them has the index 2."""
    shell = ran("bash -c …", 0, (0, total), of=0)
    return [Process(parent=-1, out=(0, 0)), shell, *processes]


def told(processes: Sequence[Process], changed: tuple[str, ...] = ()) -> list[tuple[int, int, str]]:
    return [(one.start, one.end, one.against) for one in CallParts(processes, changed).stretches()]


def to(pipe: int) -> tuple[str, ...]:
    return ("/dev/null", f"pipe:[{pipe}]", "stderr")


def frm(pipe: int) -> tuple[str, ...]:
    return (f"pipe:[{pipe}]", "stdout", "stderr")


@pytest.mark.parametrize(
    ("name", "processes", "expected"),
    [
        ("one after the other", line(ran("make", 2, (0, 5)), ran("wc f", 0, (5, 9)), total=9),
         [(0, 5, "make ended with 2"), (5, 9, "")]),
        ("typed by the shell", line(ran("wc f", 0, (0, 4)), total=9), [(0, 4, ""), (4, 9, TYPED)]),
        ("typed by a program", line(ran("echo x", 0, (0, 2)), total=2), [(0, 2, TYPED)]),
        ("an answer", line(ran("grep x f", 1, (0, 2)), ran("grep x g", 2, (2, 4)), total=4),
         [(0, 2, ""), (2, 4, "grep ended with 2")]),
        ("an answer of somebody else by that name", line(ran("grep x", 1, (0, 2), program="/work/grep"), total=2),
         [(0, 2, "grep ended with 1")]),
        ("a pipe", line(ran("make", 2, (0, 0), files=to(7)), ran("tee log", 0, (0, 5), files=frm(7)), total=5),
         [(0, 5, "make ended with 2")]),
        ("a reader that had enough",
         line(ran("seq 9", -13, (0, 0), files=to(7)), ran("head -1", 0, (0, 2), files=frm(7)), total=2), [(0, 2, "")]),
        ("a reader that failed",
         line(ran("seq 9", -13, (0, 0), files=to(7)), ran("job", 3, (0, 2), files=frm(7)), total=2),
         [(0, 2, "seq ended with -13")]),
        ("read by the shell", line(ran("date", 0, (3, 3), files=to(7)), total=9), [(0, 3, TYPED), (3, 9, "")]),
        ("read by the shell, failed", line(ran("make", 2, (3, 3), files=to(7)), total=9),
         [(0, 3, TYPED), (3, 9, "make ended with 2")]),
        ("in the background", line(ran("make", 2, (0, 9)), ran("wc f", 0, (3, 6)), total=9),
         [(0, 3, "make ended with 2"), (3, 6, "make ended with 2"), (6, 9, "make ended with 2")]),
        ("not found", line(fork(127, (0, 0)), ran("wc f", 0, (0, 4)), total=6),
         [(0, 4, ""), (4, 6, "a part of the shell ended with 127")]),
        ("a subshell that only asked", line(fork(1, (0, 0)), ran("wc f", 0, (0, 4)), total=4), [(0, 4, "")]),
        ("what comes of a leader is its own business",
         line(ran("make", 0, (0, 9)), fork(None, (1, 1), of=2), ran("cc", 1, (1, 5), of=3), total=9),
         [(0, 1, ""), (1, 5, ""), (5, 9, "")]),
        ("unless its program was typed",
         line(ran("python3 -c x", 0, (0, 9)), fork(None, (1, 1), of=2), ran("cc", 1, (1, 5), of=3), total=9),
         [(0, 1, "cc ended with 1"), (1, 5, "cc ended with 1"), (5, 9, "cc ended with 1")]),
        ("or it may be anything",
         line(ran("./x", 0, (0, 9), program="/work/x"), fork(None, (1, 1), of=2), ran("cc", 1, (1, 9), of=3), total=9),
         [(0, 1, "cc ended with 1"), (1, 9, "cc ended with 1")]),
        ("a runner is a shell as soon as something runs under it",
         line(ran("timeout 9", 0, (0, 9)), ran("wc f", 0, (1, 4), of=2), total=9),
         [(0, 1, TYPED), (1, 4, ""), (4, 9, TYPED)]),
        ("and a program if nothing does", line(ran("find .", 0, (0, 9)), total=9), [(0, 9, "")]),
        ("what replaces a program ends for it", line(ran("job", None, (0, 4)), ran("true", 0, (4, 6), of=2), total=6),
         [(0, 4, ""), (4, 6, TYPED)]),
        ("what nobody saw end", line(ran("make", None, (0, 4)), total=4), [(0, 4, "make did not end")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_stretch_is_worth_what_its_parts_are(
    name: str, processes: list[Process], expected: list[tuple[int, int, str]]
) -> None:
    assert told(processes) == expected, name


def test_what_reads_a_file_of_the_call_after_a_failure_proves_content_and_no_success() -> None:
    processes = line(ran("python3 bad.py", 3, (0, 0)), ran("cat out", 0, (0, 5)), ran("wc f", 0, (5, 8)), total=8)
    notes = [(one.against, one.note) for one in CallParts(processes, ("d/out",)).stretches()]
    assert notes == [("", "python3 ended with 3"), ("", "")]


def test_a_file_is_worth_what_whoever_wrote_it_is() -> None:
    wrote = line(
        ran("make", 2, (0, 0), files=("/dev/null", "/work/log", "stderr")),
        ran("seq 3", 0, (0, 0), files=("/dev/null", "/work/n", "stderr")),
        ran("ls nowhere", 2, (0, 0)),
        total=0,
    )
    assert CallParts(wrote).against_file("log") == "make ended with 2"
    assert CallParts(wrote).against_file("n") == ""
    assert CallParts(wrote).against_file("by-make-itself") == "make ended with 2"
    assert CallParts([*wrote[:2], *wrote[3:]]).against_file("by-a-program") == ""


@pytest.mark.parametrize(
    ("processes", "expected"),
    [
        ([ran("grep -r x .", 1, (0, 0))], True),
        ([ran("grep x f", 1, (0, 0)), ran("rg x", 1, (0, 0))], True),
        ([ran("find . -name x", 0, (0, 0))], True),
        ([], False),
        ([ran("grep x f", 0, (0, 0))], False),
        ([ran("grep x f", 2, (0, 0))], False),
        ([ran("grep x", 1, (0, 0))], False),
        ([ran("find . -name x", 0, (0, 0), files=("/dev/null", "/dev/null", "stderr"))], False),
        ([ran("find . -name x", 1, (0, 0))], False),
        ([ran("grep x f", 1, (0, 0), program="/work/grep")], False),
        ([ran("cat f", 0, (0, 0), files=to(7)), ran("grep x -", 1, (0, 0), files=frm(7))], False),
        ([ran("grep x f", 1, (0, 0)), ran("python3 a.py", 0, (0, 0))], False),
    ],
)
def test_nothing_was_found_where_nothing_but_searches_ran_in_vain(processes: list[Process], expected: bool) -> None:
    assert CallParts(line(*processes, total=0)).found_nothing is expected


def test_only_what_the_rule_looks_at_is_recorded_in_characters_and_up_to_a_bound() -> None:
    seen = line(
        ran("python3 a.py", 0, (0, 3)),
        fork(None, (1, 1), of=2),
        ran("cc", 0, (1, 2), of=3),
        ran("wc f", 0, (3, 5)),
        total=5,
    )
    kept = recorded(seen, "é\nab".encode(), b"")
    assert [(p.words.split("\0")[0], p.parent, p.out) for p in kept[1:]] == [
        ("bash", 0, (0, 4)), ("python3", 1, (0, 2)), ("wc", 1, (2, 4)),
    ]  # fmt: skip
    many = line(*(ran("wc f", 0, (at, at + 1)) for at in range(RECORDED_MAX + 50)), total=RECORDED_MAX + 50)
    bounded = recorded(many, b"x" * (RECORDED_MAX + 50), b"")
    assert len(bounded) == RECORDED_MAX + 1
    against = [one.against for one in CallParts(bounded).stretches()]
    assert (against[0], against[-1]) == ("", "more processes ran than are recorded")
