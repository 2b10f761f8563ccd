"""Does a value satisfy a JSON Schema? Asked in a process of its own, because references can make the answer take ages.

The schema comes from whoever wrote the spec and is no more trusted than that: the process has bounded CPU time and
memory, and is ended when its time is over. Nothing is fetched.
"""

import asyncio
import json
import resource
import sys
from contextlib import suppress
from typing import Final

from jsonschema_rs import Draft202012Validator, ReferencingError, ValidationError

from earnest.foundation.canonical import JsonValue
from earnest.foundation.errors import Unavailable
from earnest.verification.patterns import PATTERN_ENGINE

SCHEMA_WALL_MS: Final = 10_000
SCHEMA_CPU_S: Final = 8
SCHEMA_MEMORY_BYTES: Final = 1024 * 1024 * 1024
PROBLEMS_MAX: Final = 5
PROBLEM_CHARACTERS_MAX: Final = 300
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema_fault(schema: JsonValue) -> str | None:
    """What is wrong with a schema, or None. `schema` is made of `dict` and `list`."""
    if isinstance(schema, dict) and schema.get("$schema", _DIALECT) not in {_DIALECT, _DIALECT + "#"}:
        return f"its $schema must be {_DIALECT}"
    try:
        _validator(schema)
    except (ValueError, ReferencingError, TypeError) as error:
        return f"is no JSON Schema 2020-12 that can be used: {str(error).splitlines()[0][:PROBLEM_CHARACTERS_MAX]}"
    return None


async def schema_problems(schema: JsonValue, value: JsonValue, *, wall_ms: int = SCHEMA_WALL_MS) -> list[str]:
    """What of `value` does not satisfy `schema`: at most `PROBLEMS_MAX`, each with its JSON pointer. Empty: valid.

    Raises `Unavailable` if that could not be found out within the bounds.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-m",
        __name__,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(wall_ms / 1000):
            answer, _ = await process.communicate(json.dumps([schema, value]).encode())
    except TimeoutError:
        raise Unavailable(f"the schema could not be evaluated within {wall_ms} ms") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode != 0:
        raise Unavailable("the schema could not be evaluated within its bounds of time and memory")
    problems: list[str] = json.loads(answer)
    return problems


def main() -> None:
    """Read `[schema, value]` from stdin and write the problems to stdout."""
    resource.setrlimit(resource.RLIMIT_CPU, (SCHEMA_CPU_S, SCHEMA_CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (SCHEMA_MEMORY_BYTES, SCHEMA_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    schema, value = json.load(sys.stdin)
    problems: list[str] = []
    for error in _validator(schema).iter_errors(value):
        problems.append(_described(error))
        if len(problems) == PROBLEMS_MAX:
            break
    json.dump(problems, sys.stdout)


def _validator(schema: JsonValue) -> Draft202012Validator:
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


if __name__ == "__main__":
    main()
