"""When is a kept self-test believed? Only where nobody else can write, and while nothing that it depends on differs."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.hands.sandbox import kept, selftest
from earnest.effects.hands.sandbox.api import Probe, SandboxSettings, SelfTest
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.sandbox.kept import FILE_NAME, VALID_MS, KeptTest, fault
from earnest.effects.hands.sandbox.provider import BubblewrapSandbox

NOW_MS = 10 * VALID_MS
GREEN = SelfTest(provider="p", at_ms=NOW_MS, probes=(Probe(name="a", held=True), Probe(name="b", held=True)))
RED = SelfTest(provider="p", at_ms=NOW_MS, probes=(Probe(name="a", held=True), Probe(name="b", held=False)))


@pytest.fixture
def place(tmp_path: Path) -> KeptTest:
    binary = tmp_path / "bwrap"
    binary.write_bytes(b"a program")
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    one = KeptTest(folder=folder, binary=binary, provider="p")
    one.write(GREEN)
    return one


def test_a_green_result_is_believed_for_a_day(place: KeptTest) -> None:
    assert place.read(NOW_MS) == GREEN
    assert place.read(NOW_MS + VALID_MS - 1) == GREEN
    assert place.path.stat().st_mode & 0o777 == 0o600
    assert (place.read(NOW_MS + VALID_MS), place.read(NOW_MS - 1)) == (None, None)


def test_a_result_that_is_not_green_is_not_kept_and_takes_the_last_one_away(place: KeptTest) -> None:
    place.write(RED)
    assert not place.path.exists()
    place.write(SelfTest(provider="p", at_ms=NOW_MS, probes=()))
    assert not place.path.exists()


def _another_program(one: KeptTest, _: pytest.MonkeyPatch) -> KeptTest:
    one.binary.write_bytes(b"another one")
    return one


def _another_boot(one: KeptTest, patch: pytest.MonkeyPatch) -> KeptTest:
    boot = one.folder.parent / "boot"
    boot.write_text("another")
    patch.setattr(kept, "_BOOT", boot)
    return one


def _fewer_rights(one: KeptTest, patch: pytest.MonkeyPatch) -> KeptTest:
    status = one.folder.parent / "status"
    status.write_text("CapBnd:\t0\nSeccomp:\t2\n")
    patch.setattr(kept, "_STATUS", status)
    return one


def _another_kernel(one: KeptTest, patch: pytest.MonkeyPatch) -> KeptTest:
    system = os.uname()
    patch.setattr(os, "uname", lambda: os.uname_result((*system[:2], "9.9", *system[3:])))
    return one


def _another_user(one: KeptTest, patch: pytest.MonkeyPatch) -> KeptTest:
    patch.setattr(os, "geteuid", lambda: one.folder.stat().st_uid + 1)
    return one


def _another_version(one: KeptTest, patch: pytest.MonkeyPatch) -> KeptTest:
    patch.setattr(kept, "VERSION", "0")
    return one


def _another_mode(one: KeptTest, _: pytest.MonkeyPatch) -> KeptTest:
    return KeptTest(folder=one.folder, binary=one.binary, provider="p (user)")


def _others_write_the_folder(one: KeptTest, _: pytest.MonkeyPatch) -> KeptTest:
    one.folder.chmod(0o770)
    return one


def _others_write_the_file(one: KeptTest, _: pytest.MonkeyPatch) -> KeptTest:
    one.path.chmod(0o602)
    return one


def _a_link(one: KeptTest, _: pytest.MonkeyPatch) -> KeptTest:
    one.path.rename(one.folder / "elsewhere")
    one.path.symlink_to(one.folder / "elsewhere")
    return one


def _a_pipe(one: KeptTest, _: pytest.MonkeyPatch) -> KeptTest:
    one.path.unlink()
    os.mkfifo(one.path, 0o600)
    return one


@pytest.mark.parametrize(
    "change",
    [
        *(_another_program, _another_boot, _another_kernel, _another_user, _another_version, _another_mode),
        *(_fewer_rights, _others_write_the_folder, _others_write_the_file, _a_link, _a_pipe),
    ],
)
def test_a_result_is_void_when_any_part_differs(
    change: Callable[[KeptTest, pytest.MonkeyPatch], KeptTest], place: KeptTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert place.read(NOW_MS) is not None
    assert change(place, monkeypatch).read(NOW_MS) is None


@pytest.mark.parametrize(
    "said",
    [
        *({}, {"probes": []}, {"probes": ["a", 1]}, {"probes": "ab"}, {"at_ms": None}, {"at_ms": True}),
        *({"format": "x"}, {"bound_to": {}}, {"bound_to": None}),
    ],
)
def test_what_does_not_say_in_full_that_it_is_green_is_not(place: KeptTest, said: dict[str, Any]) -> None:
    whole = json.loads(place.path.read_text())
    place.path.write_text(json.dumps({**whole, **said} if said else said))
    assert place.read(NOW_MS) is None
    place.path.write_text("[" * 30_000)
    assert place.read(NOW_MS) is None


def test_nothing_is_kept_where_others_may_write_or_there_is_no_folder(place: KeptTest, tmp_path: Path) -> None:
    place.folder.chmod(0o777)
    place.write(GREEN)
    assert not (place.folder / FILE_NAME).exists()
    assert "others than its owner" in fault(place.folder)
    KeptTest(folder=tmp_path / "none", binary=place.binary, provider="p").write(GREEN)
    assert not (tmp_path / "none").exists()


async def test_a_process_takes_up_what_the_last_one_kept_and_attacks_anew_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacks: list[bool] = []

    async def attack(*_: object) -> tuple[tuple[Probe, ...], str, str]:
        attacks.append(True)
        return GREEN.probes, "", ""

    monkeypatch.setattr(selftest, "attack", attack)
    clock = VirtualClock(NOW_MS)

    async def asked(max_age_ms: int) -> int:
        sandbox = await open_sandbox(SandboxSettings(pool=0, kept=tmp_path), clock)
        if not isinstance(sandbox, BubblewrapSandbox):
            pytest.skip((await sandbox.self_test()).problem)
        assert (await sandbox.self_test(max_age_ms)).green
        await sandbox.close()
        return len(attacks)

    assert [await asked(1_000), await asked(1_000), await asked(0)] == [1, 1, 2]
    clock.jump_ms(VALID_MS)
    assert await asked(1_000) == 3
