"""Programs that a check needs and the sandbox has not: such a check cannot run, and the work is not to blame."""

import re
from collections.abc import Sequence
from typing import Final

from earnest.effects.hands.sandbox.api import (
    WORK_DIR,
    Execution,
    ExecutionLimits,
    ExecutionReport,
    ExecutionStatus,
    Profile,
    Sandbox,
)

NOT_EXECUTED: Final = frozenset({126, 127})
SHELL: Final = ("/bin/sh", "-c")
STDERR_BYTES: Final = 4_096
_NAMED: Final = re.compile(r"^[^\n:]{1,80}: (?:line )?\d{1,9}: ([^\n:]{1,200}): ", re.M)


async def missing_program(argv: Sequence[str], report: ExecutionReport, sandbox: Sandbox) -> str:
    """Why a check cannot run, if a program is not there, as an exit code says; empty if it lies in the work, or is."""
    if report.exit_code not in NOT_EXECUTED:
        return ""
    name = argv[0]
    if tuple(argv[:2]) == SHELL:  # the shell names it; a word that the command does not hold is none
        named = _NAMED.findall(report.stderr[-STDERR_BYTES:].decode(errors="replace"))
        name = next((each for each in named if each in argv[2]), "")
    if not name or ("/" in name and not name.startswith("/")) or name.startswith(f"{WORK_DIR}/"):
        return ""
    look = (*SHELL, 'command -v -- "$1" >&2', "sh", name)
    found = await sandbox.run(Execution(profile=Profile.VERIFY, argv=look, work={}, limits=ExecutionLimits()))
    is_missing = found.status is ExecutionStatus.DONE and found.exit_code != 0
    return f"the check cannot run: {name!r} is no program of the sandbox" if is_missing else ""
