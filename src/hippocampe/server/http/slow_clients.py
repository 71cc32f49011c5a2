"""Close slow clients (slow loris): a connection must complete its request head within 10 s."""

import asyncio
from typing import NoReturn

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hippocampe.server.http import problems

HEADER_SECONDS = 10.0
"""Time limit for the head of a request, also for the first one of a connection."""
MAX_HEAD_BYTES = 32 * 1024
TOO_LARGE = f"the address and the headers have more than {MAX_HEAD_BYTES:,} bytes: shorten them."
SEVERAL_HOSTS = "the request names several hosts: send one header Host."
UNREADABLE = "this is no request of HTTP/1.1."
MAX_CONNECTIONS = 800
"""Most connections at once; further requests are refused with 503. With its own files, the process stays under
the 1,024 open files that most systems allow."""


class HeadTimeoutProtocol(HttpToolsProtocol):
    """Speaks HTTP/1.1, and closes a connection that does not complete the head of a request in time.

    A head larger than `MAX_HEAD_BYTES` is refused with 400.
    """

    _timer: asyncio.TimerHandle | None = None
    _in_head = False
    _head_bytes = 0
    _refusal = UNREADABLE

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first request."""
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Read received data; an incomplete head is limited in size."""
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refusal = TOO_LARGE
                self.send_400_response(self._refusal)

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read, as a problem like all other errors, and close the connection."""
        refused = problems.response(problems.of_status(400, self._refusal), {"connection": "close"})
        headers = (*self.server_state.default_headers, *refused.raw_headers)
        head = b"".join(b"%b: %b\r\n" % each for each in headers)
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n%b\r\n%b" % (head, refused.body))
        self.transport.close()

    def on_message_begin(self) -> None:
        """Start the timer for the rest of a head."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        if self._timer is None:
            self._start_timer()

    def on_headers_complete(self) -> None:
        """Stop the timer.

        Raises:
            ValueError: The head is too large, or names several hosts; the parser turns this into a refusal.
        """
        self._in_head = False
        self._stop_timer()
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > MAX_HEAD_BYTES:
            self._refuse(TOO_LARGE)
        # RFC 9112, section 3.2: with several hosts, each program could choose another one.
        if sum(name == b"host" for name, _ in self.headers) > 1:
            self._refuse(SEVERAL_HOSTS)
        super().on_headers_complete()

    def _refuse(self, reason: str) -> NoReturn:
        """End the parsing of a request; the parser hides the reason from `send_400_response`."""
        self._refusal = reason
        raise ValueError(reason)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEADER_SECONDS, self._close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()
