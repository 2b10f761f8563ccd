"""A probe that runs a command of the operator: its exit status and output.

It runs as the operator, outside any sandbox: no part of anybody's work reaches it.
"""

import subprocess
from typing import Final

from earnest.effects.outside.probes.api import ProbeQuestion, Unknown

OUTPUT_BYTES_MAX: Final = 64 * 1024
_NOT_RUN: Final = frozenset({126, 127})


def measured(question: ProbeQuestion) -> int | float | str:
    """The exit code, or with `measure = "stdout"` what was printed: a number if it is one, else text.

    Raises `Unknown` if it could not be run, died of a signal, printed too much or, with stdout measured, failed.
    """
    command = question.config["command"]
    assert isinstance(command, list)
    with subprocess.Popen(  # noqa: S603 - the operator's own command, from the operator's own settings
        [str(part) for part in command],
        cwd=question.text("folder") or None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        printed = process.stdout.read(OUTPUT_BYTES_MAX + 1)
        if len(printed) > OUTPUT_BYTES_MAX:
            process.kill()
            raise Unknown(f"the command printed more than {OUTPUT_BYTES_MAX} bytes")
    if process.returncode < 0 or process.returncode in _NOT_RUN:
        raise Unknown(f"the command could not be run to its end ({process.returncode})")
    if question.text("measure", "exit_code") == "exit_code":
        return process.returncode
    if process.returncode != 0:
        raise Unknown(f"the command ended with exit code {process.returncode}")
    return _number_or_text(printed.decode(errors="replace").strip())


def _number_or_text(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
