"""What the folders that every sandbox shows do not show: the data directory, specs and hidden tests in them."""

import dataclasses
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_programs import verify

from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.sandbox.api import Execution, ExecutionStatus, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.sandbox.host import Host, read_host
from earnest.effects.hands.sandbox.private import system_masks

PLACES = [Path("/usr/local/share"), Path(read_host().prefix) / "lib"]
LOOK = """
    import os, sys
    for path in sys.argv[1:]:
        try:
            print(os.listdir(path) if os.path.isdir(path) else open(path).read())
        except OSError as error:
            print(error.strerror)
"""


def host_of(root: Path) -> Host:
    return Host(machine="x86_64", interpreter=root / "bin/python3", prefix=root, links=(), folders=())


@pytest.fixture(params=PLACES, ids=["below /usr", "below the interpreter's prefix"])
def kept(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder with a secret in it, below one that every sandbox shows."""
    if not os.access(request.param, os.W_OK):
        pytest.skip(f"{request.param} cannot be written to")
    folder = Path(tempfile.mkdtemp(prefix="earnest-hidden-", dir=request.param))
    folder.chmod(0o755)
    (folder / "secret.py").write_text("secret")
    (folder / "open.txt").write_text("open")
    yield folder
    shutil.rmtree(folder)


async def looked(execution: Execution, settings: SandboxSettings) -> bytes:
    sandbox = await open_sandbox(settings, SystemClock())
    if (test := await sandbox.self_test()).problem:
        pytest.skip(test.problem)
    try:
        report = await sandbox.run(execution)
    finally:
        await sandbox.close()
    assert report.status is ExecutionStatus.DONE, report.reason
    return report.stdout


@pytest.mark.slow
@pytest.mark.asyncio
async def test_the_data_directory_is_hidden_wherever_it_lies(kept: Path) -> None:
    settings = SandboxSettings(masked=(kept,))
    assert (
        await looked(verify(LOOK, str(kept), str(kept / "secret.py")), settings) == b"[]\nNo such file or directory\n"
    )


@pytest.mark.slow
@pytest.mark.asyncio
async def test_what_an_execution_names_is_hidden_from_it_and_nothing_else(kept: Path) -> None:
    execution = verify(LOOK, str(kept / "secret.py"), str(kept / "open.txt"))
    hidden = dataclasses.replace(execution, hidden=(kept / "secret.py", Path("/nowhere")))
    assert await looked(hidden, SandboxSettings()) == b"Permission denied\nopen\n"


@pytest.mark.slow
@pytest.mark.asyncio
async def test_what_is_not_hidden_can_be_read(kept: Path) -> None:
    assert await looked(verify(LOOK, str(kept / "secret.py")), SandboxSettings()) == b"secret\n"


def test_what_nothing_runs_without_stays(tmp_path: Path) -> None:
    for name in ("bin", "share/specs"):
        (tmp_path / name).mkdir(parents=True)
    spec = tmp_path / "share/specs/spec.yaml"
    spec.touch()
    (tmp_path / "bin/python3").touch()
    host = host_of(tmp_path)
    tmp_path.chmod(0o755)
    assert system_masks(host, [tmp_path, tmp_path / "bin", tmp_path.parent]) == ()
    assert system_masks(host, [spec]) == ((spec, False),)
    assert system_masks(host, [spec, spec.parent]) == ((spec.parent, True),)
