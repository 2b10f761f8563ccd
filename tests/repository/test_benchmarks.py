"""Do the benchmarks judge and record what they measure?"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from .source import ROOT, expect_none, page


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = spec_from_file_location("benchmarks_main", ROOT / "benchmarks" / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_every_target_has_a_program_that_prints_its_key(benchmarks: ModuleType) -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py")}
    expect_none(
        (
            f"{target.program}: {target.key}"
            for target in benchmarks.TARGETS
            if not all(f'"{part}"' in texts.get(target.program, "") for part in target.key.split("."))
        ),
        "not printed",
    )


def test_a_bound_is_met_at_the_bound_and_never_by_silence(benchmarks: ModuleType) -> None:
    most = benchmarks.Target(program="p", key="k", what="w", bound=2, unit="s")
    least = benchmarks.Target(program="p", key="k", what="w", bound=2, unit="/s", at_least=True)
    assert [most.met(value) for value in (1.9, 2.0, 2.1, None)] == [True, True, False, False]
    assert [least.met(value) for value in (1.9, 2.0, 2.1, None)] == [False, True, True, False]


def test_a_number_is_found_at_a_dotted_key(benchmarks: ModuleType) -> None:
    assert benchmarks.number({"warm": {"ratio": 1.25}}, "warm.ratio") == 1.25
    assert benchmarks.number({"warm": 3}, "warm.ratio") is None


def test_recording_replaces_the_table_and_nothing_else(
    benchmarks: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "benchmarks.md"
    copy.write_text(page("benchmarks.md"), encoding="utf-8")
    monkeypatch.setattr(benchmarks, "PAGE", copy)
    benchmarks.record("first")
    benchmarks.record("second")
    head, _, rest = page("benchmarks.md").partition(benchmarks.BEGIN)
    tail = rest.partition(benchmarks.END)[2]
    assert copy.read_text(encoding="utf-8") == f"{head}{benchmarks.BEGIN}\nsecond\n{benchmarks.END}{tail}"
