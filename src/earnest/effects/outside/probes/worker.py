"""One measurement, as a program: a question on stdin, an answer on stdout, bounded memory."""

import json
import resource
import sys
from importlib import import_module
from typing import Final

from earnest.effects.outside.probes.api import ProbeQuestion, Unknown, Value
from earnest.effects.outside.probes.spec import KINDS

MEMORY_BYTES: Final = 2 * 1024 * 1024 * 1024
VALUE_CHARACTERS_MAX: Final = 4_000
WHY_CHARACTERS_MAX: Final = 300


def main() -> None:
    """Answer `{"value": …}`, or `{"unavailable": why}`. Whatever goes wrong is the second: unknown, never zero."""
    asked = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = {"value": measured(asked.pop("kind"), ProbeQuestion(**asked))}
    except Exception as error:
        told = str(error) if isinstance(error, Unknown) else f"{type(error).__name__}: {error}"
        answer = {"unavailable": (told.splitlines() or ["no reason given"])[0][:WHY_CHARACTERS_MAX]}
    json.dump(answer, sys.stdout)


def measured(kind: str, question: ProbeQuestion) -> Value:
    """The value. Only the module of this kind is loaded; each has a function `measured`."""
    if kind not in KINDS:
        raise Unknown(f"there is no kind of probe {kind!r}")
    value: Value = import_module(f"earnest.effects.outside.probes.{kind}").measured(question)
    if isinstance(value, str) and len(value) > VALUE_CHARACTERS_MAX:
        raise Unknown(f"a text of more than {VALUE_CHARACTERS_MAX} characters")
    return value


if __name__ == "__main__":
    main()
