"""Do the benchmarks judge and record what they measure?"""

import sys
from dataclasses import replace
from importlib import import_module
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


@pytest.fixture
def scale(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("scale")


def test_the_page_of_scale_holds_what_the_model_prints_now(scale: ModuleType) -> None:
    text = page("scale.md")
    assert scale.recorded(text) == text, "python benchmarks/scale.py --record"
    assert scale.BEGIN in text


def test_figures_that_the_model_takes_from_measurements_stand_on_the_pages(scale: ModuleType) -> None:
    text = (page("scale.md") + page("benchmarks.md")).replace(",", "")
    taken = dict(scale.figures())
    for name in ("home_per_core_s", "job_server_ms", "check_in_ms", "verdict_ms", "turn_ratio", "facts_per_job"):
        assert f"{taken[name]:g}" in text, name
    assert f"{taken['bytes_per_job'] / 1e3:.1f} kB" in text
    assert 1_000 / taken["transfer_ms"] == pytest.approx(5_819, rel=0.01)


def test_twice_the_agents_need_twice_as_much_and_what_is_slower_runs_out_first(scale: ModuleType) -> None:
    measured, assumed = scale.Measured(), scale.Assumed()
    one, two = (scale.demand(agents, measured, assumed) for agents in (100_000, 200_000))
    for name in ("looks", "facts", "server_cores", "worker_cores", "turn", "database_bytes_year"):
        assert getattr(two, name) == pytest.approx(2 * getattr(one, name))
    slow = replace(measured, transfer_ms=measured.transfer_ms * 100)
    first = scale.bottlenecks(scale.demand(100_000, slow, assumed), assumed)[0]
    assert first.what == "the turn to write"


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
