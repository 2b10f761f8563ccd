"""Does an agent that recalls repeat fewer failures? The simulation of the benchmarks, with fewer agents."""

import asyncio
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "recall.py"


@pytest.fixture(scope="module")
def recall() -> ModuleType:
    spec = spec_from_file_location("benchmarks_recall", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("is_model", "ratio_max"), [(False, 0.7), (True, 0.3)])
def test_an_agent_that_recalls_repeats_fewer_failures(recall: ModuleType, is_model: bool, ratio_max: float) -> None:
    found = asyncio.run(recall.compared(8, recall.Script() if is_model else None))
    assert found["done_with"] == found["done_without"] == recall.JOBS
    assert found["repeated_ratio"] <= ratio_max
    assert found["failed_with"] < found["failed_without"]
