"""Which failures are the environment's?"""

import errno
import os

import pytest

from earnest.effects.hands.sandbox.api import ExecutionReport, ExecutionStatus
from earnest.effects.hands.tools.failures import (
    ENVIRONMENTAL_ERRNOS,
    LIMIT_CODES,
    ToolFailure,
    of_os_error,
    of_report,
)
from earnest.foundation.errors import Broken
from earnest.foundation.failures import FailureClass


def of_exit(code: int, stderr: str = "", programs: str = "prog") -> tuple[str | None, str] | None:
    failure = of_report(
        ExecutionReport(status=ExecutionStatus.DONE, exit_code=code, stderr=stderr.encode()), programs.split()
    )
    return None if failure is None else (failure.failure_class, failure.code)


def test_an_exit_code_of_0_is_no_failure() -> None:
    assert of_exit(0, "cat: x: No such file or directory") is None


@pytest.mark.parametrize(
    ("code", "stderr", "programs", "expected"),
    [
        (1, "", "prog", ("logical", "exit_code")),
        (-11, "", "prog", ("logical", "signal")),
        (126, "", "prog", ("environmental", "not_executable")),
        (127, "bash: nope: command not found", "prog", ("environmental", "not_found")),
        (1, "cat: x: No such file or directory\n", "cat", ("environmental", "enoent")),
        (1, "x\nmkdir: cannot create 'a': Permission denied", "mkdir", ("environmental", "eacces")),
        (1, "tee: out: No space left on device.", "tee", ("environmental", "enospc")),
        (1, "sh: 1: cannot create x: Read-only file system", "sh", ("environmental", "erofs")),
        (2, "FileNotFoundError: [Errno 2] No such file or directory: 'x'", "python3", ("environmental", "enoent")),
        (1, "OSError: [Errno 101] Network is unreachable", "python3", ("environmental", "enetunreach")),
        (
            1,
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            "python3",
            ("environmental", "network"),
        ),
        (1, "IsADirectoryError: [Errno 21] Is a directory: 'x'", "python3", ("logical", "exit_code")),
        (1, "ValueError: [Errno 99999] no such number", "python3", ("logical", "exit_code")),
        (1, "cat: x: No such file or directory\nAssertionError: 3 != 4", "prog", ("logical", "exit_code")),
        (1, "I am sure that there is no such file or directory", "prog", ("logical", "exit_code")),
        (1, "No such file or directory was expected: three", "prog", ("logical", "exit_code")),
        (7, "", "curl", ("environmental", "network")),
        (22, "", "curl", ("logical", "exit_code")),
        (7, "", "curl pytest", ("logical", "exit_code")),
        (255, "", "ssh", ("environmental", "network")),
        (255, "", "prog", ("logical", "exit_code")),
    ],
)
def test_only_an_exit_code_or_an_errno_makes_a_failure_environmental(
    code: int, stderr: str, programs: str, expected: tuple[str, str]
) -> None:
    assert of_exit(code, stderr, programs) == expected


@pytest.mark.parametrize(
    ("passed", "code"),
    [
        (ExecutionReport(status=ExecutionStatus.KILLED, timed_out=True), "timeout"),
        (ExecutionReport(status=ExecutionStatus.KILLED, memory_exceeded=True), "memory_limit"),
        (ExecutionReport(status=ExecutionStatus.KILLED, cpu_exceeded=True), "cpu_limit"),
        (ExecutionReport(status=ExecutionStatus.KILLED, output_exceeded=True), "output_limit"),
        (ExecutionReport(status=ExecutionStatus.KILLED, disk_exceeded=True), "disk_limit"),
        (ExecutionReport(status=ExecutionStatus.DONE, exit_code=0, processes_exceeded=True), "process_limit"),
    ],
)
def test_a_passed_limit_is_environmental_whatever_the_exit_code(passed: ExecutionReport, code: str) -> None:
    failure = of_report(passed, ["prog"])
    assert failure is not None
    assert (failure.failure_class, failure.code) == (FailureClass.ENVIRONMENTAL, code)
    assert passed.broken_limit in LIMIT_CODES


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (ExecutionReport(status=ExecutionStatus.REFUSED, reason="no bwrap"), "sandbox_refused"),
        (ExecutionReport(status=ExecutionStatus.KILLED), "sandbox_killed"),
        (ExecutionReport(status=ExecutionStatus.DONE), "sandbox_killed"),
    ],
)
def test_a_fault_of_our_own_has_no_class(report: ExecutionReport, code: str) -> None:
    failure = of_report(report, ["prog"])
    assert failure is not None
    assert (failure.failure_class, failure.code) == (None, code)


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.EROFS, errno.EISDIR, errno.ELOOP, 0])
def test_a_file_tools_errno_gives_code_and_class(number: int) -> None:
    failure = of_os_error(OSError(number, os.strerror(number)), "x")
    assert failure.code == errno.errorcode.get(number, "unknown_errno").lower()
    expected = FailureClass.ENVIRONMENTAL if number in ENVIRONMENTAL_ERRNOS else FailureClass.LOGICAL
    assert failure.failure_class is expected


@pytest.mark.parametrize(
    ("stderr", "paths"),
    [
        ("rm: cannot remove '/srv/u/a b': Read-only file system", ("/srv/u/a b",)),
        ("find: cannot delete \u2018/srv/u/a\u2019: Read-only file system", ("/srv/u/a",)),
        ("/bin/bash: line 1: /srv/u/a: Read-only file system", ("/bin/bash", "/srv/u/a")),
        ("sed: couldn't open temporary file /srv/u/sedX: Read-only file system", ("/srv/u/sedX",)),
        ("OSError: [Errno 30] Read-only file system: '/srv/u/a' -> '/srv/u/b'", ("/srv/u/a", "/srv/u/b")),
        ("rm: '/a/x': Read-only file system\nrm: '/a/y': Read-only file system", ("/a/x", "/a/y")),
        ("cat: '/a/x': Permission denied\nrm: cannot remove 'y': Read-only file system", ()),
        ("rm: cannot remove '/a/x': Read-only file system\ndone", ()),
        ("cat: '/a/x': No such file or directory", ()),
    ],
)
def test_what_could_not_be_written_is_named_where_the_command_says_so(stderr: str, paths: tuple[str, ...]) -> None:
    failure = of_report(ExecutionReport(status=ExecutionStatus.DONE, exit_code=1, stderr=stderr.encode()), ["rm"])
    assert failure is not None
    assert failure.paths == paths


@pytest.mark.parametrize("failure_class", [*FailureClass, None])
def test_a_failure_comes_back_from_json(failure_class: FailureClass | None) -> None:
    failure = ToolFailure(failure_class=failure_class, code="c", message="m", paths=("/a", "/b"))
    assert ToolFailure.from_json(failure.to_json()) == failure


@pytest.mark.parametrize("value", [None, {}, {"class": "other", "code": "c", "message": "m"}, {"class": None}])
def test_what_is_not_ours_is_never_read_as_a_failure(value: object) -> None:
    with pytest.raises(Broken):
        ToolFailure.from_json(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "stderr", "message"),
    [
        (3, "Traceback:\nKeyError: 'day'\n", "exit code 3: KeyError: 'day'"),
        (3, "", "exit code 3"),
        (127, "sh: 1: tides: not found\n", "exit code 127: a program could not be started: sh: 1: tides: not found"),
        (-11, "about to end\n", "ended by signal 11: about to end"),
        (3, "x" * 1_000, f"exit code 3: {'x' * 300}"),
    ],
)
def test_the_message_ends_with_the_last_line_of_stderr(code: int, stderr: str, message: str) -> None:
    failure = of_report(ExecutionReport(status=ExecutionStatus.DONE, exit_code=code, stderr=stderr.encode()), ["prog"])
    assert failure is not None
    assert failure.message == message
