"""Do the tools of real MCP servers leave the same records as ours, whatever a server does, and does all of it end?"""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.mcp.api import ServerSpec, tool_name
from earnest.effects.hands.mcp.server import McpServer
from earnest.effects.hands.mcp.tools import PURPOSE_CHARACTERS_MAX, McpTools
from earnest.effects.hands.sandbox.available import UnavailableSandbox
from earnest.effects.hands.tools.api import Leave, ToolPlace
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.effects.hands.workspace.staging import Workspace
from earnest.foundation.canonical import JsonValue
from earnest.foundation.failures import FailureClass

PROGRAM = str(Path(__file__).with_name("sample_server.py"))
LYING = str(Path(__file__).with_name("lying_server.py"))


class Bench:
    """A toolbox with one server, and a stage for its calls."""

    def __init__(self, root: Path, spec: ServerSpec) -> None:
        self.toolbox = Toolbox(SystemClock(), sources={f"mcp:{spec.name}/": McpTools(McpServer(spec))})
        self._workspace = Workspace(root / "workspace", root / "stages")
        self._calls = 0

    async def call(self, tool: str, timeout_ms: int = 60_000, **args: JsonValue) -> ToolRecord:
        self._calls += 1
        stage = await self._workspace.stage(str(self._calls))
        place = ToolPlace(folder=stage.folder, sandbox=UnavailableSandbox("none is needed", SystemClock()), stage=stage)
        return await self.toolbox.perform(ToolCall(tool=tool, args=args, timeout_ms=timeout_ms), place)


def stdio(*, trusted: bool = False) -> ServerSpec:
    given = {"GIVEN": "by the operator"}
    return ServerSpec(name="sample", command=sys.executable, args=(PROGRAM, "stdio"), env=given, trusted=trusted)


@contextlib.asynccontextmanager
async def opened(root: Path, spec: ServerSpec) -> AsyncIterator[Bench]:
    bench = Bench(root, spec)
    try:
        await bench.toolbox.open()
        yield bench
    finally:
        await bench.toolbox.close()


async def gone(pid: int) -> bool:
    """True once the process has ended; within ten seconds or not at all."""
    for _ in range(1_000):
        if _state(pid) in {"", "Z", "X"}:
            return True
        await SystemClock().sleep_ms(10)
    return False


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@pytest.mark.slow
async def test_a_call_leaves_the_record_that_every_tool_leaves(tmp_path: Path) -> None:
    async with opened(tmp_path, stdio(trusted=True)) as bench:
        record = await bench.call("mcp:sample/add", a=1, b=2)
        assert (record.ok, record.output_excerpt) == (True, "3")
        assert (record.tool_ids, record.target) == (frozenset({"mcp:sample/add"}), '{"a":1,"b":2}')
        assert ToolRecord.from_json(record.to_json()) == record

        faulty = await bench.call("mcp:sample/add", a="1")
        assert faulty.failure is not None
        assert faulty.failure.code == "bad_args"
        assert '"b" is a required property' in faulty.failure.message

        failed = await bench.call("mcp:sample/fail")
        assert failed.failure is not None
        assert (failed.failure.code, failed.failure.failure_class) == ("mcp_error", FailureClass.LOGICAL)


@pytest.mark.timeout(30)
async def test_an_answer_is_not_held_to_patterns_of_the_servers_own(tmp_path: Path) -> None:
    async with opened(tmp_path, ServerSpec(name="sample", command=sys.executable, args=(LYING,))) as bench:
        record = await bench.call("mcp:sample/endless")
        assert (record.ok, record.output_excerpt) == (True, '{"n":"' + "a" * 40 + '!"}')


async def test_an_answer_without_form_is_the_servers_failure_and_not_ours(tmp_path: Path) -> None:
    async with opened(tmp_path, ServerSpec(name="sample", command=sys.executable, args=(LYING,))) as bench:
        for tool in ("nothing", "strange"):
            failure = (await bench.call(f"mcp:sample/{tool}")).failure
            assert failure is not None
            assert (failure.code, failure.failure_class) == ("mcp_error", FailureClass.LOGICAL)
        assert (await bench.call("mcp:sample/large")).output_excerpt == f'{{"n":{2**70}}}'


@pytest.mark.slow
async def test_what_a_server_says_of_its_tools_is_bounded_and_believed_only_if_the_operator_does(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, stdio(trusted=True)) as bench:
        tools = bench.toolbox.tools
        assert (tools["mcp:sample/add"].reads_only, tools["mcp:sample/add"].leave) == (True, Leave.NONE)
        note = tools["mcp:sample/note-it"]
        assert (note.reads_only, note.leave) == (False, Leave.OUTSIDE)
        assert len(note.purpose) == PURPOSE_CHARACTERS_MAX
        assert note.purpose.isprintable()
        assert note.version.startswith("sample 7 sha256:")
        assert not [name for name in tools if "no/name" in name]
        unknown = bench.toolbox.faults("mcp:sample/none", {})
        assert unknown == ["no tool 'mcp:sample/none': it has no such tool"]
    async with opened(tmp_path, stdio()) as bench:
        add = bench.toolbox.tools["mcp:sample/add"]
        assert (add.reads_only, add.leave) == (False, Leave.OUTSIDE)


@pytest.mark.slow
async def test_a_server_that_hangs_dies_or_floods_is_a_failed_call_and_the_next_one_finds_it_again(
    tmp_path: Path,
) -> None:
    begun = tmp_path / "begun"
    async with opened(tmp_path, stdio()) as bench:
        expected = {
            "timeout": await bench.call("mcp:sample/hang", timeout_ms=300, path=str(begun)),
            "output_limit": await bench.call("mcp:sample/flood", size=2_000_000),
            "mcp_gone": await bench.call("mcp:sample/vanish"),
        }
        assert {code: record.failure and record.failure.code for code, record in expected.items()} == {
            code: code for code in expected
        }
        assert all(r.failure and r.failure.failure_class is FailureClass.ENVIRONMENTAL for r in expected.values())
        assert (await bench.call("mcp:sample/add", a=1, b=2)).output_excerpt == "3"


@pytest.mark.slow
async def test_a_line_without_end_ends_the_conversation_not_our_memory(tmp_path: Path) -> None:
    async with opened(tmp_path, stdio()) as bench:
        record = await bench.call("mcp:sample/flood", size=9_000_000)
        assert record.failure is not None
        assert record.failure.code == "mcp_gone"


@pytest.mark.slow
async def test_a_server_ends_with_all_that_it_started(tmp_path: Path) -> None:
    async with opened(tmp_path, stdio()) as bench:
        child = int((await bench.call("mcp:sample/breed")).output_excerpt)
        os.kill(child, 0)
    assert await gone(child)


@pytest.mark.slow
async def test_a_server_gets_the_variables_that_the_operator_names_and_none_of_our_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EARNEST_API_KEY", "ours")
    async with opened(tmp_path, stdio()) as bench:
        assert (await bench.call("mcp:sample/secret", name="GIVEN")).output_excerpt == "by the operator"
        assert (await bench.call("mcp:sample/secret", name="EARNEST_API_KEY")).output_excerpt == "unset"


@pytest.mark.slow
async def test_a_server_at_an_address_is_spoken_to_over_http(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, handle = listener.getsockname()[1], listener.fileno()
        process = await asyncio.create_subprocess_exec(
            sys.executable, PROGRAM, str(handle), stderr=asyncio.subprocess.DEVNULL, pass_fds=(handle,)
        )
    try:
        spec = ServerSpec(name="sample", url=f"http://127.0.0.1:{port}/mcp", headers={"X-Key": "k"}, trusted=True)
        async with opened(tmp_path, spec) as bench:
            assert (await bench.call("mcp:sample/add", a=1, b=2)).output_excerpt == "3"
            flooded = await bench.call("mcp:sample/flood", size=9_000_000)
            assert flooded.failure is not None
            assert flooded.failure.code in {"mcp_gone", "mcp_error"}
            assert (await bench.call("mcp:sample/add", a=2, b=2)).output_excerpt == "4"
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize(
    "spec",
    [
        ServerSpec(name="sample", command="/nonexistent/program"),
        ServerSpec(name="sample", command="/bin/true"),
        ServerSpec(name="sample", command="/bin/echo", args=("no JSON",)),
        ServerSpec(name="sample", url="http://127.0.0.1:9/mcp"),
    ],
    ids=["missing", "ends at once", "speaks otherwise", "nobody there"],
)
async def test_a_server_that_cannot_be_reached_leaves_its_tools_out_and_says_why(
    spec: ServerSpec, tmp_path: Path
) -> None:
    async with opened(tmp_path, spec) as bench:
        (fault,) = bench.toolbox.faults("mcp:sample/add", {})
        assert fault.startswith("no tool 'mcp:sample/add': the MCP server sample cannot be reached: ")


def test_what_stands_in_a_file_is_taken_for_a_tool_until_its_server_runs(tmp_path: Path) -> None:
    toolbox = Bench(tmp_path, stdio()).toolbox
    assert "mcp:sample/add" in toolbox
    assert toolbox.written_faults("mcp:sample/add", {"a": 1}) == []
    assert "mcp:other/add" not in toolbox
    assert toolbox.faults("mcp:sample/add", {"a": 1}) != []


@pytest.mark.parametrize("name", ["", "no/name", "a b", "-x", "ä", "x" * 60, "a\n"])
def test_a_tool_whose_name_is_none_is_not_offered(name: str) -> None:
    assert tool_name("sample", name) == ""
