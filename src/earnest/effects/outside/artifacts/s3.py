"""Artifacts in a store that speaks S3: each content an object, named by its digest below a prefix of one bucket."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import urlsplit

from earnest.effects.outside.artifacts.shelf import LEFT_S, halves
from earnest.foundation.errors import Unavailable

try:
    import boto3
    from boto3.exceptions import Boto3Error
    from boto3.s3.transfer import TransferConfig
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
except ImportError as error:
    raise Unavailable(f"what speaks S3 is not installed: install 'earnest[s3]' ({error})") from error

PART_BYTES: Final = 8 * 1024 * 1024
"""Longer contents travel in parts of this size, one after the other: so much of one is in memory."""
CONNECT_S: Final = 5
READ_S: Final = 30
ATTEMPTS: Final = 3
_NOT_THERE: Final = frozenset({"404", "NoSuchKey", "NotFound"})


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Place:
    """A bucket, and what all names in it begin with. `endpoint`: who answers; empty: as the region says."""

    bucket: str
    prefix: str = ""
    endpoint: str = ""


def s3_place(address: str, endpoint: str = "") -> S3Place:
    """The place that `s3://BUCKET[/PREFIX]` names."""
    parts = urlsplit(address)
    prefix = parts.path.strip("/")
    return S3Place(bucket=parts.netloc, prefix=f"{prefix}/" if prefix else "", endpoint=endpoint)


class S3Shelf:
    """The store. Keys and region come from where all tools of AWS take theirs. Raises `Unavailable`."""

    is_shared = True

    def __init__(self, place: S3Place, *, left_s: int = LEFT_S) -> None:
        self._place = place
        self._left_s = left_s
        self._transfer = TransferConfig(
            multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES, use_threads=False
        )
        with self._told():
            self._client: Any = boto3.session.Session().client(
                "s3",
                endpoint_url=place.endpoint or None,
                config=Config(
                    connect_timeout=CONNECT_S,
                    read_timeout=READ_S,
                    retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
                    # Other stores do not know the checksums that AWS has added; ours is looked at in any case.
                    request_checksum_calculation="when_required",
                    response_checksum_validation="when_required",
                ),
            )

    def keep(self, half: Path, sha256: str) -> None:
        """See `Shelf.keep`. A long content that is cut off on its way leaves nothing under its name."""
        with half.open("rb") as file, self._told():
            self._client.upload_fileobj(file, self._place.bucket, self._key(sha256), Config=self._transfer)

    def open(self, sha256: str) -> IO[bytes]:
        """See `Shelf.open`. It is fetched into a file without a name."""
        key = self._key(sha256)
        with contextlib.ExitStack() as stack, self._told():
            file = stack.enter_context(tempfile.TemporaryFile())
            self._client.download_fileobj(self._place.bucket, key, file, Config=self._transfer)
            file.seek(0)
            stack.pop_all()
        return file

    def lying(self, number: int) -> list[str]:
        """See `Shelf.lying`."""
        half = f"{number:02x}"
        prefix = f"{self._place.prefix}{half}/"
        with self._told():
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._place.bucket, Prefix=prefix)
            keys = [str(one["Key"]) for page in pages for one in page.get("Contents", ())]
        return [f"sha256:{half}{key.removeprefix(prefix)}" for key in keys]

    def remove(self, sha256: str) -> bool:
        """See `Shelf.remove`: not what was put within the last hour, by the store's own clock."""
        key = self._key(sha256)
        try:
            with self._told():
                found = self._client.head_object(Bucket=self._place.bucket, Key=key)
                now = parsedate_to_datetime(found["ResponseMetadata"]["HTTPHeaders"]["date"])
                if (now - found["LastModified"]).total_seconds() < self._left_s:
                    return False
                self._client.delete_object(Bucket=self._place.bucket, Key=key)
        except FileNotFoundError:
            pass
        return True

    def _key(self, sha256: str) -> str:
        return self._place.prefix + "/".join(halves(sha256))

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the library, as the store has them. Keys that are wrong do not pass by waiting, but may be set."""
        where = f"s3://{self._place.bucket}"
        try:
            yield
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code in _NOT_THERE:
                raise FileNotFoundError(str(error)) from error
            raise Unavailable(f"the store of artifacts {where} refuses: {error}") from error
        except (BotoCoreError, Boto3Error) as error:
            raise Unavailable(f"the store of artifacts {where} does not answer: {error}") from error
        except ValueError as error:
            raise Unavailable(f"{where} names no store of artifacts: {error}") from error
