"""The census that pid 1 takes of a sandbox: who lives, and what they took and gave back since the last one.

Memory is read off the kernel's own peak counters, which miss nothing between two looks: what was mapped, written and
given back meanwhile counts as if all of it had been held at once. CPU time of those that nobody waited for is kept.
Compiled into pid 1 (`launcher.py`), so it imports only what that has.
"""

# pathlib would cost as much as the rest of the start.
# ruff: noqa: PTH123, PTH208

import _thread
import os
import resource

KIB = 1024
TICK_US = 1_000_000 // os.sysconf("SC_CLK_TCK")
GIVEN_BACK_BYTES_MIN = 1 << 20  # smaller peaks are not worth a reset
RESET_PEAK = b"5"  # proc_pid_clear_refs(5): the peak becomes what is resident now
LEADER_GONE = (b"Z", b"X")
STATE, OWN_CPU, WAITED_CPU, THREADS, BORN = 0, slice(11, 13), slice(13, 15), 17, 19  # in the fields of a stat file
PEAK, RESIDENT, BESIDE = b"VmHWM:", b"VmRSS:", (b"VmPTE:", b"VmSwap:", b"HugetlbPages:")


class Census:
    """What is known of the living, and of the dead that their parents let go uncounted."""

    def __init__(self) -> None:
        self.count = 0
        self.cpu_us = 0
        self.memory_bytes = 0
        self._seen: dict[tuple[str, bytes], tuple[int, int]] = {}
        self._buried_us = 0
        self._owed_us = 0
        self._lost_us = 0
        self._resetting = False

    def take(self, memory_bytes_max: int) -> None:
        """Count, and sum up CPU time and memory.

        Shared pages count once, for which pages have to be walked: only where the sum would be too much otherwise.
        """
        living: list[str] = []
        seen: dict[tuple[str, bytes], tuple[int, int]] = {}
        for name in os.listdir("/proc"):
            fields = stat_fields(name) if name.isdigit() and name != "1" else None
            if fields is None:
                continue
            seen[name, fields[BORN]] = (microseconds(fields[OWN_CPU]), microseconds(fields[WAITED_CPU]))
            if fields[STATE] not in LEADER_GONE:
                living.append(name)
            elif fields[THREADS] != b"1" and (thread := living_thread(name)):
                living.append(thread)
        self.count = len(living)
        buried = resource.getrusage(resource.RUSAGE_CHILDREN)
        buried_us = int((buried.ru_utime + buried.ru_stime) * 1_000_000)
        self.cpu_us = sum(map(sum, seen.values())) + buried_us + self._uncounted(seen, buried_us)
        found = [(name, *memory_of(name)) for name in living]
        self.memory_bytes = sum(max(peak, now) + beside for _, peak, now, beside in found)
        if self.memory_bytes > memory_bytes_max:
            # Not all are seen at one instant: who shares a page with one that has just ended weighs more. So twice.
            self.memory_bytes = min(
                sum(proportional_bytes(name) + max(peak - now, 0) + beside for name, peak, now, beside in found)
                for _ in range(2)
            )
        self._reset([name for name, peak, now, _ in found if peak - now >= GIVEN_BACK_BYTES_MIN])

    def _uncounted(self, seen: dict[tuple[str, bytes], tuple[int, int]], buried_us: int) -> int:
        """CPU time of processes whose parent ignores their death: the kernel adds it to nobody's.

        What is gone must turn up in the sums of those that wait, now or at the next look.
        """
        gone_us = sum(sum(times) for key, times in self._seen.items() if key not in seen)
        found_us = buried_us - self._buried_us
        found_us += sum(times[1] - self._seen.get(key, (0, 0))[1] for key, times in seen.items())
        self._lost_us += max(0, self._owed_us - found_us)
        self._owed_us = max(0, gone_us - max(0, found_us - self._owed_us))
        self._seen, self._buried_us = seen, buried_us
        return self._lost_us

    def _reset(self, names: list[str]) -> None:
        """Let peaks begin anew, in a thread: it waits for whoever is changing his memory, and we never do.

        A peak that cannot be reset stays what it is, and counts at each look.
        """
        if names and not self._resetting:
            self._resetting = True
            try:
                _thread.start_new_thread(self._reset_all, (names,))
            except RuntimeError:
                self._resetting = False

    def _reset_all(self, names: list[str]) -> None:
        for name in names:
            try:
                with open(f"/proc/{name}/clear_refs", "wb", buffering=0) as file:
                    file.write(RESET_PEAK)
            except OSError:
                continue
        self._resetting = False


def microseconds(ticks: list[bytes]) -> int:
    """Of fields in clock ticks."""
    return sum(map(int, ticks)) * TICK_US


def stat_fields(pid: str) -> list[bytes] | None:
    """The fields of /proc/PID/stat from the state on, or None if it is gone."""
    return content_of(f"/proc/{pid}/stat").rpartition(b") ")[2].split() or None


def living_thread(pid: str) -> str | None:
    """A thread that goes on although the first one of its process has ended: /proc knows it as a process, unlisted."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return None
    for thread in threads:
        fields = stat_fields(thread)
        if fields and fields[STATE] not in LEADER_GONE:
            return thread
    return None


def memory_of(pid: str) -> tuple[int, int, int]:
    """Resident memory at its peak and now; and what it takes beside that: page tables, swapped out, huge pages."""
    sizes: dict[bytes, int] = {}
    for line in content_of(f"/proc/{pid}/status").splitlines():
        if line.endswith(b" kB"):
            label, size, _ = line.split()
            sizes[label] = int(size) * KIB
    return sizes.get(PEAK, 0), sizes.get(RESIDENT, 0), sum(sizes.get(label, 0) for label in BESIDE)


def proportional_bytes(pid: str) -> int:
    """PSS of a process; what cannot be looked at counts with all that is resident, who ended with none."""
    for line in content_of(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * KIB
    return memory_of(pid)[1]


def content_of(path: str) -> bytes:
    """Of a file of /proc; nothing if it is gone or kept from us."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 8192)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
