"""Is the Python interface what docs/python.md says, and does it leave a run that is broken off to be resumed?"""

import asyncio
import doctest
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import earnest
from earnest.surfaces import library

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
TEXT = "It is here."
PAUSE = threading.Event()
CONTRACT = {"2 and 2 are 4": {"kind": "command", "command": "test -e made"}}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EARNEST_HOME", str(tmp_path / "home"))


def appears(path: Path) -> None:
    while not path.exists():
        PAUSE.wait(0.01)


def test_the_page_is_true() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert (failed, tried > 15) == (0, True)


def test_what_is_exported_is_what_stands_in_the_interface_and_on_the_page() -> None:
    page = PAGE.read_text()
    assert earnest.__all__ == library.__all__
    for name in earnest.__all__:
        assert getattr(earnest, name) is getattr(library, name)
        assert name in page, name
    with pytest.raises(AttributeError, match="no attribute 'walk'"):
        _ = earnest.walk


def test_the_package_loads_nothing_until_it_is_used() -> None:
    said = "import earnest, sys; print(sorted(name for name in sys.modules if name.startswith('earnest')))"
    ended = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "['earnest', 'earnest.foundation', 'earnest.foundation.version']"


async def test_the_functions_work_where_a_loop_runs_and_so_do_their_twins(tmp_path: Path) -> None:
    contract = earnest.Contract.of("Here", {"it is here": {"kind": "files", "required": ["here"]}})
    (tmp_path / "work").mkdir()
    assert earnest.verify(contract, "work").answer is earnest.Answer.NOT_VERIFIED
    (tmp_path / "work" / "here").touch()
    assert (await earnest.verify_async(contract, "work")).answer is earnest.Answer.VERIFIED


def test_a_contract_is_read_from_its_file_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(
        f"format: earnest-spec-v1\ntitle: Here\ntext: {TEXT}\n"
        f"criteria:\n  - {{id: C1, text: it is here, check: {{kind: files, required: [here]}}}}\n"
    )
    contract = earnest.Contract.read("spec.yaml")
    assert contract.folder == tmp_path
    assert contract == earnest.Contract.of(
        "Here", {"it is here": {"kind": "files", "required": ["here"]}}, text="It is here."
    )
    (tmp_path / "spec.yaml").write_text("format: earnest-spec-v1\ntitle: Here\n")
    with pytest.raises(earnest.Faulty, match=r"spec\.yaml:1: the key 'criteria' is missing"):
        earnest.Contract.read("spec.yaml")


@pytest.mark.slow
def test_a_run_that_does_not_do_it_is_told_with_its_reasons_and_applies_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    contract = earnest.Contract.of("A sum", CONTRACT)
    done = earnest.run("Make it", edit="mine", executor="touch mine/other", contract=contract)
    assert (done.outcome, done.accepted) == ("abandoned", False)
    assert list(done.unmet) == ["2 and 2 are 4"]
    with pytest.raises(earnest.Refused) as refused:
        done.apply()
    assert refused.value.code == "not_accepted"
    assert list((tmp_path / "mine").iterdir()) == []


async def test_a_run_that_is_cancelled_is_left_and_can_be_resumed(tmp_path: Path) -> None:
    contract = earnest.Contract.of("A sum", CONTRACT)
    begun = tmp_path / "begun"
    program = f"sh -c 'test -e {begun} || {{ touch {begun}; sleep 86399; }}; touch made'"
    working = asyncio.ensure_future(earnest.run_async("Make it", executor=program, contract=contract))
    await asyncio.to_thread(appears, begun)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    (run_folder,) = (tmp_path / "home" / "runs").iterdir()
    assert (await earnest.resume_async(run_folder.name)).accepted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edit": "nowhere"}, "edit: nowhere: there is no such file or folder"),
        ({"inputs": ["a", "b/a"]}, "inputs: b/a: two have this name"),
        ({"executor": ""}, "executor"),
    ],
)
def test_bad_options_are_told_before_anything_begins(tmp_path: Path, options: dict[str, object], message: str) -> None:
    for name in ("a", "b/a"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(earnest.EarnestError, match=message):
        earnest.run("Make it", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "home").exists()


def test_a_playbook_states_its_own_criteria(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a playbook states its own"):
        earnest.run(tmp_path / "a.yaml", edit=".")
    with pytest.raises(TypeError, match="contract goes with executor"):
        earnest.run("Make it", contract="spec.yaml")
