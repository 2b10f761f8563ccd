"""Bounds on what a connection may send before it means anything, and on how slowly.

uvicorn's parser keeps the parts of a head, and of trailers, until they are whole, however long that takes.
"""

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES_MAX: Final = 64 * 1024
PATIENCE_S: Final = 10
"""How long any request may take to come."""
BYTES_S_MIN: Final = 4 * 1024
"""What a longer one brings in each further second."""


class BoundedHttp(HttpToolsProtocol):
    """One connection. Bytes that came since something came out of them are bounded, give or take one read."""

    _meaningless_bytes = 0
    _began_s: float | None = None
    _received_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        self._began_s = self.loop.time()
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Take what came; 400 and the end of the connection for a head without end."""
        if self._began_s is None:
            self._began_s, self._received_bytes = self.loop.time(), 0
        self._received_bytes += len(data)
        self._meaningless_bytes += len(data)
        super().data_received(data)
        if self._meaningless_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def on_headers_complete(self) -> None:
        """A whole head."""
        self._meaningless_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body."""
        self._meaningless_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A whole request."""
        self._meaningless_bytes = 0
        self._began_s = None
        super().on_message_complete()

    def hang_up_if_slow(self, now_s: float) -> None:
        """End a connection whose request does not come on; one that is not read just now may wait."""
        if self._began_s is None or self.flow.read_paused:
            return
        if now_s - self._began_s > PATIENCE_S + self._received_bytes / BYTES_S_MIN:
            self.transport.abort()
