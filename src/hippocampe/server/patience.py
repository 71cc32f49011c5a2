"""Connections that send nothing are closed: they would use up those that others wait for."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
"""Time that the head of a request has to come, also the first one of a connection."""
MAX_HEAD_BYTES = 32 * 1024
MAX_CONNECTIONS = 800
"""Connections at once; further requests are refused with 503. With its own files, the process stays under the
1,024 that it may have open on most systems."""


class PatientProtocol(H11Protocol):
    """Speaks HTTP/1.1, and closes a connection that does not complete the head of a request in time."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read what has come, and wait for the rest of a head."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._wait_no_more()
        elif self._waiting is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        # A head that is complete is waited for no more; the time between requests is Uvicorn's.
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()
