"""Which system calls does the kernel refuse inside: a BPF program, as bytes, for one architecture.

The filter is a list of what is refused, laid over namespaces, dropped capabilities and `no_new_privs`: it takes away
kernel surface that a judged program never needs and that has been the way out of such boxes before. A call from
another architecture's table (32-bit, x32) ends the process, because its numbers would mean other calls.
Source: linux/filter.h, linux/seccomp.h, asm/unistd_64.h, asm-generic/unistd.h.
"""

import errno
import struct
from typing import Final, NamedTuple

from earnest.foundation.errors import Refused

# name → (number on x86_64, number on aarch64); None where the call does not exist.
Calls = dict[str, tuple[int | None, int | None]]

# Refused as if the right were missing.
FORBIDDEN: Final[Calls] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}

# Refused as if the kernel did not have them, so that programs fall back: clone3 and openat2 hide their flags behind
# a pointer; memory files and System V objects would hold memory that belongs to no process and to no tmpfs of ours;
# contexts of asynchronous I/O are few and the whole machine's.
ABSENT: Final[Calls] = {
    "clone3": (435, 435),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "io_setup": (206, 0),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "openat2": (437, 437),
    "semget": (64, 190),
    "shmget": (29, 194),
}

# Refused with some arguments only, see `RULES`.
CONDITIONAL: Final[Calls] = {
    "chmod": (90, None),
    "clone": (56, 220),
    "creat": (85, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "ioctl": (16, 29),
    "ioprio_set": (251, 30),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "open": (2, None),
    "openat": (257, 56),
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "setpriority": (141, 140),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "unshare": (272, 97),
}

_ARCHITECTURES: Final = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column above, AUDIT_ARCH_*


_ANY_BIT: Final = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_NOT_EQUAL: Final = 0


class Condition(NamedTuple):
    """Holds if the low 32 bits of argument `argument` (from 0) compare so with `value`. These arguments are ints."""

    argument: int
    match: int
    value: int


def _other_than(argument: int, *values: int) -> tuple[Condition, ...]:
    return tuple(Condition(argument, _NOT_EQUAL, value) for value in values)


_NAMESPACES: Final = 0x7E020000  # CLONE_NEW{CGROUP,UTS,IPC,USER,PID,NET,NS}
_UNTRACED: Final = 0x00800000  # CLONE_UNTRACED
_NEW_TIME: Final = 0x80  # CLONE_NEWTIME; in clone() these bits are the exit signal
_SET_ID: Final = 0o6000  # a file that lends its owner's rights would outlive the sandbox in a bound folder
_CREATE: Final = 0o100  # O_CREAT: without it the mode is not an argument
_FAMILIES: Final = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_SCHEDULING: Final = ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")
_PRIORITIES: Final = (("setpriority", 2), ("ioprio_set", 3))  # PRIO_USER, IOPRIO_WHO_USER: pid 1 has our uid
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_MODES: Final = (  # (call, argument that is a mode)
    ("chmod", 1),
    ("fchmod", 1),
    ("fchmodat", 2),
    ("fchmodat2", 2),
    ("creat", 1),
    ("mknod", 1),
    ("mknodat", 2),
)

# (call, conditions that must all hold, error)
RULES: Final[tuple[tuple[str, tuple[Condition, ...], int], ...]] = (
    ("unshare", (Condition(0, _ANY_BIT, _NAMESPACES | _NEW_TIME),), errno.EPERM),
    ("clone", (Condition(0, _ANY_BIT, _NAMESPACES),), errno.EPERM),
    ("prlimit64", _other_than(0, 0), errno.EPERM),  # nobody sets the limits of another process, least of pid 1
    *((call, (Condition(0, _EQUAL, 1),), errno.EPERM) for call in _SCHEDULING),  # nor when pid 1 may run
    *(
        (call, (Condition(argument, _EQUAL, value),), errno.EPERM)
        for call, everybody in _PRIORITIES
        for argument, value in ((1, 1), (0, everybody))
    ),
    ("socket", _other_than(0, *_FAMILIES), errno.EAFNOSUPPORT),
    ("socketpair", _other_than(0, *_FAMILIES), errno.EAFNOSUPPORT),
    ("ioctl", (Condition(1, _EQUAL, _TIOCSTI),), errno.EPERM),
    ("ioctl", (Condition(1, _EQUAL, _TIOCLINUX),), errno.EPERM),
    *((call, (Condition(argument, _ANY_BIT, _SET_ID),), errno.EPERM) for call, argument in _MODES),
    ("open", (Condition(1, _ANY_BIT, _CREATE), Condition(2, _ANY_BIT, _SET_ID)), errno.EPERM),
    ("openat", (Condition(2, _ANY_BIT, _CREATE), Condition(3, _ANY_BIT, _SET_ID)), errno.EPERM),
)

_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_AT_LEAST: Final = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16  # offsets in struct seccomp_data, little-endian
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_X32_BIT: Final = 0x40000000

_Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, value


def filter_bytes(machine: str, *, tracing: bool = False) -> bytes:
    """The program for `machine` (as `uname -m` says it), 8 bytes an instruction.

    With `tracing`, pid 1 may trace; what it traces is then held by `child_filter_bytes` as well.
    Raises `Refused("sandbox_architecture")` for one whose call numbers are not in the tables.
    """
    column, program = _prologue(machine)
    for calls, error in ((FORBIDDEN, errno.EPERM), (ABSENT, errno.ENOSYS)):
        for name, numbers in calls.items():
            if not (tracing and name == "ptrace"):
                program += _rule(numbers[column], (), error)
    for name, conditions, error in RULES:
        program += _rule(CONDITIONAL[name][column], conditions, error)
    return _packed(program)


def child_filter_bytes(machine: str) -> bytes:
    """What a traced command lays upon itself besides: it traces nothing, and makes no child that is not traced."""
    column, program = _prologue(machine)
    program += _rule(FORBIDDEN["ptrace"][column], (), errno.EPERM)
    program += _rule(CONDITIONAL["clone"][column], (Condition(0, _ANY_BIT, _UNTRACED),), errno.EPERM)
    return _packed(program)


def _prologue(machine: str) -> tuple[int, list[_Instruction]]:
    """The column of the machine in the tables, and the end of every call that is none of its own."""
    if machine not in _ARCHITECTURES:
        raise Refused("sandbox_architecture", f"there is no system call filter for {machine}")
    column, architecture = _ARCHITECTURES[machine]
    return column, [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _KILL),
    ]


def _packed(program: list[_Instruction]) -> bytes:
    """The bytes of a program that allows whatever it has not answered."""
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in (*program, (_RETURN, 0, 0, _ALLOW)))


def _rule(number: int | None, conditions: tuple[Condition, ...], error: int) -> list[_Instruction]:
    """Return `error` if the call is `number` and every condition holds; else go on with the number loaded again."""
    if number is None:
        return []
    if not conditions:
        return [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | error)]
    body: list[_Instruction] = []
    past = 2 * len(conditions) + 1  # distance from the first condition to the reload at the end
    for index, condition in enumerate(conditions):
        out = past - 2 * index - 2
        body.append((_LOAD, 0, 0, _ARGUMENTS_AT + 8 * condition.argument))
        if condition.match == _NOT_EQUAL:
            body.append((_EQUAL, out, 0, condition.value))
        else:
            body.append((condition.match, 0, out, condition.value))
    body += [(_RETURN, 0, 0, _ERROR | error), (_LOAD, 0, 0, _NUMBER_AT)]
    return [(_EQUAL, 0, len(body), number), *body]
