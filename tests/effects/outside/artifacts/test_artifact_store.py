"""Does the store keep each content once, whole, under nothing but its digest?"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from earnest.effects.outside.artifacts.store import ArtifactLimits, ArtifactStore
from earnest.foundation.errors import Broken, Refused, Unavailable

HELLO = "sha256:" + hashlib.sha256(b"hello").hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "artifacts", ArtifactLimits(item_bytes=1_000, owner_bytes=5_000))


def files(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "artifacts").rglob("*") if path.is_file())


async def parts(*each: bytes) -> AsyncIterator[bytes]:
    for part in each:
        yield part


async def test_a_content_lies_once_under_its_digest_and_is_read_back(store: ArtifactStore, tmp_path: Path) -> None:
    first, again = await store.put(b"hello"), await store.put(parts(b"he", b"", b"llo"))
    assert first == again
    assert (first.sha256, first.size_bytes) == (HELLO, 5)
    assert store.read(HELLO) == b"hello"
    assert store.checked(HELLO).read_bytes() == b"hello"
    (only,) = files(tmp_path)
    assert only.parent.name + only.name == HELLO.removeprefix("sha256:")


async def test_nothing_is_a_content_too(store: ArtifactStore) -> None:
    stored = await store.put(b"")
    assert store.read(stored.sha256) == b""


@pytest.mark.parametrize("damage", [b"hellp", b"hell", b"hello!", b""])
async def test_damaged_content_is_never_given_out(store: ArtifactStore, damage: bytes) -> None:
    await store.put(b"hello")
    place = store.checked(HELLO)
    place.chmod(0o600)
    place.write_bytes(damage)
    with pytest.raises(Broken):
        store.read(HELLO)
    with pytest.raises(Broken):
        store.checked(HELLO)


async def test_putting_a_damaged_content_again_mends_it(store: ArtifactStore) -> None:
    await store.put(b"hello")
    place = store.checked(HELLO)
    place.chmod(0o600)
    place.write_bytes(b"jelly")
    await store.put(b"hello")
    assert store.read(HELLO) == b"hello"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "../../../etc/passwd",
        "sha256:../../../../etc/passwd",
        HELLO.removeprefix("sha256:"),
        HELLO.upper(),
        HELLO + "\n",
        HELLO + "/..",
        HELLO[:-1],
        "sha256:" + "\N{ARABIC-INDIC DIGIT ZERO}" * 64,
        "sha256:" + "0" * 64,
        "arriving",
    ],
)
async def test_what_is_no_digest_of_a_kept_content_names_nothing(store: ArtifactStore, name: str) -> None:
    await store.put(b"hello")
    for look in (store.read, store.checked):
        with pytest.raises(Refused) as caught:
            look(name)
        assert caught.value.code == "not_found"


@pytest.mark.parametrize(
    ("size", "bytes_max", "fits"),
    [(1_000, None, True), (1_001, None, False), (10, 9, False), (9, 9, True), (1_001, 9_999, False)],
)
async def test_a_content_past_its_limit_is_refused_and_leaves_nothing(
    store: ArtifactStore, tmp_path: Path, size: int, bytes_max: int | None, fits: bool
) -> None:
    if fits:
        assert (await store.put(parts(b"x" * size), bytes_max)).size_bytes == size
        return
    with pytest.raises(Refused) as caught:
        await store.put(parts(b"x" * (size - 1), b"x"), bytes_max)
    assert caught.value.code == "too_large"
    assert not files(tmp_path)


async def test_a_sender_who_breaks_off_leaves_nothing(store: ArtifactStore, tmp_path: Path) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionResetError

    with pytest.raises(Unavailable):
        await store.put(breaking())
    assert not files(tmp_path)


async def test_a_cancelled_sender_leaves_nothing(store: ArtifactStore, tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"half"
        begun.set()
        await asyncio.Event().wait()

    putting = asyncio.create_task(store.put(slow()))
    await begun.wait()
    putting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await putting
    assert not files(tmp_path)


async def test_what_a_crash_cut_off_is_gone_after_the_next_start(store: ArtifactStore, tmp_path: Path) -> None:
    await store.put(b"hello")
    (tmp_path / "artifacts" / "arriving" / "half").write_bytes(b"hal")
    ArtifactStore(tmp_path / "artifacts")
    assert len(files(tmp_path)) == 1


async def test_fifty_senders_of_one_content_leave_it_once(store: ArtifactStore, tmp_path: Path) -> None:
    found = await asyncio.gather(*(store.put(parts(b"he", b"llo")) for _ in range(50)))
    assert {each.sha256 for each in found} == {HELLO}
    assert len(files(tmp_path)) == 1


async def test_others_on_the_machine_cannot_read_the_store(store: ArtifactStore, tmp_path: Path) -> None:
    await store.put(b"hello")
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "artifacts").rglob("*"))
