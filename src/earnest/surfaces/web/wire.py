"""How much may somebody send before it means anything?

uvicorn's parser keeps the parts of a head, and of trailers, until they are whole, however long that takes.
"""

from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES_MAX: Final = 64 * 1024


class BoundedHttp(HttpToolsProtocol):
    """One connection. Bytes that came since something came out of them are bounded, give or take one read."""

    _meaningless_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Take what came; 400 and the end of the connection for a head without end."""
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
        super().on_message_complete()
