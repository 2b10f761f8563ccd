"""Is an answer of somebody on the way told from a platform's?"""

import httpx2
import pytest

from earnest.client.client import AsyncClient
from earnest.client.retrying import Patience
from earnest.foundation.errors import Unavailable
from earnest.runtime.heartbeats.platform import PlatformOverHttp


@pytest.mark.parametrize("content", ["{}", "[1]", "null", '{"status": "ok"}', "<html>", "[" * 200_000])
async def test_an_answer_that_is_no_platforms_is_an_outage_and_no_fault_of_ours(content: str) -> None:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, content=content))
    async with AsyncClient("http://platform", transport=transport, patience=Patience(attempts=1)) as client:
        platform = PlatformOverHttp(client)
        for asked in (platform.due(), platform.score(), platform.check_in("01A", {}), platform.heartbeat("hbt_1")):
            with pytest.raises(Unavailable, match="what answered is no platform"):
                await asked
