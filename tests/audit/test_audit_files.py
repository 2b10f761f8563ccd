"""An audit log in several files: one chain over all of them, whoever writes, reads or is killed meanwhile."""

import errno
import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from audit_scripts import event, verify_log

from earnest.audit.files import full_files, full_name
from earnest.audit.log import AuditLog
from earnest.audit.reading import has_position, newest_lines, read_lines


def divided(folder: Path, count: int, file_bytes: int = 900) -> Path:
    path = folder / "audit.jsonl"
    log = AuditLog.open(path, 0, file_bytes)
    for seq in range(1, count + 1):
        log.append(event(seq, "SubTask", fields={"round": seq}))
    log.close()
    return path


def test_a_full_file_is_put_aside_and_the_chain_goes_on_in_the_next(tmp_path: Path) -> None:
    path = divided(tmp_path, 20)
    full = full_files(path)
    assert len(full) > 3
    assert all(one.path.stat().st_size >= 900 for one in full)
    lines = list(read_lines(path))
    assert [line.lines for line in lines] == list(range(1, 21))
    assert not any(line.fault for line in lines)
    assert verify_log(path).end == lines[-1].end
    for line in lines:
        assert has_position(path, line.end)
        assert [after.lines for after in read_lines(path, line.end)] == list(range(line.lines + 1, 21))
    assert [json.loads(line)["seq"] for line in newest_lines(path, 12)] == list(range(9, 21))


def test_writers_follow_each_other_into_the_next_file(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    writers = [AuditLog.open(path, 0, 900) for _ in range(3)]
    chance = random.Random(21)
    seen = {id(log): 0 for log in writers}
    for seq in range(1, 60):
        log = chance.choice(writers)
        with log.held(0) as added:
            assert [line.seq for line in added] == list(range(seen[id(log)] + 1, seq))
            log.append(event(log.next_seq, "SubTask"))
        seen[id(log)] = seq
    for log in writers:
        log.close()
    assert (verify_log(path).end.lines, verify_log(path).broken_line) == (59, None)
    assert len(full_files(path)) > 10


@pytest.mark.parametrize("torn", [b"", b'{"at_ms":1'])
def test_a_writer_killed_between_two_files_leaves_a_whole_log(tmp_path: Path, torn: bytes) -> None:
    path = divided(tmp_path, 3, 10_000)
    path.rename(full_name(path, 3))
    assert verify_log(path).end.lines == 3
    if torn:
        path.write_bytes(torn)
        assert verify_log(path).torn_bytes == len(torn)
    log = AuditLog.open(path, 7)
    assert log.next_seq == (5 if torn else 4)
    log.append(event(log.next_seq, "SubTask"))
    log.close()
    assert verify_log(path).broken_line is None


@pytest.mark.parametrize("change", ["remove", "cut", "add", "swap"])
def test_whatever_was_done_to_a_full_file_is_found(tmp_path: Path, change: str) -> None:
    path = divided(tmp_path, 12)
    first, second, third = (one.path for one in full_files(path)[:3])
    match change:
        case "remove":
            second.unlink()
        case "cut":
            second.write_bytes(second.read_bytes()[:-20])
        case "add":
            second.write_bytes(second.read_bytes() + b"{")
        case "swap":
            whole = second.read_bytes()
            second.write_bytes(third.read_bytes())
            third.write_bytes(whole)
    assert first.exists()
    assert verify_log(path).broken_line is not None


def test_a_file_that_cannot_be_put_aside_is_written_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", full)
        path = divided(tmp_path, 6)
        assert full_files(path) == []
    log = AuditLog.open(path, 0, 900)
    log.append(event(7, "SubTask"))
    log.close()
    assert (verify_log(path).end.lines, len(full_files(path))) == (7, 1)


def test_a_reader_sees_one_log_while_files_are_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog.open(path, 0, 600)
    log.append(event(1, "SubTask"))
    stopped = Event()

    def write() -> None:
        while not stopped.is_set():
            log.append(event(log.next_seq, "SubTask"))

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            for _ in range(30):
                check = verify_log(path)
                assert check.broken_line is None, check
        finally:
            stopped.set()
        writing.result()
    log.close()
