"""Does each built-in check keep its promises, and decide what its page says?"""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from earnest.effects.hands.sandbox.api import Execution, ExecutionReport, ExecutionStatus, Mount, Profile
from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Unavailable
from earnest.testing.check_conformance import CheckCase, CheckConformance, ScriptedSandbox, judged
from earnest.verification.checks.command import CHECK as COMMAND
from earnest.verification.checks.files import CHECK as FILES
from earnest.verification.checks.json_schema import CHECK as JSON_SCHEMA
from earnest.verification.checks.stdout import CHECK as STDOUT
from earnest.verification.plugin import Check
from earnest.verification.schema_process import schema_problems
from earnest.verification.verdict import Answer

SCHEMA = (
    b'{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}, "additionalProperties": false}'
)


def prints(stdout: bytes, exit_code: int = 0, **more: Any) -> Callable[[Execution], ExecutionReport]:
    return lambda _: ExecutionReport(status=ExecutionStatus.DONE, exit_code=exit_code, stdout=stdout, **more)


class TestCommand(CheckConformance):
    @pytest.fixture
    def case(self) -> CheckCase:
        return CheckCase(
            check=COMMAND,
            config={"command": ["make", "test"], "exit_code": 0, "stdout_contains": "ok", "stderr_regex": "^$"},
            submission={"Makefile": b"test:\n"},
            answer=prints(b"ok\n"),
            trusted_only=True,
        )


class TestStdout(CheckConformance):
    @pytest.fixture
    def case(self) -> CheckCase:
        return CheckCase(
            check=STDOUT,
            config={
                "program": ["python3", "sum.py"],
                "cases": [{"args": ["12"], "expected": "3\n"}, {"stdin": "12", "expected_file": "three.txt"}],
                "trim_final_newline": True,
            },
            submission={"sum.py": b""},
            beside={"three.txt": b"3"},
            answer=prints(b"3\n"),
        )


class TestFiles(CheckConformance):
    @pytest.fixture
    def case(self) -> CheckCase:
        return CheckCase(
            check=FILES,
            config={"required": [{"path": "a.md", "headings": ["Evidence"]}], "forbidden": ["secret/**"]},
            submission={"a.md": b"# Evidence\n"},
        )


class TestJsonSchema(CheckConformance):
    @pytest.fixture
    def case(self) -> CheckCase:
        return CheckCase(
            check=JSON_SCHEMA,
            config={"path": "n.json", "schema": "n.schema.json"},
            submission={"n.json": b'{"n": 1}'},
            beside={"n.schema.json": SCHEMA},
        )


async def answered(
    tmp_path: Path,
    check: Check,
    config: JsonObject,
    submission: Mapping[str, bytes],
    *,
    answer: Callable[[Execution], ExecutionReport] | None = None,
    trusted: bool = True,
    beside: Mapping[str, bytes] | None = None,
) -> tuple[Answer, str]:
    case = CheckCase(check=check, config=config, submission=submission, beside=beside or {}, answer=answer)
    verdict = await judged(case, tmp_path, submission, trusted=trusted)
    return verdict.answer, verdict.criteria[0].reason


TEXT = b"alpha 1\nbeta 2\n"
MARKDOWN = b"""# Title #
Two  words
---
```sh
# Not this
```
<!--
# Nor this
-->
    # Nor indented
#hash
"""


@pytest.mark.parametrize(
    ("item", "passes"),
    [
        ("a.txt", True),
        ("b.txt", False),
        ({"path": "A.txt"}, False),
        ({"path": "a.txt", "exact": TEXT.decode()}, True),
        ({"path": "a.txt", "exact": TEXT.decode().rstrip()}, False),
        ({"path": "a.txt", "contains": "beta"}, True),
        ({"path": "a.txt", "contains": ["alpha", "gamma"]}, False),
        ({"path": "a.txt", "regex": r"(?m)^\S+ \d+$"}, True),
        ({"path": "a.txt", "regex": r"\Abeta"}, False),
        ({"path": "a.txt", "sha256": hashlib.sha256(TEXT).hexdigest()}, True),
        ({"path": "a.txt", "sha256": "sha256:" + hashlib.sha256(TEXT).hexdigest().upper()}, True),
        ({"path": "a.txt", "sha256": "0" * 64}, False),
        ({"path": "a.txt", "min_bytes": 15, "max_bytes": 15}, True),
        ({"path": "a.txt", "min_bytes": 16}, False),
        ({"path": "a.txt", "max_bytes": 14}, False),
        ({"glob": "**/*.py", "min": 2}, True),
        ({"glob": "**/*.py", "min": 3}, False),
        ({"glob": "**/*.py", "max": 1}, False),
        ({"glob": "*.py"}, False),
        ({"glob": "src/*.py", "contains": "import"}, False),
        ({"path": "README.md", "headings": ["Title", "Two words"]}, True),
        ({"path": "README.md", "headings": ["Not this"]}, False),
        ({"path": "README.md", "headings": ["Nor this"]}, False),
        ({"path": "README.md", "headings": ["Nor indented"]}, False),
        ({"path": "README.md", "headings": ["hash"]}, False),
        ({"path": "bytes", "contains": "x"}, False),
        ({"path": "large", "contains": "x"}, False),
    ],
)
async def test_files_looks_at_what_it_is_told(tmp_path: Path, item: JsonObject | str, passes: bool) -> None:
    files = {
        "a.txt": TEXT,
        "src/one.py": b"import os",
        "src/two.py": b"",
        "README.md": MARKDOWN,
        "bytes": b"x\xff",
        "large": b"x" * (4 * 1024 * 1024 + 1),
    }
    answer, reason = await answered(tmp_path, FILES, {"required": [item]}, files)
    assert answer is (Answer.VERIFIED if passes else Answer.NOT_VERIFIED), reason


async def test_a_forbidden_file_is_named(tmp_path: Path) -> None:
    config: JsonObject = {"required": ["a"], "forbidden": ["**/*.pem"]}
    answer, reason = await answered(tmp_path, FILES, config, {"a": b"", "keys/b.pem": b""})
    assert (answer, reason) == (Answer.NOT_VERIFIED, "keys/b.pem must not be there")


async def test_a_pattern_that_explodes_elsewhere_is_answered_at_once(tmp_path: Path) -> None:
    config: JsonObject = {"required": [{"path": "a", "regex": r"^(a+)+$"}]}
    answer, _ = await answered(tmp_path, FILES, config, {"a": b"a" * 1_000_000 + b"!"})
    assert answer is Answer.NOT_VERIFIED


async def test_what_was_expected_is_not_told(tmp_path: Path) -> None:
    rows: list[tuple[Check, JsonObject, Callable[[Execution], ExecutionReport] | None]] = [
        (FILES, {"required": [{"path": "a", "exact": "hidden answer"}]}, None),
        (STDOUT, {"program": ["a"], "cases": [{"expected": "hidden answer"}]}, prints(b"hi")),
    ]
    for check, config, answer in rows:
        _, reason = await answered(tmp_path / check.kind, check, config, {"a": b""}, answer=answer)
        assert "hidden answer" not in reason


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"required": []}, "required"),
        ({"required": ["../a"]}, "required[0]"),
        ({"required": ["/etc/passwd"]}, "required[0]"),
        ({"required": [{"path": "a", "glob": "b"}]}, "required[0]"),
        ({"required": [{"path": "a", "min": 1}]}, "required[0]"),
        ({"required": [{"glob": "a", "min": 0}]}, "required[0].min"),
        ({"required": [{"path": "a", "regex": "(?=a)"}]}, "required[0].regex"),
        ({"required": [{"path": "a", "regex": "(a{1000}){1000}"}]}, "required[0].regex"),
        ({"required": [{"path": "a", "regex": "("}]}, "required[0].regex"),
        ({"required": [{"path": "a", "sha256": "123"}]}, "required[0].sha256"),
        ({"required": ["a"], "forbidden": ["a//b"]}, "forbidden[0]"),
    ],
)
def test_a_faulty_files_config_names_the_key(config: JsonObject, path: str) -> None:
    assert path in [fault.path for fault in FILES.config_faults(config, None)]


@pytest.mark.parametrize(
    "data",
    [
        b'{"n": 1, "n": 2}',
        b'{"n": NaN}',
        b'{"n": Infinity}',
        b'{"n": 1e999}',
        b'\xef\xbb\xbf{"n": 1}',
        b'{"n": 1} {"n": 1}',
        b'{"n": 1}\x00',
        b"{'n': 1}",
        b'{"n": 1,}',
        b'{"n": "\xff"}',
        b'{"n": "\\ud800"}',
        b'{"\\ud800": 1}',
        b'{"n": ' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"n": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"n": ' + b"9" * 5_000 + b"}",
        b'{"n": 1, "m": 2}',
        b'{"n": "1"}',
        b'{"n": true}',
        b"{}",
        b"[]",
        b"",
    ],
)
async def test_json_tricks_are_not_verified(tmp_path: Path, data: bytes) -> None:
    config: JsonObject = {"path": "n.json", "schema": json.loads(SCHEMA)}
    answer, _ = await answered(tmp_path, JSON_SCHEMA, config, {"n.json": data})
    assert answer is Answer.NOT_VERIFIED


async def test_formats_are_checked(tmp_path: Path) -> None:
    config: JsonObject = {"path": "d.json", "schema": {"type": "string", "format": "date"}}
    assert (await answered(tmp_path / "1", JSON_SCHEMA, config, {"d.json": b'"2026-13-01"'}))[0] is Answer.NOT_VERIFIED
    assert (await answered(tmp_path / "2", JSON_SCHEMA, config, {"d.json": b'"2026-11-21"'}))[0] is Answer.VERIFIED


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:1/schema.json"},
        {"$ref": "file:///etc/hostname"},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"type": "intger"},
        {"pattern": "(?=a)"},
        {"format": "dat"},
        "../outside.json",
        "missing.json",
        7,
    ],
)
def test_a_schema_that_cannot_be_used_is_a_fault(tmp_path: Path, schema: Any) -> None:
    faults = JSON_SCHEMA.config_faults({"path": "n.json", "schema": schema}, tmp_path)
    assert [fault.path for fault in faults] == ["schema"]


async def test_a_schema_that_would_take_ages_is_given_up() -> None:
    twice = {f"s{at}": {"allOf": [{"$ref": f"#/$defs/s{at + 1}"}] * 2} for at in range(60)}
    schema: JsonObject = {"$defs": {**twice, "s60": {"type": "string"}}, "$ref": "#/$defs/s0"}
    with pytest.raises(Unavailable, match="within 300 ms"):
        await schema_problems(schema, "x", wall_ms=300)


@pytest.mark.parametrize(
    ("printed", "trim", "passes"),
    [
        (b"3\n", False, True),
        (b"3", False, False),
        (b"3", True, True),
        (b"3\n\n", True, False),
        (b"3 \n", False, False),
        (b" 3\n", True, False),
        (b"", True, False),
        ("\uff13\n".encode(), False, False),
        (b"3\r\n", True, False),
        (b"3\n3\n", False, False),
    ],
)
async def test_lookalike_output_is_not_the_output(tmp_path: Path, printed: bytes, trim: bool, passes: bool) -> None:
    config: JsonObject = {"program": ["p"], "cases": [{"expected": "3\n"}], "trim_final_newline": trim}
    answer, reason = await answered(tmp_path, STDOUT, config, {}, answer=prints(printed), trusted=False)
    assert answer is (Answer.VERIFIED if passes else Answer.NOT_VERIFIED), reason


@pytest.mark.parametrize("exit_code", [1, -9, None])
async def test_right_output_and_then_failure_is_failure(tmp_path: Path, exit_code: int | None) -> None:
    config: JsonObject = {"program": ["p"], "cases": [{"expected": "3\n"}]}
    report = ExecutionReport(status=ExecutionStatus.DONE, exit_code=exit_code, stdout=b"3\n")
    answer, _ = await answered(tmp_path, STDOUT, config, {}, answer=lambda _: report)
    assert answer is Answer.NOT_VERIFIED


async def test_every_case_must_pass(tmp_path: Path) -> None:
    config: JsonObject = {
        "program": ["p"],
        "cases": [{"args": ["1"], "expected": "1"}, {"args": ["2"], "expected": "2"}],
    }

    def always_one(_: Execution) -> ExecutionReport:
        return ExecutionReport(status=ExecutionStatus.DONE, exit_code=0, stdout=b"1")

    answer, reason = await answered(tmp_path, STDOUT, config, {}, answer=always_one)
    assert (answer, reason.startswith("case 2 of 2")) == (Answer.NOT_VERIFIED, True)


async def test_the_expected_bytes_never_enter_the_sandbox(tmp_path: Path) -> None:
    sandbox = ScriptedSandbox(prints(b"hidden"))
    case = CheckCase(
        check=STDOUT,
        config={"program": ["p"], "cases": [{"stdin": "in", "expected_file": "hidden.txt"}]},
        submission={"p": b""},
        beside={"hidden.txt": b"hidden"},
    )
    assert (await judged(case, tmp_path, case.submission, sandbox=sandbox)).answer is Answer.VERIFIED
    (asked,) = sandbox.asked
    assert (asked.profile, asked.stdin, asked.argv, asked.network) == (Profile.VERIFY, b"in", ("p",), False)
    assert asked.mounts == ()
    assert "hidden" not in repr(asked.environment)


@pytest.mark.parametrize(
    ("config", "answer", "passes"),
    [
        ({"command": "true"}, prints(b""), True),
        ({"command": "true"}, prints(b"", exit_code=1), False),
        ({"command": "true"}, prints(b"", exit_code=-11), False),
        ({"command": "grep x", "exit_code": 1}, prints(b"", exit_code=1), True),
        ({"command": "grep x", "exit_code": 1}, prints(b""), False),
        ({"command": "a", "stdout_contains": "ok"}, prints(b"not so"), False),
        ({"command": "a", "stderr_contains": "ok"}, prints(b"", stderr=b"ok"), True),
        ({"command": "a", "stdout_regex": "^[0-9]+\\s$"}, prints(b"12\n"), True),
        ({"command": "a", "stdout_regex": "^[0-9]+$"}, prints(b"12 ants"), False),
    ],
)
async def test_a_command_must_end_as_it_should(
    tmp_path: Path, config: JsonObject, answer: Callable[[Execution], ExecutionReport], passes: bool
) -> None:
    found, reason = await answered(tmp_path, COMMAND, config, {}, answer=answer)
    assert found is (Answer.VERIFIED if passes else Answer.NOT_VERIFIED), reason


async def test_an_exit_code_of_a_strangers_files_decides_nothing(tmp_path: Path) -> None:
    """Exit-code spoofing: `os._exit(0)` in a submission is not a passed test."""
    answer, _ = await answered(tmp_path / "1", COMMAND, {"command": "make"}, {}, answer=prints(b""), trusted=False)
    assert answer is Answer.UNCLEAR
    wrong = prints(b"", exit_code=1)
    answer, _ = await answered(tmp_path / "2", COMMAND, {"command": "make"}, {}, answer=wrong, trusted=False)
    assert answer is Answer.NOT_VERIFIED


def test_a_mount_is_read_only_unless_it_says_otherwise() -> None:
    assert Mount(source=Path("/"), target="source").writable is False
