"""Which calls does the filter refuse? The bytes are run here as the kernel would run them."""

import errno
import struct

import pytest

from earnest.effects.hands.sandbox.seccomp import ABSENT, CONDITIONAL, FORBIDDEN, child_filter_bytes, filter_bytes
from earnest.foundation.errors import Refused

ALLOW, KILL = 0x7FFF0000, 0x80000000
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
INSTRUCTIONS_MAX = 4096


def answer(
    machine: str, number: int, *arguments: int, architecture: int | None = None, code: bytes | None = None
) -> int:
    """What the kernel would do with this call: run the classic BPF program on a `struct seccomp_data`."""
    given = ARCHITECTURES[machine][1] if architecture is None else architecture
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("<IIQ6Q", number, given, 0, *(value & (1 << 64) - 1 for value in padded))
    program = list(struct.iter_unpack("<HBBI", code or filter_bytes(machine)))
    accumulator = at = 0
    while True:
        operation, if_true, if_false, value = program[at]
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, value)
            case 0x15:
                at += if_true if accumulator == value else if_false
            case 0x35:
                at += if_true if accumulator >= value else if_false
            case 0x45:
                at += if_true if accumulator & value else if_false
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(hex(operation))


def error(number: int) -> int:
    return 0x00050000 | number


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_every_listed_call_is_refused_with_its_error(machine: str) -> None:
    column = ARCHITECTURES[machine][0]
    for calls, expected in ((FORBIDDEN, errno.EPERM), (ABSENT, errno.ENOSYS)):
        for name, numbers in calls.items():
            number = numbers[column]
            assert number is None or answer(machine, number) == error(expected), name


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_every_other_call_is_allowed(machine: str) -> None:
    column = ARCHITECTURES[machine][0]
    listed = {numbers[column] for calls in (FORBIDDEN, ABSENT, CONDITIONAL) for numbers in calls.values()}
    assert {answer(machine, number) for number in range(600) if number not in listed} == {ALLOW}


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("unshare", (0x10000000,), error(errno.EPERM)),
        ("unshare", (0x80,), error(errno.EPERM)),
        ("unshare", (0x400,), ALLOW),  # CLONE_FILES
        ("clone", (0x10000000 | 17,), error(errno.EPERM)),
        ("clone", (0x20000000,), error(errno.EPERM)),
        ("clone", (0x01200011,), ALLOW),  # what fork() uses
        ("clone", (0x3D0F00,), ALLOW),  # what threads use
        ("prlimit64", (1, 7), error(errno.EPERM)),
        ("prlimit64", (0, 7), ALLOW),
        ("socket", (40, 1), error(errno.EAFNOSUPPORT)),
        ("socket", (17, 3), error(errno.EAFNOSUPPORT)),
        ("socket", (38, 5), error(errno.EAFNOSUPPORT)),
        ("socket", (1, 1), ALLOW),
        ("socket", (2, 1), ALLOW),
        ("socket", (10, 2), ALLOW),
        ("socketpair", (1, 1), ALLOW),
        ("ioctl", (0, 0x5412), error(errno.EPERM)),
        ("ioctl", (0, 0xFFFFFFFF00005412), error(errno.EPERM)),
        ("ioctl", (0, 0x541C), error(errno.EPERM)),
        ("ioctl", (0, 0x5401), ALLOW),
        ("chmod", (0, 0o4755), error(errno.EPERM)),
        ("chmod", (0, 0o755), ALLOW),
        ("fchmod", (0, 0o2755), error(errno.EPERM)),
        ("fchmodat", (0, 0, 0o6755), error(errno.EPERM)),
        ("fchmodat2", (0, 0, 0o4000, 0), error(errno.EPERM)),
        ("openat", (0, 0, 0o101, 0o4755), error(errno.EPERM)),
        ("openat", (0, 0, 0o101, 0o644), ALLOW),
        ("openat", (0, 0, 0, 0o4755), ALLOW),  # no O_CREAT: the mode is whatever the register held
        ("open", (0, 0o101, 0o4755), error(errno.EPERM)),
        ("open", (0, 0, 0o4755), ALLOW),
        ("mknodat", (0, 0, 0o4644, 0), error(errno.EPERM)),
    ],
)
def test_arguments_decide_whether_a_call_is_refused(
    machine: str, name: str, arguments: tuple[int, ...], expected: int
) -> None:
    number = CONDITIONAL[name][ARCHITECTURES[machine][0]]
    if number is not None:
        assert answer(machine, number, *arguments) == expected


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_a_foreign_architecture_ends_the_process(machine: str) -> None:
    assert answer(machine, 1, architecture=0x40000003) == KILL  # AUDIT_ARCH_I386
    assert answer(machine, 0x40000000 | 1) == KILL  # x32


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_program_is_one_that_the_kernel_takes(machine: str) -> None:
    program = list(struct.iter_unpack("<HBBI", filter_bytes(machine)))
    assert len(program) <= INSTRUCTIONS_MAX
    assert program[-1][0] == 0x06
    for at, (code, if_true, if_false, _) in enumerate(program):
        assert code not in (0x15, 0x35, 0x45) or at + 1 + max(if_true, if_false) < len(program)


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(Refused, match="riscv64"):
        filter_bytes("riscv64")


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_where_pid_1_may_trace_what_it_traces_may_not_and_leaves_no_child_untraced(machine: str) -> None:
    column = ARCHITECTURES[machine][0]
    ptrace, mount, clone = (
        numbers[column] or 0 for numbers in (FORBIDDEN["ptrace"], FORBIDDEN["mount"], CONDITIONAL["clone"])
    )
    outer, inner = filter_bytes(machine, tracing=True), child_filter_bytes(machine)
    assert (answer(machine, ptrace, code=outer), answer(machine, ptrace, code=inner)) == (ALLOW, error(errno.EPERM))
    assert answer(machine, mount, code=outer) == error(errno.EPERM)
    assert answer(machine, clone, 0x00800011, code=inner) == error(errno.EPERM)
    assert answer(machine, clone, 0x01200011, code=inner) == ALLOW
