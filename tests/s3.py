"""A store that speaks S3 for the tests: moto's, in this process."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import boto3
import pytest
from moto.server import ThreadedMotoServer

from earnest.effects.outside.artifacts.s3 import S3Place

_NUMBERS = count()
logging.getLogger("werkzeug").setLevel(logging.WARNING)


@contextmanager
def server() -> Iterator[str]:
    """Its address; keys for it stand in the environment meanwhile."""
    started = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    host, port = started.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        given = {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "DEFAULT_REGION": "us-east-1"}
        for name, value in given.items():
            patch.setenv(f"AWS_{name}", value)
        try:
            yield f"http://{host}:{port}"
        finally:
            started.stop()


def bucket(endpoint: str) -> S3Place:
    """A new place in a new bucket."""
    place = S3Place(bucket=f"bucket-{next(_NUMBERS)}", prefix="earnest/artifacts/", endpoint=endpoint)
    boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket=place.bucket)
    return place
