"""Is every setting taken from where it may stand, and everything wrong with it named at once?"""

from pathlib import Path

import pytest

from earnest.app.judging_settings import PlainSettings
from earnest.app.settings import CONSTANTS, MemoryStore, read_settings
from earnest.engine.gradient.constants import SolverSignal, Tuning
from earnest.foundation.errors import Faulty

from .bounds import bounds_of

BOUNDS = bounds_of(PlainSettings)


def _read(home: Path, text: str | bytes = "", **environment: str) -> list[str]:
    """What is complained about, without the folder."""
    home.mkdir(exist_ok=True)
    file = home / "settings.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(Faulty) as raised:
        read_settings({"EARNEST_HOME": str(home), **environment})
    return [str(diagnostic).replace(f"{home}/", "") for diagnostic in raised.value.diagnostics]


def test_the_environment_comes_before_the_file_and_the_file_before_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(
        "silence_s = 30\nsandbox_slots = 2\n[solver]\nlambda = 0.2\nsignal = 'loss'\n"
    )
    settings = read_settings({"EARNEST_HOME": str(tmp_path), "EARNEST_SILENCE_S": "60"})
    assert (settings.silence_s, settings.sandbox_slots, settings.parallel_subtasks) == (60, 2, 4)
    assert (settings.solver.lambda_, settings.solver.signal) == (0.2, SolverSignal.LOSS)


def test_a_class_of_tasks_may_have_its_own_rho_and_time(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("[solver.tasks.count]\nrho = 0.4\n[solver.tasks.sum]\ntime_s = 600\n")
    tuning = read_settings({"EARNEST_HOME": str(tmp_path)}).tuning
    assert tuning == {"count": Tuning(rho=0.4), "sum": Tuning(time_budget_ms=600_000)}


def test_the_home_may_begin_with_a_tilde_and_defaults_to_the_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_settings({"EARNEST_HOME": "~/there"}).home == tmp_path / "there"
    assert read_settings({}).home == read_settings({"EARNEST_HOME": ""}).home == tmp_path / ".earnest"


@pytest.mark.parametrize("name", BOUNDS)
def test_a_number_is_taken_up_to_its_bounds_and_not_beyond(name: str, tmp_path: Path) -> None:
    variable, (low, high) = f"EARNEST_{name.upper()}", BOUNDS[name]
    for good in (low, high):
        assert getattr(read_settings({"EARNEST_HOME": str(tmp_path), variable: str(good)}), name) == good
    for bad in (str(low - 1), str(high + 1), "many", "", "1.5", "9" * 5_000):
        (message,) = _read(tmp_path, **{variable: bad})
        assert message.startswith(f"{variable}: {name} is ")
        assert len(message) < 200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = x\n", "settings.toml:2: not TOML"),
        (b"\xff\xfe", "settings.toml: the file must be UTF-8 text"),
        ("\nsilence_s = true", "settings.toml:2: silence_s is True: it must be a whole number from 5 to 3600"),
        ("silence_s = 5.0", "settings.toml:1: silence_s is 5.0"),
        ("solver = 3", "settings.toml:1: solver must be a table"),
        ("[solver]\nalfa = 1", "settings.toml:2: [solver] has no constant 'alfa'; did you mean 'alpha'?"),
        ("[solver]\nmax_replans = 1", "settings.toml:2: [solver] has no constant 'max_replans'"),
        ("[solver]\nalpha = 7", "settings.toml:2: [solver] alpha is 7"),
        ("[solver]\nepsilon = nan", "settings.toml:2: [solver] epsilon is nan"),
        ("[solver]\nepsilon = '1'", "settings.toml:2: [solver] epsilon is '1': it must be a number"),
        (
            "[solver]\nsignal = ['loss']",
            "settings.toml:2: [solver] signal is ['loss']: it must be one of quality, loss",
        ),
        ("[solver.tasks.count]\nrho = 2", "settings.toml:1: [solver.tasks.count] must be"),
        ("[solver.tasks.count]\ntime = 2", "settings.toml:1: [solver.tasks.count] must be"),
        ("[solvers]\nalpha = 1", "settings.toml:1: there is no 'solvers'; did you mean 'solver'?"),
    ],
)
def test_what_is_wrong_in_the_file_is_named_with_its_line(text: str | bytes, message: str, tmp_path: Path) -> None:
    assert _read(tmp_path, text)[0].startswith(message)


def test_everything_wrong_is_told_at_once(tmp_path: Path) -> None:
    assert len(_read(tmp_path, "x = 1\nsilence_s = 1\n[solver]\ny = 1\n", EARNEST_SANDBOX_SLOTS="0")) == 4


def test_a_settings_file_that_is_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").mkdir()
    with pytest.raises(Faulty, match=r"settings\.toml: Is a directory"):
        read_settings({"EARNEST_HOME": str(tmp_path)})


@pytest.mark.parametrize("name", sorted(set(CONSTANTS) - {"signal"}))
def test_every_constant_of_the_table_can_be_set(name: str, tmp_path: Path) -> None:
    default = getattr(read_settings({"EARNEST_HOME": str(tmp_path)}).solver, CONSTANTS[name])
    value = default + 1 if isinstance(default, int) else default - 0.05
    (tmp_path / "settings.toml").write_text(f"[solver]\n{name} = {value}\n")
    assert getattr(read_settings({"EARNEST_HOME": str(tmp_path)}).solver, CONSTANTS[name]) == value


def test_what_keeps_memory_is_named_in_the_file_or_over_it_in_the_environment(tmp_path: Path) -> None:
    home = {"EARNEST_HOME": str(tmp_path)}
    (tmp_path / "settings.toml").write_text('[memory]\nstore = "leveldb"\n')
    assert read_settings(home).memory_store is MemoryStore.LEVELDB
    assert read_settings({**home, "EARNEST_MEMORY": "lmdb"}).memory_store is MemoryStore.LMDB
    with pytest.raises(Faulty, match=r"\[memory\] store must be one of lmdb, leveldb, postgresql"):
        read_settings({**home, "EARNEST_MEMORY": "redis"})
    with pytest.raises(Faulty, match="that goes with books on a server"):
        read_settings({**home, "EARNEST_MEMORY": "postgresql"})
    (tmp_path / "settings.toml").write_text('[memory]\nstores = "lmdb"\n')
    with pytest.raises(Faulty, match="did you mean 'store'"):
        read_settings(home)
