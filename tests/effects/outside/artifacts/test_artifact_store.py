"""Does the store keep each content once, whole, under nothing but its digest?"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from earnest.effects.outside.artifacts.s3 import S3Shelf
from earnest.effects.outside.artifacts.shelf import FolderShelf
from earnest.effects.outside.artifacts.store import ArtifactLimits, ArtifactStore
from earnest.foundation.errors import Broken, Refused, Unavailable

HELLO = "sha256:" + hashlib.sha256(b"hello").hexdigest()


LIMITS = ArtifactLimits(item_bytes=1_000, owner_bytes=5_000)


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
    """A store on each kind of shelf."""
    shelf = None if request.param == "folder" else request.getfixturevalue("s3_shelf")
    return ArtifactStore(tmp_path / "artifacts", LIMITS, shelf)


@pytest.fixture
def in_folder(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "artifacts", LIMITS)


def lying(store: ArtifactStore) -> list[str]:
    return [sha256 for number in range(256) for sha256 in store.lying(number)]


def halves(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "artifacts" / "arriving").iterdir())


def damage_it(store: ArtifactStore, sha256: str, content: bytes) -> None:
    """Somebody changes what lies there."""
    if isinstance(store.shelf, S3Shelf):
        store.shelf._client.put_object(Bucket=store.shelf._place.bucket, Key=store.shelf._key(sha256), Body=content)
    else:
        assert isinstance(store.shelf, FolderShelf)
        place = store.shelf._place(sha256)
        place.chmod(0o600)
        place.write_bytes(content)


async def parts(*each: bytes) -> AsyncIterator[bytes]:
    for part in each:
        yield part


async def test_a_content_lies_once_under_its_digest_and_is_read_back(store: ArtifactStore, tmp_path: Path) -> None:
    first, again = await store.put(b"hello"), await store.put(parts(b"he", b"", b"llo"))
    assert first == again
    assert (first.sha256, first.size_bytes) == (HELLO, 5)
    assert store.read(HELLO) == b"hello"
    with store.open(HELLO) as file:
        assert file.read() == b"hello"
    assert lying(store) == [HELLO]
    assert halves(tmp_path) == []


async def test_nothing_is_a_content_too(store: ArtifactStore) -> None:
    stored = await store.put(b"")
    assert store.read(stored.sha256) == b""


@pytest.mark.parametrize("damage", [b"hellp", b"hell", b"hello!", b""])
async def test_damaged_content_is_never_given_out(store: ArtifactStore, damage: bytes) -> None:
    await store.put(b"hello")
    damage_it(store, HELLO, damage)
    with pytest.raises(Broken):
        store.read(HELLO)
    with pytest.raises(Broken):
        store.open(HELLO)


async def test_putting_a_damaged_content_again_mends_it(store: ArtifactStore) -> None:
    await store.put(b"hello")
    damage_it(store, HELLO, b"jelly")
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
    for look in (store.read, store.open):
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
    assert [*lying(store), *halves(tmp_path)] == []


async def test_a_sender_who_breaks_off_leaves_nothing(store: ArtifactStore, tmp_path: Path) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionResetError

    with pytest.raises(Unavailable):
        await store.put(breaking())
    assert [*lying(store), *halves(tmp_path)] == []


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
    assert [*lying(store), *halves(tmp_path)] == []


async def test_what_a_crash_cut_off_is_gone_after_the_next_start(store: ArtifactStore, tmp_path: Path) -> None:
    await store.put(b"hello")
    (tmp_path / "artifacts" / "arriving" / "half").write_bytes(b"hal")
    ArtifactStore(tmp_path / "artifacts")
    assert (lying(store), halves(tmp_path)) == ([HELLO], [])


async def test_what_arrives_while_another_process_opens_the_store_arrives(store: ArtifactStore, tmp_path: Path) -> None:
    async def beside() -> AsyncIterator[bytes]:
        yield b"he"
        ArtifactStore(tmp_path / "artifacts")
        yield b"llo"

    assert (await store.put(beside())).sha256 == HELLO
    assert store.read(HELLO) == b"hello"


async def test_what_nobody_names_is_collected_and_what_is_held_or_named_is_not(store: ArtifactStore) -> None:
    held = list[str]()
    await store.put(b"hello", held=held)
    assert not store.collect(HELLO, lambda _: False)
    store.let_go(held, lambda _: True)
    assert not store.collect(HELLO, lambda _: True)
    assert store.collect(HELLO, lambda _: False)
    assert lying(store) == []
    assert not store.collect("no digest", lambda _: False)


async def test_fifty_senders_of_one_content_leave_it_once(store: ArtifactStore, tmp_path: Path) -> None:
    found = await asyncio.gather(*(store.put(parts(b"he", b"llo")) for _ in range(50)))
    assert {each.sha256 for each in found} == {HELLO}
    assert lying(store) == [HELLO]


async def test_others_on_the_machine_cannot_read_the_store(in_folder: ArtifactStore, tmp_path: Path) -> None:
    await in_folder.put(b"hello")
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "artifacts").rglob("*"))
