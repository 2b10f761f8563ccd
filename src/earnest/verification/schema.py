"""Values against a JSON Schema (2020-12). Nothing is fetched. `main` answers within bounds."""

import itertools
import json
import resource
import sys
from typing import TYPE_CHECKING, Final

from jsonschema_rs import Draft202012Validator, ReferencingError, ValidationError

from earnest.verification.patterns import PATTERN_ENGINE

if TYPE_CHECKING:
    from earnest.foundation.canonical import JsonValue

CPU_S: Final = 8
"""For one request."""
SIZE_BYTES: Final = 8
"""The length of the number before a request or an answer: how many bytes follow, most significant first."""
MEMORY_BYTES: Final = 1024 * 1024 * 1024
PROBLEMS_MAX: Final = 20
PROBLEM_CHARACTERS_MAX: Final = 300
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema_fault(schema: "JsonValue") -> str | None:
    """What is wrong with a schema, or None. `schema` is made of `dict` and `list`."""
    if isinstance(schema, dict) and schema.get("$schema", _DIALECT) not in {_DIALECT, _DIALECT + "#"}:
        return f"its $schema must be {_DIALECT}"
    try:
        _validator(schema)
    except (ValueError, ReferencingError, TypeError) as error:
        return f"is no JSON Schema 2020-12 that can be used: {str(error).splitlines()[0][:PROBLEM_CHARACTERS_MAX]}"
    return None


def main() -> None:
    """Read requests from stdin, each `[schema, value]` after its size, and write the problems of each to stdout."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    asked, told = sys.stdin.buffer, sys.stdout.buffer
    while size := asked.read(SIZE_BYTES):
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu_s = int(used.ru_utime + used.ru_stime) + 1 + CPU_S
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, resource.RLIM_INFINITY))
        schema, value = json.loads(asked.read(int.from_bytes(size, "big")))
        problems = itertools.islice(_validator(schema).iter_errors(value), PROBLEMS_MAX)
        answer = json.dumps(list(map(_described, problems))).encode()
        told.write(len(answer).to_bytes(SIZE_BYTES, "big") + answer)
        told.flush()


def _validator(schema: "JsonValue") -> Draft202012Validator:
    """Unknown formats are refused, so that a misspelt one does not pass for a check."""
    if not isinstance(schema, dict | bool):
        raise TypeError("a schema must be a mapping, true or false")
    return Draft202012Validator(
        schema,
        pattern_options=PATTERN_ENGINE,
        validate_formats=True,
        ignore_unknown_formats=False,
        offline=True,
    )


def _described(error: ValidationError) -> str:
    pointer = "".join(f"/{step}" for step in error.instance_path) or "the value"
    return f"{pointer}: {error.message}"[:PROBLEM_CHARACTERS_MAX]
