"""What only a store that speaks S3 does: parts, other processes, and answers that are none."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import s3
from earnest.effects.outside.artifacts import s3 as s3_module
from earnest.effects.outside.artifacts.s3 import PART_BYTES, S3Place, S3Shelf, s3_place
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.foundation.errors import Unavailable

HELLO = "sha256:" + hashlib.sha256(b"hello").hexdigest()


def store_on(shelf: S3Shelf, tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "artifacts", shelf=shelf)


async def large(parts: int) -> AsyncIterator[bytes]:
    for number in range(parts):
        yield bytes([number]) * 1024 * 1024


@pytest.mark.slow
async def test_a_long_content_goes_in_parts_and_comes_back_with_bounded_memory(
    s3_shelf: S3Shelf, tmp_path: Path
) -> None:
    store, mebibytes = store_on(s3_shelf, tmp_path), 40
    stored = await store.put(large(mebibytes))
    head = s3_shelf._client.head_object(Bucket=s3_shelf._place.bucket, Key=s3_shelf._key(stored.sha256))
    assert head["ETag"].strip('"').endswith(f"-{mebibytes * 1024 * 1024 // PART_BYTES}")
    read = hashlib.sha256()
    with store.open(stored.sha256) as file:
        while part := file.read(1024 * 1024):
            read.update(part)
    assert f"sha256:{read.hexdigest()}" == stored.sha256


@pytest.mark.slow  # forty megabytes by way of two servers
async def test_what_is_laid_out_is_never_whole_in_memory(s3_shelf: S3Shelf, tmp_path: Path) -> None:
    """What travels at a time is looked at, for the server of the test is in this process."""
    store = store_on(s3_shelf, tmp_path)
    stored = await store.put(large(40))
    half = tmp_path / "half"
    half.write_bytes(store.read(stored.sha256))
    lengths = list[int]()
    client = s3_shelf._client
    client.meta.events.register("before-call.s3.UploadPart", lambda params, **_: lengths.append(len(params["body"])))
    s3_shelf.keep(half, stored.sha256)
    assert lengths == [PART_BYTES] * 5


async def test_what_another_process_may_be_about_to_name_stays_an_hour(s3_endpoint: str, tmp_path: Path) -> None:
    place = s3.bucket(s3_endpoint)
    store, held = store_on(S3Shelf(place), tmp_path), list[str]()
    await store.put(b"hello", held=held)
    store.let_go(held, lambda _: False)
    assert not store.collect(HELLO, lambda _: False)
    assert store.lying(int(HELLO[7:9], 16)) == [HELLO]
    assert store_on(S3Shelf(place, left_s=0), tmp_path).collect(HELLO, lambda _: False)
    assert store.collect(HELLO, lambda _: False), "nothing is there any more"


async def test_more_than_a_page_of_contents_is_listed(s3_shelf: S3Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"sha256:00{number:062x}" for number in range(5)]
    for name in names:
        s3_shelf._client.put_object(Bucket=s3_shelf._place.bucket, Key=s3_shelf._key(name), Body=b"")
    client = s3_shelf._client
    client.meta.events.register("provide-client-params.s3.ListObjectsV2", lambda params, **_: {**params, "MaxKeys": 2})
    assert s3_shelf.lying(0) == names
    assert s3_shelf.lying(1) == []


@pytest.mark.slow
async def test_a_store_that_is_down_is_unavailable_and_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_module, "ATTEMPTS", 1)
    with s3.server() as endpoint:
        shelf = S3Shelf(s3.bucket(endpoint))
        store = store_on(shelf, tmp_path)
        await store.put(b"hello")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    for look in (lambda: store.read(HELLO), lambda: store.lying(0), lambda: shelf.remove(HELLO)):
        with pytest.raises(Unavailable, match=f"s3://{shelf._place.bucket} does not answer"):
            look()
    with pytest.raises(Unavailable):
        await store.put(b"other")
    assert list((tmp_path / "artifacts" / "arriving").iterdir()) == []


async def test_a_bucket_that_is_not_there_and_a_missing_key_are_named(
    s3_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_on(S3Shelf(S3Place(bucket="nowhere", endpoint=s3_endpoint)), tmp_path)
    with pytest.raises(Unavailable, match=r"s3://nowhere refuses.*NoSuchBucket"):
        await store.put(b"hello")
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.delenv(f"AWS_{name}")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(Unavailable, match="credentials"):
        S3Shelf(S3Place(bucket="nowhere", endpoint=s3_endpoint)).lying(0)


@pytest.mark.parametrize(
    ("address", "bucket", "prefix"),
    [("s3://b", "b", ""), ("s3://b/", "b", ""), ("s3://b/one/two/", "b", "one/two/"), ("s3://b/one", "b", "one/")],
)
def test_an_address_names_bucket_and_prefix(address: str, bucket: str, prefix: str) -> None:
    assert s3_place(address) == S3Place(bucket=bucket, prefix=prefix)


def test_an_endpoint_that_is_no_address_is_refused() -> None:
    with pytest.raises(Unavailable, match="names no store"):
        S3Shelf(S3Place(bucket="b", endpoint="http://"))
