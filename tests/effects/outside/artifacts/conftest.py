"""A store that speaks S3."""

from collections.abc import Iterator

import pytest

import s3
from earnest.effects.outside.artifacts.s3 import S3Shelf


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """Who answers."""
    with s3.server() as endpoint:
        yield endpoint


@pytest.fixture
def s3_shelf(s3_endpoint: str) -> S3Shelf:
    """A shelf in a bucket of its own, from which what nobody names goes at once."""
    return S3Shelf(s3.bucket(s3_endpoint), left_s=0)
