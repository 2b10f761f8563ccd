"""Can a tool call destroy a user's files unasked? Each disguise is really run, against a real folder."""

import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import pytest
import pytest_asyncio

from earnest.effects.ground.clock import SystemClock
from earnest.effects.ground.storage.database import Database
from earnest.effects.hands.sandbox.api import Sandbox, SandboxSettings
from earnest.effects.hands.sandbox.available import open_sandbox
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.engine.ports import NeedsConfirmation

from .hands_stage import Life, Says, begin, shell

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOT_FOUND: Final = 127
Listing: TypeAlias = dict[str, tuple[bytes, int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """A person's home with a folder that is dear to them, and another beside it."""

    folder: Path
    home: Path
    sandbox: Sandbox
    database: Database

    @property
    def dear(self) -> Path:
        return self.home / "Documents/dear"

    @property
    def beside(self) -> Path:
        return self.home / "Documents/beside"

    def listing(self) -> Listing:
        """Content, mode and time of everything in the home."""
        return {
            str(path.relative_to(self.home)): (
                path.read_bytes() if path.is_file() else b"",
                path.stat().st_mode,
                path.stat().st_mtime_ns,
            )
            for path in sorted(self.home.rglob("*"))
        }

    async def begin(self, person: Says | None = None) -> Life:
        return await begin(
            self.folder,
            self.database,
            clock=SystemClock(),
            sandbox=self.sandbox,
            person=person,
            home=self.home,
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Path, Sandbox]]:
    home = tmp_path_factory.mktemp("home")
    settings = SandboxSettings(home=home, masked=(home / "Documents/.earnest",), pool=0)
    sandbox = await open_sandbox(settings, SystemClock())
    try:
        if not (tested := await sandbox.self_test()).green:
            pytest.skip(tested.reason)
        yield home, sandbox
    finally:
        await sandbox.close()


@pytest_asyncio.fixture(loop_scope="module")
async def house(opened: tuple[Path, Sandbox], tmp_path: Path) -> AsyncIterator[House]:
    home, sandbox = opened
    for name, text in {
        "Documents/dear/a.txt": "alpha\n",
        "Documents/dear/deep/b.txt": "beta\n",
        "Documents/beside/c.txt": "gamma\n",
        "Documents/.earnest/books": "all of it",
        ".ssh/id": "a key",
        ".netrc": "a password",
    }.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    database = Database.open(tmp_path / "books.sqlite3", SystemClock())
    yield House(folder=tmp_path, home=home, sandbox=sandbox, database=database)
    database.close()
    for left in home.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()


DISGUISES: Final = {
    "rm": "rm -rf {d}",
    "rm from within": "cd {d} && rm -rf -- ./*",
    "rm through /proc": "rm -rf /proc/self/root{d}",
    "rm through a link": "ln -s {d} mine && rm -rf mine/*",
    "rm in a subshell of a substitution": "echo $(rm -rf {d} 2>&1) >&2; exit 1",
    "rm put together": "r=r; m=m; $r$m -rf {d}",
    "rm decoded": "echo cm0gLXJmIA== | base64 -d | xargs -I X sh -c 'X {d}'",
    "find -delete": "find {d} -mindepth 1 -delete",
    "find -exec": "find {d} -type f -exec rm {{}} +",
    "python shutil": "python3 -c \"import shutil; shutil.rmtree('{d}')\"",
    "python truncating": "python3 -c \"open('{d}/a.txt', 'w')\"",
    "python by descriptor": "python3 -c \"import os; os.truncate(os.open('{d}/a.txt', os.O_RDONLY), 0)\"",
    "perl unlink": 'perl -e \'unlink("{d}/a.txt") or die "$!\\n"\'',
    "mv away": "mv {d} gone",
    "mv over": "echo x > new && mv -f new {d}/a.txt",
    "redirection": "> {d}/a.txt",
    "appending": "echo more >> {d}/a.txt",
    "tee": "echo x | tee {d}/a.txt",
    "cp /dev/null": "cp /dev/null {d}/a.txt",
    "cp --remove-destination": "echo x > new && cp --remove-destination new {d}/a.txt",
    "dd": "dd if=/dev/zero of={d}/a.txt bs=1 count=9",
    "truncate": "truncate -s 0 {d}/a.txt",
    "shred": "shred -u {d}/a.txt",
    "sed -i": "sed -i d {d}/a.txt",
    "install": "install -m 0 /dev/null {d}/a.txt",
    "ln -sf": "ln -sf /dev/null {d}/a.txt",
    "hard link": "ln {d}/a.txt mine && > mine",
    "chmod": "chmod 000 {d}/a.txt",
    "touch": "touch -d @0 {d}/a.txt",
    "rename": "mv {d} {d}.old",
    "rmdir": "rm {d}/deep/* ; rmdir {d}/deep",
    "git clean": "git init -q . && git --work-tree={d} clean -fdxq",
    "tar --remove-files": "tar cf all.tar --remove-files {d}",
    "unpacking": "mkdir -p .{d} && echo x > .{d}/a.txt && tar cf all.tar .{d} && tar xPf all.tar -C /",
    "mount over": "unshare -rm mount -t tmpfs none {d}",
    "remount": "mount -o remount,rw {d}",
}
SILENT: Final = {
    "a background process that waits": "setsid sh -c 'sleep 0.3; rm -rf {d}' > /dev/null 2>&1 &",
    "an error that is swallowed": "rm -rf {d} 2> /dev/null || true",
    "a trap": "trap 'rm -rf {d} 2> /dev/null; exit 0' EXIT",
}


async def _unasked(house: House, command: str) -> ToolRecord | None:
    """The record of the attempt; None if somebody would have to be asked."""
    try:
        return await (await house.begin()).call("r1/one/a1/c1", shell(command.format(d=house.dear)))
    except NeedsConfirmation:
        return None


@pytest.mark.parametrize("disguise", DISGUISES)
async def test_no_disguise_touches_a_users_folder_unasked(disguise: str, house: House) -> None:
    before = house.listing()
    record = await _unasked(house, DISGUISES[disguise])
    assert house.listing() == before
    assert record is None or (not record.ok and record.exit_code != NOT_FOUND)


@pytest.mark.parametrize("disguise", SILENT)
async def test_what_hides_its_failure_has_failed_all_the_same(disguise: str, house: House) -> None:
    before = house.listing()
    await _unasked(house, SILENT[disguise])
    assert house.listing() == before


CONFIRMED: Final = {
    "rm": "rm -rf {d}/*",
    "find -delete": "find {d} -mindepth 1 -delete",
    "python shutil": 'python3 -c "import shutil, pathlib; [shutil.rmtree(p) if p.is_dir() else p.unlink() '
    "for p in pathlib.Path('{d}').iterdir()]\"",
    "mv away": "mkdir gone && mv {d}/* gone/",
    "tar --remove-files": "tar cf all.tar --remove-files {d}/*",
}
NAMED: Final = ("python shutil", "tar --remove-files")
"""What they say when they fail does not tell the path, so the call names it."""


@pytest.mark.parametrize("way", CONFIRMED)
async def test_what_was_confirmed_works_and_only_there(way: str, house: House) -> None:
    before = house.listing()
    person = Says(True)
    command = CONFIRMED[way].format(d=house.dear)
    life = await house.begin(person)
    record = await life.call("r1/one/a1/c1", shell(command, writes=[house.dear] if way in NAMED else []))
    assert record.ok, record
    (asked,) = person.asked
    assert (asked.args, asked.paths) == ({"command": command}, (str(house.dear),))
    assert list(house.dear.iterdir()) == []
    elsewhere = {name: seen for name, seen in before.items() if not name.startswith("Documents/dear")}
    assert {name: seen for name, seen in house.listing().items() if name in elsewhere} == elsewhere
    with pytest.raises(NeedsConfirmation):
        await (await house.begin()).call("r1/one/a1/c2", shell(command, writes=[house.dear]))


async def test_to_remove_a_folder_the_one_that_it_lies_in_is_named(house: House) -> None:
    life = await house.begin(Says(True))
    record = await life.call("r1/one/a1/c1", shell(f"rm -rf {house.dear}", writes=[house.dear.parent]))
    assert (record.ok, house.dear.exists(), house.beside.exists()) == (True, False, True)


async def test_a_yes_for_one_folder_opens_no_other(house: House) -> None:
    life = await house.begin(Says(True))
    before = house.listing()
    command = f"ln -s {house.beside} {house.dear}/door; echo x > {house.dear}/door/c.txt; rm {house.beside}/c.txt"
    assert not (await life.call("r1/one/a1/c1", shell(command, writes=[house.dear]))).ok
    assert (house.beside / "c.txt").read_text() == "gamma\n"
    assert (house.dear / "door").is_symlink()
    assert house.listing()["Documents/beside/c.txt"] == before["Documents/beside/c.txt"]


PRIVATE: Final = (".ssh/id", ".netrc", "Documents/.earnest/books")


@pytest.mark.parametrize("writes", ["", ".", "Documents"])
async def test_keys_credentials_and_our_own_books_are_never_shown(writes: str, house: House) -> None:
    life = await house.begin(Says(True))
    wanted = [house.home / writes] if writes else []
    reading = "; ".join(f"cat {house.home}/{name}" for name in PRIVATE)
    writing = "; ".join(f"echo x > {house.home}/{name}" for name in PRIVATE)
    record = await life.call("r1/one/a1/c1", shell(f"{reading}; {writing}; exit 1", writes=wanted))
    assert not any(text in record.output_excerpt for text in ("a key", "a password", "all of it"))
    assert [(house.home / name).read_text() for name in PRIVATE] == ["a key", "a password", "all of it"]


@pytest.mark.parametrize("name", [".ssh", ".ssh/id", ".netrc", "Documents/.earnest"])
async def test_no_yes_opens_what_is_private(name: str, house: House) -> None:
    life = await house.begin(Says(True))
    record = await life.call("r1/one/a1/c1", shell("true", writes=[house.home / name]))
    assert record.failure is not None
    assert (record.failure.code, "is private" in record.failure.message) == ("sandbox_refused", True)


@pytest.mark.slow
async def test_a_link_swapped_in_at_the_last_moment_is_not_followed(house: House) -> None:
    """The question resolved the path; the sandbox finds a link there instead."""
    door = house.dear / "deep"

    class Swapping(Says):
        async def allows(self, _asked: object) -> bool:
            return True

    life = await house.begin(Swapping(True))
    perform = life.hands.toolbox.perform

    async def swapped(call: ToolCall, place: object) -> ToolRecord:
        shutil.rmtree(door)
        door.symlink_to(house.beside)
        return await perform(call, place)  # type: ignore[arg-type]

    life.hands.toolbox.perform = swapped  # type: ignore[method-assign]
    record = await life.call("r1/one/a1/c1", shell(f"rm -rf {door}/*", writes=[door]))
    assert record.failure is not None
    assert record.failure.code == "sandbox_refused"
    assert (house.beside / "c.txt").read_text() == "gamma\n"
