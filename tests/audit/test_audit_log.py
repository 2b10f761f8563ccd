"""Does the chain hold what it promises: nothing changed, nothing removed, nothing moved, one torn line at most?"""

import fcntl
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from audit_scripts import event, verify_log
from hypothesis import given
from hypothesis import strategies as st

from earnest.audit import log as log_module
from earnest.audit.event import GENESIS, LINE_BYTES_MAX, LogPosition, Scalar, decode_line, encode_line, plain
from earnest.audit.log import AuditLog
from earnest.audit.reading import has_position, heads_in, read_lines
from earnest.foundation.canonical import canonical_bytes, digest_bytes
from earnest.foundation.errors import Broken, Refused, Unavailable

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
FIELDS = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e9, 1e9) | TEXT.map(plain)


def written(folder: Path, count: int) -> Path:
    path = folder / "audit.jsonl"
    log = AuditLog.open(path, 0)
    for seq in range(1, count + 1):
        log.append(event(seq, "SubTask", fields={"round": seq}))
    log.close()
    return path


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["round", "D", "tool"]), FIELDS), TEXT.map(plain))
def test_a_line_is_canonical_json_and_its_hash_is_that_of_the_rest(fields: dict[str, Scalar], name: str) -> None:
    sent = event(1, "SubTask", fields=fields, identity=name or "m", cause=name)
    line, head = encode_line(sent, GENESIS)
    members = json.loads(line)
    assert canonical_bytes(members) + b"\n" == line
    assert members.pop("hash") == head
    assert digest_bytes(canonical_bytes(members)) == f"sha256:{head}"
    assert decode_line(line[:-1]) == (sent, GENESIS, head)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("count", "count"),
        ("größe 大", "größe 大"),
        ("\x1b[31mred\n", "?[31mred?"),
        ("\ud800", "?"),
        ("x" * 999, "x" * 200),
    ],
)
def test_names_in_the_log_are_short_and_printable(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_log_is_private_and_reads_back_as_it_was_written(tmp_path: Path) -> None:
    path = written(tmp_path, 3)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = list(read_lines(path))
    assert [line.event for line in lines] == [event(seq, "SubTask", fields={"round": seq}) for seq in (1, 2, 3)]
    assert [line.fault for line in lines] == ["", "", ""]
    assert (
        verify_log(path).end
        == lines[-1].end
        == LogPosition(offset_bytes=path.stat().st_size, lines=3, head=lines[-1].head)
    )


def test_a_log_of_another_mode_becomes_private(tmp_path: Path) -> None:
    path = written(tmp_path, 1)
    path.chmod(0o644)
    AuditLog.open(path, 0).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = written(tmp_path, 2)
    log = AuditLog.open(path, 0)
    log.append(event(log.next_seq, "SubTask"))
    log.close()
    log.close()
    check = verify_log(path)
    assert (check.end.lines, check.broken_line) == (3, None)


def test_several_write_one_chain_and_each_is_told_what_the_others_have_added(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    one, other = AuditLog.open(path, 0), AuditLog.open(path, 0)
    one.append(event(1, "SubTask"))
    with other.held(0) as added:
        assert added == [event(1, "SubTask")]
        other.append(event(other.next_seq, "SubTask"))
    with one.held(0) as added:
        assert [line.seq for line in added] == [2]
    assert one.end == other.end == verify_log(path).end
    one.close()
    other.close()


def test_a_line_that_a_killed_writer_left_torn_is_cut_by_the_next_one(tmp_path: Path) -> None:
    path = written(tmp_path, 1)
    log = AuditLog.open(path, 0)
    with path.open("ab") as file:
        file.write(b'{"at_ms":1')
    with log.held(7) as added:
        assert [line.fields for line in added] == [{"cut_bytes": 10}]
        log.append(event(log.next_seq, "SubTask"))
    log.close()
    assert (verify_log(path).end.lines, verify_log(path).broken_line) == (3, None)


def test_who_keeps_a_log_to_itself_is_named_and_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "HELD_WAIT_MS", 1)
    path = written(tmp_path, 1)
    log = AuditLog.open(path, 0)
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Refused, match=f"pid {os.getpid()}") as refusal:
            AuditLog.open(path, 0)
        assert refusal.value.code == "audit_log_busy"
        for _ in range(2):
            with pytest.raises(Unavailable, match=f"pid {os.getpid()}"):
                log.append(event(2, "SubTask"))
    log.append(event(2, "SubTask"))
    log.close()


def test_a_line_out_of_turn_is_our_own_fault(tmp_path: Path) -> None:
    log = AuditLog.open(tmp_path / "audit.jsonl", 0)
    with pytest.raises(Broken):
        log.append(event(2, "SubTask"))
    log.close()


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        AuditLog.open(tmp_path / "audit.jsonl", 0)


@pytest.mark.slow
def test_a_torn_last_line_is_cut_and_noted_wherever_it_was_torn(tmp_path: Path) -> None:
    path = written(tmp_path, 3)
    whole = path.read_bytes()
    second_end = whole.index(b"\n", whole.index(b"\n") + 1) + 1
    for length in range(second_end, len(whole)):
        path.write_bytes(whole[:length])
        assert verify_log(path).torn_bytes == length - second_end
        AuditLog.open(path, 7).close()
        lines = list(read_lines(path))
        assert not any(line.fault for line in lines)
        notes = [line.event for line in lines[2:]]
        cut = length - second_end
        assert [note.fields if note else None for note in notes] == ([{"cut_bytes": cut}] if cut else [])


def test_a_log_torn_in_its_first_line_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b'{"at_ms":1')
    AuditLog.open(path, 7).close()
    assert verify_log(path).end.lines == 1


@pytest.mark.parametrize("end", [b"not an event\n", b"{}\n", b"\n", b"x" * LINE_BYTES_MAX])
def test_nothing_is_added_after_a_damaged_last_line(tmp_path: Path, end: bytes) -> None:
    path = written(tmp_path, 1)
    with path.open("ab") as file:
        file.write(end)
    assert verify_log(path).broken_line == 2
    with pytest.raises(Broken, match="move it away"):
        AuditLog.open(path, 0)


def test_a_log_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refusal:
        verify_log(tmp_path / "audit.jsonl")
    assert refusal.value.code == "audit_log_missing"


COUNT = 6


@pytest.mark.slow
@given(data=st.data())
def test_any_single_changed_removed_or_swapped_line_is_found(tmp_path_factory: Any, data: st.DataObject) -> None:
    path = written(tmp_path_factory.mktemp("log"), COUNT)
    lines = path.read_bytes().splitlines(keepends=True)
    match data.draw(st.sampled_from(["change", "remove", "swap", "repeat"])):
        case "change":
            broken = data.draw(st.integers(0, COUNT - 1))
            place = data.draw(st.integers(0, len(lines[broken]) - 2))
            line = bytearray(lines[broken])
            line[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[place] and byte != 10))
            lines[broken] = bytes(line)
        case "remove":
            broken = data.draw(st.integers(0, COUNT - 2))  # the last one: see the head that was written down
            del lines[broken]
        case "swap":
            broken = data.draw(st.integers(0, COUNT - 2))
            other = data.draw(st.integers(broken + 1, COUNT - 1))
            lines[broken], lines[other] = lines[other], lines[broken]
        case _:
            broken = data.draw(st.integers(1, COUNT))
            lines.insert(broken, lines[broken - 1])
    path.write_bytes(b"".join(lines))
    check = verify_log(path)
    assert check.broken_line == broken + 1
    assert check.end.lines == broken
    assert check.reason


def test_a_log_cut_at_a_line_no_longer_has_a_position_written_down_before(tmp_path: Path) -> None:
    path = written(tmp_path, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    end = verify_log(path).end
    assert has_position(path, end)
    path.write_bytes(b"".join(lines[:2]))
    assert verify_log(path).broken_line is None
    assert not has_position(path, end)


def test_a_line_that_is_not_taken_is_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog.open(path, 0)
    log.append(event(1, "SubTask"))
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:20]))
    with pytest.raises(Unavailable, match="20 of"):
        log.append(event(2, "SubTask"))
    monkeypatch.setattr(os, "write", write)
    log.append(event(2, "SubTask"))
    log.close()
    assert verify_log(path).end.lines == 2


def test_a_piece_that_could_not_be_taken_back_is_taken_back_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int, length: int) -> None:
        raise OSError("no")

    path = tmp_path / "audit.jsonl"
    log = AuditLog.open(path, 0)
    with monkeypatch.context() as patch:
        write = os.write
        patch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:20]))
        patch.setattr(os, "ftruncate", fail)
        with pytest.raises(Unavailable):
            log.append(event(1, "SubTask"))
    with log.held(0) as repaired:
        assert [line.fields for line in repaired] == [{"cut_bytes": 20}]
        log.append(event(2, "SubTask"))
    log.close()
    assert verify_log(path).end.lines == 2


def test_the_journals_heads_are_read_in_order_and_only_from_the_runtime(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog.open(path, 0)
    log.append(event(1, "TreeHead", run_id="", fields={"size": 4, "root": "sha256:a"}))
    log.append(
        event(2, "TreeHead", run_id="", fields={"size": 5, "root": "b"}, violation="foreign_sender", sender="R3")
    )
    log.append(event(3, "TreeHead", run_id="", fields={"size": "many", "root": "c"}))
    log.append(event(4, "SubTask", fields={"round": 1}))
    log.append(event(5, "TreeHead", run_id="", fields={"size": 9, "root": "sha256:d"}))
    log.close()
    assert list(heads_in(path)) == [(4, "sha256:a"), (9, "sha256:d")]
