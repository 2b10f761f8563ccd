"""What is shown inside, what is hidden, and which bytes are believed? The pure parts."""

import dataclasses
import os
from pathlib import Path

import pytest

from earnest.effects.hands.sandbox import wire
from earnest.effects.hands.sandbox.api import (
    Execution,
    ExecutionLimits,
    ExecutionReport,
    ExecutionStatus,
    Mount,
    Profile,
    SelfTest,
)
from earnest.effects.hands.sandbox.bubblewrap import Shape, arguments, mount_target
from earnest.effects.hands.sandbox.host import Host
from earnest.effects.hands.sandbox.pid1 import FIELDS, NO_EXIT
from earnest.effects.hands.sandbox.private import masks, private_places
from earnest.foundation.errors import Refused

HOST = Host(
    machine="x86_64",
    interpreter=Path("/opt/py/bin/python3.11"),
    prefix=Path("/opt/py"),
    links=(("/bin", "usr/bin"), ("/lib", "usr/lib")),
    folders=("/lib64",),
)
EXECUTION = Execution(profile=Profile.VERIFY, argv=("true",), artifacts=("a", "b"))


def line_of(shape: Shape) -> str:
    return " ".join(arguments(HOST, shape, str)) + " "


def test_nothing_of_the_host_is_shown_but_system_and_interpreter() -> None:
    options = arguments(HOST, Shape(disk_bytes=1), str)
    shown = [options[at + 1] for at, option in enumerate(options) if "bind" in option]
    assert shown == ["/usr", "/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/opt/py"]


def test_every_namespace_is_new_and_the_network_only_on_request() -> None:
    assert "--unshare-all --new-session --die-with-parent --as-pid-1 --cap-drop ALL --clearenv " in line_of(
        Shape(disk_bytes=1)
    )
    assert "--share-net" not in line_of(Shape(disk_bytes=1))
    assert "/etc/resolv.conf" not in line_of(Shape(disk_bytes=1))
    assert "--share-net" in line_of(Shape(disk_bytes=1, network=True))
    assert "/etc/resolv.conf" in line_of(Shape(disk_bytes=1, network=True))


def test_a_bound_folder_takes_the_place_of_the_memory() -> None:
    assert f"--size {7 + (1 << 20)} --tmpfs /work " in line_of(Shape(disk_bytes=7))
    line = line_of(Shape(disk_bytes=7, work=Path("/people/u/w")))
    assert "--bind /people/u/w /work " in line
    assert "--tmpfs /work " not in line


def test_what_is_private_in_a_home_is_hidden_whatever_else_is_shown_of_it() -> None:
    shape = Shape(
        disk_bytes=1,
        home=Path("/people/u"),
        masks=((Path("/people/u/.ssh"), True), (Path("/people/u/.netrc"), False)),
        mounts=(Mount(source=Path("/people/u"), target="/people/u", writable=True),),
    )
    line = line_of(shape)
    parts = (
        "--ro-bind /people/u /people/u ",
        "--bind /people/u /people/u ",
        "--tmpfs /people/u/.ssh --remount-ro /people/u/.ssh ",
        "--ro-bind /dev/null /people/u/.netrc ",
    )
    places = [line.index(part) for part in parts]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("target", "place"),
    [("source", "/work/source"), ("a/b", "/work/a/b"), ("/people/u", "/people/u"), ("./x", "/work/x")],
)
def test_a_mount_has_a_place(target: str, place: str) -> None:
    assert mount_target(Mount(source=Path("/x"), target=target)) == place


@pytest.mark.parametrize(
    "target", ["/", "/proc/1", "/dev", "/usr/bin", "../x", "a/../../x", "/run/earnest/bin", "a\0b"]
)
def test_a_mount_does_not_cover_what_is_ours(target: str) -> None:
    with pytest.raises(Refused):
        mount_target(Mount(source=Path("/x"), target=target))


def test_keys_and_credentials_are_hidden_where_they_exist(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    for folder in (".ssh", ".config/gcloud", "own/.earnest/deep", "real-aws", "open"):
        (home / folder).mkdir(parents=True)
    (home / ".netrc").write_text("x")
    (home / ".aws").symlink_to("real-aws")
    (home / ".kube").symlink_to("/usr")
    (home / ".gnupg").symlink_to("nowhere")
    more = (home / "own/.earnest", home / "own/.earnest/deep", home / "missing", Path("/etc"))
    places = private_places(home, more)
    assert masks(home, home, places) == (
        (home / ".config/gcloud", True),
        (home / ".netrc", False),
        (home / ".ssh", True),
        (home / "own/.earnest", True),
        (home / "real-aws", True),
    )
    assert masks(home / "own", Path("/work/source"), places) == ((Path("/work/source/.earnest"), True),)
    assert masks(home / "open", Path("/work/source"), places) == ()


@pytest.mark.parametrize("path", ["/a", "..", "a/../../b", "", ".", "a\0"])
def test_a_path_that_leaves_work_is_refused(path: str) -> None:
    with pytest.raises(Refused):
        wire.entries({path: b""}, ExecutionLimits())


def test_only_files_folders_and_links_are_copied_links_last(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "file").write_text("text")
    (tmp_path / "a-link").symlink_to("d")
    (tmp_path / "dead-link").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "pipe")
    found = [(entry.path, entry.size, entry.target) for entry in wire.entries(tmp_path, ExecutionLimits())]
    assert sorted(found[:2]) == [("d", wire.FOLDER, ""), ("d/file", 4, "")]
    assert sorted(found[2:]) == [("a-link", wire.LINK, "d"), ("dead-link", wire.LINK, "/nowhere")]


def test_a_file_that_shrinks_while_it_is_copied_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    copied = wire.entries(tmp_path, ExecutionLimits())
    (tmp_path / "file").write_text("te")
    with pytest.raises(Refused, match="changed"):
        list(wire.job_parts(EXECUTION, copied, {}))


def numbers(**changed: int) -> list[int]:
    return list((dict.fromkeys(FIELDS, 0) | changed).values())


def line(values: list[int]) -> bytes:
    return " ".join(map(str, values)).encode()


def test_a_report_in_bounds_is_read() -> None:
    read = wire.read_numbers(line([*numbers(exit_code=-9, stdout=3), 5, -1]), EXECUTION)
    report = wire.report(EXECUTION, read, [b"out", b"", b"", b"", b"12345", b""], "box")
    assert (report.status, report.exit_code, report.stdout) == (ExecutionStatus.DONE, -9, b"out")
    assert dict(report.artifacts) == {"a": b"12345"}


def test_processes_are_read_as_they_were_written_and_nothing_else_is() -> None:
    shell, script = b"-1 0 0 0 9 2 1 1 2f62696e2f7368 73680078 - - -", b"0 - 3 0 4 2 0 1 - - 6f 70 71 72"
    first, second = wire.read_processes(shell + b"\n" + script)
    assert (first.program, first.words, first.exit_code, first.out, first.err) == (
        "/bin/sh",
        "sh\0x",
        0,
        (0, 9),
        (0, 2),
    )
    assert (second.parent, second.exit_code, second.holds, second.files) == (
        0,
        None,
        (False, True),
        ("o", "p", "q", "r"),
    )
    for wrong in (
        b"0 0 0 0 0 0 1 1 - - - - -",
        b"-1 0 5 0 4 0 1 1 - - - - -",
        b"-1 0 0 0",
        b"x",
        b"-1 0 0 0 0 0 1 1 zz - - - -",
    ):
        with pytest.raises((ValueError, UnicodeDecodeError)):
            wire.read_processes(wrong)


@pytest.mark.parametrize("name", [name for name in FIELDS if name.endswith(("_exceeded", "timed_out"))])
def test_every_broken_limit_means_killed_and_is_named(name: str) -> None:
    read = wire.read_numbers(line([*numbers(exit_code=NO_EXIT, **{name: 1}), -1, -1]), EXECUTION)
    report = wire.report(EXECUTION, read, [b"", b"", b"", b"", b"", b""], "box")
    assert report.status is ExecutionStatus.KILLED
    assert report.broken_limit is not None
    assert report.broken_limit in report.reason


@pytest.mark.parametrize(
    "values",
    [
        [],
        numbers(),
        [*numbers(), 0, 0, 0],
        [*numbers(stdout=ExecutionLimits().output_bytes + 1), 0, 0],
        [*numbers(stdout=-1), 0, 0],
        [*numbers(problem=10_000), 0, 0],
        [*numbers(), ExecutionLimits().file_bytes + 1, 0],
        [*numbers(), -1000, 0],
    ],
)
def test_a_report_that_pid_1_would_not_write_is_not_believed(values: list[int]) -> None:
    with pytest.raises(ValueError, match="report"):
        wire.read_numbers(line(values), EXECUTION)


def test_a_report_that_is_no_numbers_is_not_believed() -> None:
    with pytest.raises(ValueError, match="int"):
        wire.read_numbers(b"all is well", EXECUTION)


def test_every_limit_and_every_measure_has_its_field() -> None:
    measured = {field.name for field in dataclasses.fields(ExecutionReport)} & set(FIELDS)
    assert set(FIELDS) - measured == {"problem"}


def test_a_self_test_without_probes_is_not_green() -> None:
    assert not SelfTest(provider="box", at_ms=0, probes=()).green
