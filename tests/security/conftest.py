"""A platform in process, and the operations that its document names."""

import pytest

from surfaces.web.conftest import Site, clock, market, quotas, site

from .operations import Operation, operations_of

__all__ = ["clock", "market", "quotas", "site"]


_KNOWN: dict[str, Operation] = {}


@pytest.fixture
def operations(site: Site) -> dict[str, Operation]:
    """All of them, by method and path below the API; read once, as every application has the same."""
    if not _KNOWN:
        _KNOWN.update(operations_of(site.app))
    return _KNOWN
