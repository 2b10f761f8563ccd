"""Evidence that lies elsewhere: fetched once, by https alone, and known by its digest since."""

from dataclasses import replace
from typing import Final

from earnest.effects.outside.web.fetching import FetchedPage, FetchLimits, Web

FETCH_LIMITS: Final = FetchLimits(deadline_ms=60_000, https_only=True)


async def fetch_artifact(web: Web, url: str, bytes_max: int) -> tuple[str, FetchedPage]:
    """The digest of what is at `url`, and the page: its status is not looked at here.

    Raises `Refused`: `url_refused` (not https, on any hop), `address_refused`, `page_refused` (too long, compressed,
    too many hops); and `Unavailable` where nobody answers in time.
    """
    page = await web.fetch(url, limits=replace(FETCH_LIMITS, body_bytes=bytes_max))
    return page.digest, page
